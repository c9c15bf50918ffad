"""How well a terminal state fits one accepted end state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from outcomebox.reward import reasons
from outcomebox.reward.edits import Comparison, UpdatedCell, compare_edits, with_reused_keys
from outcomebox.reward.exact import exact_pairing
from outcomebox.reward.ignored import Ignored, relevant_changes
from outcomebox.reward.inserts import Inserts, Pair, new_row, side_by_side
from outcomebox.reward.judge import Asking
from outcomebox.reward.labels import Labels, NewIds, clashes, meanings
from outcomebox.reward.nearest import nearest_pairing
from outcomebox.reward.verdict import Reason
from outcomebox.reward.wanted import wanted_rows
from outcomebox.sandbox.changes import Change, Key, Row, TerminalState
from outcomebox.sandbox.expect import Alternative


@dataclass(frozen=True, slots=True)
class Fit:
    """A terminal state compared with one accepted end state.

    Attributes:
        name: The end state's name.
        reasons: What is wrong; empty if every exact column fits.
        vacuous: Whether changes are listed although none that counts was made.
        bounded: Whether the search for the nearest explanation was cut short.
        inserts: The rows to pair, for questions to the judge.
        pairs: A pairing in which every exact column fits; None if there are reasons.
        rubrics: Updated columns that a judge has to look at, with the question.
    """

    name: str
    reasons: tuple[Reason, ...]
    vacuous: bool
    bounded: bool
    inserts: Inserts
    pairs: tuple[Pair, ...] | None
    rubrics: tuple[tuple[UpdatedCell, str], ...]

    @property
    def needs_judge(self) -> bool:
        """Whether a verdict depends on a judge."""
        return bool(self.rubrics) or any(pair.wanted.rubrics for pair in self.pairs or ())


def fit(alternative: Alternative, state: TerminalState) -> Fit:
    """Compare a terminal state with one accepted end state, exact columns only.

    Raises:
        CheckError: Which inserted row is which could not be decided.
    """
    ignored = Ignored(alternative.ignore)
    changes = relevant_changes(state.changes, ignored)
    tables = {**state.terminal.tables, **state.initial.tables}
    of_table: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        of_table[change.table].append(change)
    labels = Labels.of(alternative, tables)
    expect = alternative.expect
    by_table = {
        name: with_reused_keys(of_table[name], expect.get(name))
        for name in sorted(of_table.keys() | expect.keys())
    }
    new_ids = NewIds(state.initial, frozenset(_inserted_keys(by_table)))
    about = Comparison(state, ignored, labels, new_ids)
    found = {
        name: compare_edits(name, expect.get(name), rows, about) for name, rows in by_table.items()
    }
    met = [each for edits in found.values() for each in edits.met]
    inserts = side_by_side(
        (
            (wanted_rows(tables[name], expect.get(name), ignored, labels), edits.inserted)
            for name, edits in found.items()
        ),
        labels,
        new_ids,
        [occurrence for _, occurrence in met],
    )
    wrong = [
        reasons.schema_changed(name, state)
        for name in state.schema_changes
        if not ignored.whole(_table_of(name, state))
    ]
    wrong += [reason for edits in found.values() for reason in edits.reasons]
    pairs = None if wrong else exact_pairing(inserts).pairs
    bounded = False
    if pairs is None:
        nearest = nearest_pairing(inserts)
        wrong += _insert_reasons(nearest.pairs, [cell for cell, _ in met], inserts, labels)
        wrong += map(reasons.extra_row, nearest.extra)
        bounded = nearest.bounded
        # Of a search that was cut short nothing may be left to say: then all fits after all.
        pairs = None if wrong else nearest.pairs
    return Fit(
        name=alternative.name,
        reasons=tuple(sorted(wrong, key=reasons.reason_order)),
        vacuous=bool(expect) and not changes,
        bounded=bounded,
        inserts=inserts,
        pairs=pairs,
        rubrics=tuple(each for edits in found.values() for each in edits.rubrics),
    )


def ask_rubrics(found: Fit, asking: Asking) -> tuple[tuple[Reason, ...], bool]:
    """What a judge finds wrong with a state whose exact columns fit; nothing if all is well.

    Where several rows fit several expected ones, any pairing that the judge accepts will do.

    Returns:
        The reasons, and whether the search for such a pairing was cut short.

    Raises:
        JudgeError: There is no judge, or no readable answer.
    """
    wrong = []
    for cell, question in found.rubrics:
        where = (cell.table, cell.key, cell.calls)
        wrong += _refused(where, {cell.column: question}, cell.new, asking)
    no = [reason for pair in found.pairs or () for reason in _refused_pair(pair, asking)]
    if wrong or not no:
        return (*wrong, *no), False
    other = exact_pairing(found.inserts, lambda pair: not _refused_pair(pair, asking))
    return (tuple(no) if other.pairs is None else ()), other.bounded


def _refused_pair(pair: Pair, asking: Asking) -> list[Reason]:
    if pair.change is None:
        return []
    wanted, change = pair.wanted, pair.change
    where = (wanted.table, change.key, change.calls)
    return _refused(where, wanted.rubrics, new_row(change), asking)


def _refused(
    where: tuple[str, Row | None, tuple[int, ...]],
    rubrics: Mapping[str, str],
    row: Row,
    asking: Asking,
) -> list[Reason]:
    table, key, calls = where
    return [
        reasons.rubric_failed(question, text, table=table, key=key, column=column, calls=calls)
        for column, question in rubrics.items()
        if isinstance(text := row.get(column), str) and not asking.yes(question, text)
    ]


def _inserted_keys(by_table: Mapping[str, list[Change]]) -> Iterator[tuple[str, Key]]:
    for table, changes in by_table.items():
        for change in changes:
            if change.op == "insert" and change.key is not None:
                yield table, tuple(change.key.values())


def _table_of(name: str, state: TerminalState) -> str:
    states = (state.initial, state.terminal)
    schema = {key: entry for each in states for key, entry in {**each.schema, **each.own}.items()}
    return next(table for (_, own), (table, _) in schema.items() if own == name)


def _insert_reasons(
    pairs: tuple[Pair, ...], cells: list[UpdatedCell], inserts: Inserts, labels: Labels
) -> Iterator[Reason]:
    for pair in pairs:
        yield from reasons.pair_reasons(pair)
    placed = [(pair, each) for pair in pairs for each in pair.met(labels)]
    met = [*inserts.met[: len(cells)], *(each for _, each in placed)]
    meaning = meanings(met)
    for index in clashes(met):
        if index < len(cells):
            yield cells[index].wrong()
        else:
            pair, each = placed[index - len(cells)]
            yield reasons.wrong_id(pair, each, meaning[each.label])
