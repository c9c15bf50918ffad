"""What replays of golden calls showed; the linter's input beside the check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from outcomebox.sandbox.changes import TerminalState, Value


@dataclass(frozen=True, slots=True)
class Step:
    """A golden call, or a golden statement.

    Attributes:
        index: Its place in the golden list, from 0.
        what: The call or the statement, in words.
        error: Why it was refused, or None.
        idle: Whether it may write and left no trace.
        table: The table it writes, where that is known.
        column: The column it writes, where that is known.
    """

    index: int
    what: str
    error: str | None = None
    idle: bool = False
    table: str | None = None
    column: str | None = None


def _nothing(_: Value) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What replays showed.

    Attributes:
        golden: The end that golden leaves.
        steps: Its calls.
        noop: The end that no call leaves; None where that is the initial state.
        again: Ends of further replays of golden, with what was different about each.
        reordered: Ends of golden's calls in other orders that should not matter, each with the
            order.
        failed: (index, call, end) when one writing call is left out, as if it had failed.
        named: Whether the request names an id, so that there is no choice of a row.
    """

    golden: TerminalState
    steps: tuple[Step, ...] = ()
    noop: TerminalState | None = None
    again: tuple[tuple[str, TerminalState], ...] = ()
    reordered: tuple[tuple[str, TerminalState], ...] = ()
    failed: tuple[tuple[int, str, TerminalState], ...] = ()
    named: Callable[[Value], bool] = field(default=_nothing)
