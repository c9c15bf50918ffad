"""How well a terminal state fits one accepted end state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from outcomebox.reward import reasons
from outcomebox.reward.edits import Comparison, UpdatedCell, compare_edits, with_reused_keys
from outcomebox.reward.exact import exact_pairing
from outcomebox.reward.ignored import Ignored, relevant_changes
from outcomebox.reward.inserts import Inserts, Pair, new_row, side_by_side
from outcomebox.reward.judge import Asking
from outcomebox.reward.labels import Labels, NewIds, clashes
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
    labels = Labels.of(alternative, tables)
    expect = alternative.expect
    named = sorted({change.table for change in changes} | expect.keys())
    by_table = {
        name: with_reused_keys([each for each in changes if each.table == name], expect.get(name))
        for name in named
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
    pairs = None if wrong else exact_pairing(inserts)
    bounded = False
    if pairs is None:
        nearest = nearest_pairing(inserts)
        bounded = nearest.bounded
        wrong += _insert_reasons(nearest.pairs, [cell for cell, _ in met], inserts, labels)
        wrong += map(reasons.extra_row, nearest.extra)
    return Fit(
        name=alternative.name,
        reasons=tuple(sorted(wrong, key=reasons.reason_order)),
        vacuous=bool(expect) and not changes,
        bounded=bounded,
        inserts=inserts,
        pairs=pairs,
        rubrics=tuple(each for edits in found.values() for each in edits.rubrics),
    )


def ask_rubrics(found: Fit, asking: Asking) -> list[Reason]:
    """What a judge finds wrong with a state whose exact columns fit; empty if all is well.

    Where several rows fit several expected ones, any pairing that the judge accepts will do.

    Raises:
        JudgeError: There is no judge, or no readable answer.
    """
    wrong = []
    for cell, question in found.rubrics:
        wrong += _refused(cell.table, cell.key, {cell.column: question}, cell.new, asking)
    no = [reason for pair in found.pairs or () for reason in _refused_pair(pair, asking)]
    if wrong or not no:
        return [*wrong, *no]
    other = exact_pairing(found.inserts, lambda pair: not _refused_pair(pair, asking))
    return no if other is None else []


def _refused_pair(pair: Pair, asking: Asking) -> list[Reason]:
    if pair.change is None:
        return []
    wanted = pair.wanted
    return _refused(wanted.table, pair.change.key, wanted.rubrics, new_row(pair.change), asking)


def _refused(
    table: str, key: Row | None, rubrics: Mapping[str, str], row: Row, asking: Asking
) -> list[Reason]:
    return [
        reasons.rubric_failed(question, text, table=table, key=key, column=column)
        for column, question in rubrics.items()
        if isinstance(text := row.get(column), str) and not asking.yes(question, text)
    ]


def _inserted_keys(by_table: Mapping[str, list[Change]]) -> Iterator[tuple[str, Key]]:
    for table, changes in by_table.items():
        for change in changes:
            if change.op == "insert" and change.key is not None:
                yield table, tuple(change.key.values())


def _table_of(name: str, state: TerminalState) -> str:
    schema = {**state.initial.schema, **state.terminal.schema}
    return next(table for (_, own), (table, _) in schema.items() if own == name)


def _insert_reasons(
    pairs: tuple[Pair, ...], cells: list[UpdatedCell], inserts: Inserts, labels: Labels
) -> Iterator[Reason]:
    for pair in pairs:
        yield from reasons.pair_reasons(pair)
    placed = [(pair, each) for pair in pairs for each in pair.met(labels)]
    updated = inserts.met[: len(cells)]
    for index in clashes([*updated, *(each for _, each in placed)]):
        if index < len(cells):
            yield cells[index].wrong()
            continue
        pair, each = placed[index - len(cells)]
        key = pair.change.key if pair.change else None
        spec = pair.wanted.listed[each.column]
        yield reasons.wrong_value(pair.wanted.table, key, each.column, spec, each.value)
