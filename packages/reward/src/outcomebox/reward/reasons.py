"""Reasons, each with a line that names table, key, column, what is expected and what is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from outcomebox.reward.inserts import Pair, new_row
from outcomebox.reward.labels import Occurrence
from outcomebox.reward.matchers import Spec
from outcomebox.reward.showing import (
    row_to_json,
    show,
    show_difference,
    show_key,
    show_row,
    spec_to_json,
)
from outcomebox.reward.verdict import Kind, Reason
from outcomebox.reward.wanted import Wanted
from outcomebox.sandbox.changes import Change, Row, TerminalState, Value, value_order
from outcomebox.sandbox.valuespec import IdMatcher

_CALLS = 5  # tool calls that a message names


def wrong_value(
    table: str,
    key: Row | None,
    column: str,
    spec: Spec,
    found: Value,
    *,
    note: str = "",
    calls: tuple[int, ...] = (),
) -> Reason:
    """A column that changed to something else than expected; ``note`` says more about that."""
    message = f"{table}{show_key(key)}: {column} is {show_difference(spec, found)}{note}"
    return _cell(
        "wrong_value", message, table, key, column, expected=spec, found=found, calls=calls
    )


def missing_update(table: str, key: Row, column: str, spec: Spec, found: Value) -> Reason:
    """A column that still holds its old value."""
    message = f"{table}{show_key(key)}: {column} is still {show_difference(spec, found)}"
    return _cell("missing_update", message, table, key, column, expected=spec, found=found)


def extra_update(change: Change, column: str) -> Reason:
    """A column that changed and must not."""
    old, new = (change.old or {}).get(column), new_row(change).get(column)
    message = (
        f"{change.table}{show_key(change.key)}: {column} changed and must not: it is "
        f"{show_difference(old, new, 'was')}"
    )
    return _cell(
        "extra_update",
        message,
        change.table,
        change.key,
        column,
        expected=old,
        found=new,
        calls=change.calls,
    )


def missing_insert(wanted: Wanted) -> Reason:
    """An expected row that is not there."""
    message = f"{wanted.table}{show_key(wanted.key)}: no row was added with "
    return Reason(
        kind="missing_insert",
        table=wanted.table,
        key=_key(wanted.key),
        expected=row_to_json(wanted.listed),
        message=message + show_row(wanted.listed),
    )


def extra_row(change: Change) -> Reason:
    """A row that was added or deleted and must not be."""
    insert = change.op == "insert"
    row = (change.new if insert else change.old) or {}
    shown = f"{change.table}{show_key(change.key)}"
    return Reason(
        kind="extra_insert" if insert else "extra_delete",
        table=change.table,
        key=_key(change.key),
        expected=None if insert else row_to_json(row),
        found=row_to_json(row) if insert else None,
        message=f"{shown}: a row was {'added' if insert else 'deleted'} and must not be: "
        + show_row(row),
        calls=change.calls,
    )


def missing_delete(table: str, key: Row | None, row: Row) -> Reason:
    """A row that is still there."""
    return Reason(
        kind="missing_delete",
        table=table,
        key=_key(key),
        found=row_to_json(row),
        message=f"{table}{show_key(key)}: the row must be gone and is still there: {show_row(row)}",
    )


def missing_row(table: str, key: Row | None, todo: str, expected: Mapping[str, Spec]) -> Reason:
    """A row to update or delete that is in neither state."""
    return Reason(
        kind="missing_row",
        table=table,
        key=_key(key),
        expected=row_to_json(expected),
        message=f"{table}{show_key(key)}: there is no such row to {todo}: {show_row(expected)}",
    )


def schema_changed(name: str, state: TerminalState) -> Reason:
    """A table, index, view or trigger that was created, dropped or altered."""
    before, after = (
        {kind: entry for (kind, own), entry in {**each.schema, **each.own}.items() if own == name}
        for each in (state.initial, state.terminal)
    )
    (kind, (table, _)), *_ = [*before.items(), *after.items()]
    how = "dropped" if not after else "altered" if before else "created"
    return Reason(
        kind="schema_changed",
        table=table,
        expected=before[kind][1] if kind in before else None,
        found=after[kind][1] if kind in after else None,
        message=f"{table}: the {kind} {name} was {how} and must not be",
    )


def rubric_failed(
    question: str,
    text: str,
    *,
    about: str = "",
    table: str | None = None,
    key: Row | None = None,
    column: str | None = None,
    calls: tuple[int, ...] = (),
) -> Reason:
    """A question that the judge answered with no, about a column or about something else."""
    where = about or f"{table}{show_key(key)}: {column}"
    return Reason(
        kind="rubric_failed",
        table=table,
        key=_key(key),
        column=column,
        expected=question,
        found=spec_to_json(text),
        message=f'{where}: the judge says no to "{question}"; found {show(text)}',
        calls=calls,
    )


def wrong_answer(spec: Spec, found: str) -> Reason:
    """A last message of the agent that is not as it must be."""
    return Reason(
        kind="wrong_answer",
        expected=spec_to_json(spec),
        found=spec_to_json(found),
        message=f"the answer is {show_difference(spec, found)}",
    )


def pair_reasons(pair: Pair) -> list[Reason]:
    """What is wrong with one expected insert and the row that stands for it."""
    wanted, change = pair.wanted, pair.change
    if change is None:
        return [missing_insert(wanted)]
    row = new_row(change)
    return [
        wrong_value(
            wanted.table,
            change.key,
            column,
            wanted.specs[column],
            row.get(column),
            note=_note(wanted, column, row.get(column)),
            calls=change.calls,
        )
        for column in pair.wrong
    ]


def _note(wanted: Wanted, column: str, found: Value) -> str:
    if column not in wanted.listed:
        return ", the default: the expected insert does not list the column"
    if isinstance(wanted.specs[column], IdMatcher) and found is not None:
        return ", a generated id: this one was there before"
    return ""


def wrong_id(pair: Pair, wrong: Occurrence, meaning: Value) -> Reason:
    """An id that its label does not stand for; ``meaning`` is what it does stand for."""
    change = pair.change
    note = f", which is {show(meaning)} elsewhere"
    if wrong.value == meaning:
        note = f", but {show(meaning)} stands for another label already"
    return wrong_value(
        pair.wanted.table,
        change.key if change else None,
        wrong.column,
        pair.wanted.listed[wrong.column],
        wrong.value,
        note=note,
        calls=change.calls if change else (),
    )


def told(reason: Reason, tools: Sequence[str]) -> Reason:
    """The reason, its message with the tool calls that wrote what is wrong.

    Args:
        reason: A reason.
        tools: The tools that were called, in order.
    """
    if not reason.calls:
        return reason
    named = [
        f"call {call}, {tools[call]}" if call < len(tools) else f"call {call}"
        for call in reason.calls
    ]
    if len(named) > _CALLS:
        named[_CALLS - 1 :] = [f"{len(named) - _CALLS + 1} more"]
    shown = named[0] if len(named) == 1 else f"{'; '.join(named[:-1])} and {named[-1]}"
    did = "deleted" if reason.kind == "extra_delete" else "written"
    return replace(reason, message=f"{reason.message} ({did} by {shown})")


def reason_order(reason: Reason) -> tuple[object, ...]:
    """A sort key: by table, row and column, the answer last."""
    key = tuple(
        value if isinstance(value, (int, float, str)) else None
        for value in (reason.key or {}).values()
    )
    return (
        reason.table is None,
        reason.table or "",
        reason.key is None,
        value_order(key),
        reason.column or "",
        reason.kind,
        reason.message,
    )


def _key(key: Row | None) -> dict[str, object] | None:
    return None if key is None else row_to_json(key)


def _cell(
    kind: Kind,
    message: str,
    table: str,
    key: Row | None,
    column: str,
    *,
    expected: Spec,
    found: Value,
    calls: tuple[int, ...] = (),
) -> Reason:
    return Reason(
        kind=kind,
        table=table,
        key=_key(key),
        column=column,
        expected=spec_to_json(expected),
        found=spec_to_json(found),
        message=message,
        calls=calls,
    )
