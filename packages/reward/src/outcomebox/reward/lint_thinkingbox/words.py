"""What a lint of tasks in the ThinkingBox form says: its codes and the words of its findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.reward.lint.findings import CODES, Finding
from outcomebox.reward.lint_thinkingbox.tables import Cell
from outcomebox.sandbox.thinkingbox import GoldenCall

MEANINGS: Mapping[str, str] = {
    **CODES,
    "reads_real_clock": "golden, or a tool that the agent sees, does otherwise at another moment",
}
"""The codes of findings about tasks in the ThinkingBox form, each in a few words."""

SHOWN = 5
"""Cells that a message names, at most."""
LONG = 240
"""Characters of another's words that a message holds, at most."""


def noop_passes(*, idle: bool) -> Finding:
    """An agent that does nothing passes; ``idle``: golden leaves everything as it was, too."""
    if idle:
        return Finding(
            "noop_passes",
            "the golden calls change nothing, and an agent that does nothing passes",
            "have the check demand what the agent must find out, if not by what it changes",
            details={"golden_changes_nothing": True},
        )
    return Finding(
        "noop_passes",
        "the check accepts the state before the first call",
        "have the check demand what the golden calls change",
        details={"golden_changes_nothing": False},
    )


def golden_error(index: int, call: GoldenCall, said: str) -> Finding:
    """A golden call is refused."""
    return Finding(
        "golden_error",
        f"golden call {index}, {call.tool}, is refused: {line(said)}",
        "mend the call's arguments, or the data that it meets",
        details={"call": index, "server": call.server, "tool": call.tool},
    )


def golden_fails(reason: str) -> Finding:
    """The end that golden leaves is not accepted."""
    return Finding(
        "golden_fails",
        f"the check does not accept what the golden calls leave: {line(reason)}",
        "mend the check or the golden calls, whichever says what the task does not ask",
        details={"reasons": [reason]},
    )


def check_error(error: Mapping[str, str]) -> Finding:
    """The check gives no verdict on golden's end."""
    return Finding(
        "check_error",
        f"the check has no verdict on what the golden calls leave: {error['type']}: "
        f"{line(error['message'])}",
        "mend the check: only its assertions may fail",
        details=dict(error),
    )


def verdict_differs(verdicts: Sequence[str]) -> Finding:
    """Grading one end twice gives two verdicts."""
    return Finding(
        "verdict_differs",
        f"the check says {' and then '.join(verdicts)} about one end",
        "have the check look at nothing but what it is given",
        details={"verdicts": list(verdicts)},
    )


def nondeterministic(cells: Sequence[Cell], *, frozen: bool) -> Finding:
    """Two replays of golden leave two states."""
    clock = "" if frozen else "; the clock could not be frozen here, so it may be the reason"
    return Finding(
        "golden_nondeterministic",
        f"two replays of the golden calls differ in {places(cells)}{clock}",
        "have the servers make values from the session's seed, not from chance",
        *_where(cells),
        details={"cells": [_cell(each) for each in cells[:SHOWN]], "frozen": frozen},
    )


def reads_real_clock(
    cells: Sequence[Cell], what: str, moments: tuple[str, str], tools: Sequence[str]
) -> Finding:
    """A task is another at another moment."""
    return Finding(
        "reads_real_clock",
        f"at {moments[1]} instead of {moments[0]} {what}",
        "have the tool take the time from the task's world, or freeze the servers' clock",
        *_where(cells),
        details={
            "cells": [_cell(each) for each in cells[:SHOWN]],
            "moments": list(moments),
            "tools": list(tools),
        },
    )


def order_dependence(first: int, second: int, calls: Sequence[GoldenCall], reason: str) -> Finding:
    """A harmless reordering is not accepted."""
    one, other = calls[first].tool, calls[second].tool
    return Finding(
        "order_dependence",
        f"golden calls {first}, {one}, and {second}, {other}, may be made in either order and "
        f"leave the same, but for generated ids; only one order is accepted: {line(reason)}",
        "compare rows by what they hold, not by ids or positions that follow the order of calls",
        details={"calls": [first, second], "tools": [one, other]},
    )


def unchecked_text(
    call: GoldenCall, argument: str, cell: Cell | None, calls: Sequence[int], *, empty: bool | None
) -> Finding:
    """A text may be any."""
    told = {True: ", also none at all", False: ""}.get(bool(empty), "")
    where = "" if cell is None else f", which lands in {cell.table}.{cell.column},"
    return Finding(
        "unchecked_text",
        f"{argument} of {call.tool}{where} may be any text{told}",
        "have the check demand what the text must say, by exact value, pattern or a rubric",
        None if cell is None else cell.table,
        None if cell is None else cell.column,
        details={
            "server": call.server,
            "tool": call.tool,
            "argument": argument,
            "calls": list(calls),
            "empty": empty,
        },
    )


def survives(what: str, cells: Sequence[Cell], details: Mapping[str, Any]) -> Finding:
    """A wrong end is accepted."""
    return Finding(
        "mutant_survives",
        f"{what}: the end differs in {places(cells)}, and is accepted",
        "have the check look there",
        *_where(cells),
        details={**details, "cells": [_cell(each) for each in cells[:SHOWN]]},
    )


def line(text: str) -> str:
    """A text as one line that is not too long."""
    text = " ".join(text.split())
    return text if len(text) <= LONG else f"{text[:LONG]}..."


def places(cells: Sequence[Cell]) -> str:
    """Cells in words: each column once, the first few."""
    names = [*dict.fromkeys(_name(cell) for cell in cells)]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) or "nothing that the servers tell") + more


def _name(cell: Cell) -> str:
    return f"{cell.table}.{cell.column}" if cell.column else f"rows of {cell.table}"


def _where(cells: Sequence[Cell]) -> tuple[str | None, str | None]:
    return (cells[0].table, cells[0].column) if cells else (None, None)


def _cell(cell: Cell) -> dict[str, Any]:
    return {"table": cell.table, "column": cell.column, "key": cell.key}
