"""What it means that a check accepts a mutant: nothing, or a defect with a name."""

from __future__ import annotations

from typing import TypeAlias

from outcomebox.reward.lint.mutants import Mutant, Right
from outcomebox.reward.lint.wrongs import (
    EMPTY_TEXT,
    RANDOM_TEXT,
    Columns,
    is_prose,
    same_facts,
)
from outcomebox.reward.matchers import Spec, accepts
from outcomebox.sandbox.changes import Value
from outcomebox.sandbox.valuespec import (
    AnyMatcher,
    CloseMatcher,
    IdMatcher,
    NotNullMatcher,
    OneOfMatcher,
    PatternMatcher,
    RubricMatcher,
    SpecModel,
)

SAME = "same"
"""It means what an accepted end means."""
IGNORED = "ignored"
"""It differs in a column that the check ignores with a reason, and that golden does not write."""
JUDGED = "judged"
"""It differs in a text that only a judge can tell right or wrong."""
Meaning: TypeAlias = str
"""``SAME``, ``IGNORED``, ``JUDGED``, or the code of a defect."""

_NONSENSE = ("qvx zzkwt", "bcd fgh klm npq.")


def meaning(mutant: Mutant, right: Right, columns: Columns) -> Meaning:
    """What it means that a mutant of a right end is accepted.

    Args:
        mutant: The accepted mutant.
        right: What it was made from.
        columns: What the initial state holds.
    """
    table, column = mutant.table, mutant.column
    ignored = right.ignored
    if ignored.whole(table):
        return "ignored_table"
    if column is None:
        return "mutant_survives"
    if mutant.change is None:
        return IGNORED if ignored.column(table, column) else "mutant_survives"
    change = right.state.changes[mutant.change]
    value = (change.new or {}).get(column)
    if ignored.column(table, column):
        written = change.old is None or change.old.get(column) != value
        return "ignored_column_written" if written else IGNORED
    spec = right.specs.get(mutant.change, {}).get(column, value)
    facts = columns.values(table, column)
    reference = column in columns.state.tables[table].references
    return _by_spec(spec, mutant, value, facts, reference=reference)


def _by_spec(
    spec: Spec, mutant: Mutant, right: Value, known: tuple[Value, ...], *, reference: bool
) -> Meaning:
    match spec:
        case RubricMatcher():
            return JUDGED
        case AnyMatcher() | NotNullMatcher():
            return "unchecked_text" if is_prose(right) else "over_wide_check"
        case PatternMatcher(pattern=pattern):
            return _by_pattern(pattern, mutant, right)
        case CloseMatcher():
            return SAME if mutant.kind == "near_number" else "tolerance_too_wide"
        case IdMatcher():
            # An id that some row held already was not generated.
            generated = not reference and right not in known and mutant.kind != "old_value"
            return SAME if generated else "over_wide_check"
        case OneOfMatcher(options=options):
            others = [value for value in known if value != right]
            if mutant.kind == "old_value" or (
                len(others) > 1 and all(accepts(spec, value) for value in others)
            ):
                return "over_wide_check"
            taken = next(each for each in options if accepts(each, mutant.value))
            if not isinstance(taken, SpecModel):
                return SAME
            return _by_spec(taken, mutant, right, known, reference=reference)
        case _:  # text that is equal as a decimal, a moment, JSON or after normalization
            return "over_wide_check" if mutant.kind == "old_value" else SAME


def _by_pattern(pattern: str, mutant: Mutant, right: Value) -> Meaning:
    spec = PatternMatcher.model_validate({"$pattern": pattern})
    if all(accepts(spec, text) for text in _NONSENSE):
        return "pattern_matches_all"
    if mutant.kind in (EMPTY_TEXT, RANDOM_TEXT):
        return "mutant_survives"
    if mutant.kind in ("case", "white_space"):
        return SAME  # the wording is free
    told = isinstance(right, str) and isinstance(mutant.value, str)
    return SAME if told and same_facts(str(right), str(mutant.value)) else "mutant_survives"
