"""How a run goes, while it goes: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from outcomebox.rollout.breaker import Outage
from outcomebox.rollout.policy import Policy
from outcomebox.rollout.report import Progress as RunProgress

Tell = Callable[[RunProgress], None]


def policy_label(policy: Policy) -> str:
    """What a progress line calls a policy: a simulated one is named as such."""
    kind = "simulated policy" if policy.simulated else "policy"
    return kind if policy.name == "simulated" else f"{kind} {policy.name}"


@contextmanager
def progress_display(label: str, console: Console) -> Iterator[Tell]:
    """A display of a run; to be told of every change.

    Elsewhere than on a terminal there is a line for each tenth of the way, and one when an outage
    begins and ends.

    Args:
        label: What runs.
        console: Where it goes.
    """
    began = monotonic()
    if console.is_terminal:
        with _bar(label, console, began) as tell:
            yield tell
    else:
        yield _Lines(label, console, began).tell


@contextmanager
def _bar(label: str, console: Console, began: float) -> Iterator[Tell]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, refresh_per_second=4) as bar:
        task = bar.add_task(label, total=None, told="")

        def show(state: RunProgress) -> None:
            told = outage_line(state.outage) if state.outage else _told(state, began)
            bar.update(task, total=state.total, completed=state.done, told=told)

        yield show


class _Lines:
    def __init__(self, label: str, console: Console, began: float) -> None:
        self._label = label
        self._console = console
        self._began = began
        self._tenths = -1
        self._outage: Outage | None = None

    def tell(self, state: RunProgress) -> None:
        """A line, if there is something new."""
        if state.outage is not self._outage:
            over = f"{self._label}: the outage is over, going on"
            self._print(over if state.outage is None else outage_line(state.outage))
            self._outage = state.outage
        now = 10 * state.done // max(1, state.total)
        if now != self._tenths:
            self._tenths = now
            done = f"{state.done} of {state.total}"
            self._print(f"{self._label}: {counts(state)}, {done}{self._more(state)}")

    def _more(self, state: RunProgress) -> str:
        found = rates(state, self._began)
        return f" ({found})" if found else ""

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


def counts(state: RunProgress) -> str:
    """The outcomes so far, and what was made again."""
    outcomes = state.outcomes
    told = [
        f"{outcomes['passed']} passed",
        f"{outcomes['failed']} failed",
        f"{outcomes['system_error']} system errors",
    ]
    if state.retried:
        told.append(f"{state.retried} retried")
    if state.lost:
        told.append(f"{state.lost} workers lost")
    return ", ".join(told)


def rates(state: RunProgress, began: float) -> str:
    """Episodes and tokens a second, and requests that endpoints turned away."""
    elapsed = monotonic() - began
    fresh = state.done - state.resumed
    told = []
    if fresh and elapsed > 0:
        told.append(f"{fresh / elapsed:.1f}/s")
        if state.tokens:
            told.append(f"{state.tokens / elapsed:,.0f} tokens/s")
    if state.requests["rate_limited"]:
        told.append(f"{state.requests['rate_limited']} x 429")
    if state.requests["server_errors"]:
        told.append(f"{state.requests['server_errors']} x 5xx")
    return ", ".join(told)


def outage_line(outage: Outage) -> str:
    """What is down, and what is done about it."""
    if outage.refused:
        told = f"{outage.error.type}: {outage.error.message[:120]}"
        return f"{outage.boundary} refuses every request ({told}): the run stops"
    what = "sessions cannot be opened" if outage.boundary == "open" else f"{outage.boundary} down"
    asked = f", asked {outage.asked} times" if outage.asked else ""
    error = outage.error
    return (
        f"{what} ({error.type}: {error.message[:120]}): nothing new is begun{asked}; "
        f"next try in {outage.wait_s:.0f} s, for at most {outage.patience_s:.0f} s in all"
    )


def _told(state: RunProgress, began: float) -> str:
    parts = [counts(state), f"{state.running} of {state.limit} at a time", rates(state, began)]
    return "  ".join(part for part in parts if part)
