"""Accepted end states that add nothing: another one accepts all that they accept.

The comparison is of what is written, so an end state that is covered in a way that only values show
is not named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from outcomebox.reward.assign import largest_matching
from outcomebox.reward.check import Check
from outcomebox.reward.ignored import Ignored
from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.matchers import Spec, accepts
from outcomebox.sandbox.changes import TableInfo
from outcomebox.sandbox.expect import Alternative, TableExpect
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


def subsumed(check: Check, tables: Mapping[str, TableInfo]) -> list[Finding]:
    """A finding for each accepted end state that another one covers."""
    found = []
    listed = check.alternatives
    for place, each in enumerate(listed):
        for other_place, other in enumerate(listed):
            if place == other_place or not covers(other, each, tables):
                continue
            if other_place > place and covers(each, other, tables):
                continue  # alike: the later one is named
            found.append(
                Finding(
                    "subsumed_alternative",
                    f"all that {each.name!r} accepts is accepted as {other.name!r}",
                    "take one of the two out, or make the wider one narrower",
                    details={"alternative": each.name, "covered_by": other.name},
                )
            )
            break
    return found


def covers(wide: Alternative, narrow: Alternative, tables: Mapping[str, TableInfo]) -> bool:
    """Whether one end state accepts all that another one accepts, as far as they are written."""
    if wide.expect.keys() != narrow.expect.keys() or wide.ignore != narrow.ignore:
        return False
    ignored = Ignored(wide.ignore)
    return all(
        name in tables and _table_covers(tables[name], wide.expect[name], other, ignored)
        for name, other in narrow.expect.items()
    )


def _table_covers(
    info: TableInfo, wide: TableExpect, narrow: TableExpect, ignored: Ignored
) -> bool:
    if sorted(map(repr, wide.delete)) != sorted(map(repr, narrow.delete)):
        return False
    if len(wide.update) != len(narrow.update) or len(wide.insert) != len(narrow.insert):
        return False
    for update in wide.update:
        other = next((each for each in narrow.update if each.key == update.key), None)
        if other is None or not _row_covers(update.set, other.set):
            return False

    def full(row: Mapping[str, Spec]) -> dict[str, Spec]:
        defaults = {column: info.defaults.get(column) for column in info.columns}
        return {
            column: spec
            for column, spec in {**defaults, **row}.items()
            if not ignored.column(info.name, column)
        }

    rows: Sequence[Sequence[int]] = [
        [place for place, other in enumerate(narrow.insert) if _row_covers(full(row), full(other))]
        for row in wide.insert
    ]
    return None not in largest_matching(rows)


def _row_covers(wide: Mapping[str, Spec], narrow: Mapping[str, Spec]) -> bool:
    return wide.keys() == narrow.keys() and all(
        spec_covers(spec, narrow[column]) for column, spec in wide.items()
    )


def spec_covers(wide: Spec, narrow: Spec) -> bool:
    """Whether a matcher accepts all that another one accepts, as far as they are written."""
    if wide == narrow or isinstance(wide, AnyMatcher):
        return True
    if isinstance(wide, IdMatcher):
        return False
    if isinstance(narrow, OneOfMatcher):
        return all(spec_covers(wide, option) for option in narrow.options)
    if isinstance(wide, NotNullMatcher):
        return narrow is not None and not isinstance(narrow, AnyMatcher)
    if isinstance(wide, OneOfMatcher):
        return any(spec_covers(option, narrow) for option in wide.options)
    if isinstance(narrow, SpecModel):
        return False
    loose = (PatternMatcher, CloseMatcher, SpecModel)
    return isinstance(wide, loose) and not isinstance(wide, RubricMatcher) and accepts(wide, narrow)
