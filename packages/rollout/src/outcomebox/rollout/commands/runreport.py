"""What a run says when it has ended."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table

from outcomebox.rollout.commands.running import Done
from outcomebox.rollout.report import Left

_SHOWN = 10

MENDS = {
    "open": "sessions could not be opened: see that tool servers start and the database answers",
    "tool": "a tool server died or hung: look at its log, or give it more time",
    "policy": "the policy's endpoint gave no answer: see its log, or lower --concurrency",
    "golden": "a golden call was refused: mend the task",
    "user": "the user model's endpoint gave no answer: see its log, or lower --concurrency",
    "read": "the terminal state could not be read: look at the tool server",
    "close": "a session could not be closed: look at the tool server",
    "check": "the task's check itself raised: mend the task",
    "judge": "the judge gave no readable answer: see its log, or another --judge-option protocol",
    "worker": "workers ended with the episode in their hands: look at the cluster, or its memory",
    "run": "an error nobody foresaw: please report it",
}
"""What to do about failures at each boundary."""


def report_json(done: Done) -> dict[str, Any]:
    """A run's end as plain JSON values."""
    return {
        "run": done.settings.run.folder.as_posix(),
        "rows": done.settings.run.rows.as_posix(),
        "policy": done.label,
        "tasks": done.tasks,
        **done.report.to_json(),
    }


def print_report(done: Done, console: Console, *, shares: bool = True) -> None:
    """The end of a run for a person: outcomes, what broke and where, and what to do next.

    Args:
        done: The run.
        console: Where to.
        shares: Whether the shares of outcomes are shown, and not their numbers alone.
    """
    report = done.report
    progress = report.progress

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, markup=False, soft_wrap=True)

    head = f"{done.label}: {progress.total} attempts at {done.tasks} tasks"
    say(head + (f", {progress.resumed} of them made earlier" if progress.resumed else ""))
    console.print(_outcomes(done, shares=shares))
    for line in _notes(done):
        say(line)
    if progress.phases:
        console.print(_broken(done))
    if report.outage is not None:
        outage = report.outage
        error = outage.error
        told = f"({error.type}: {error.message})"
        if outage.refused:
            what = f"the endpoint of the {outage.boundary} refuses every request {told}."
        else:
            what = (
                f"{outage.boundary} is down {told}; it was asked {outage.asked} times within "
                f"{outage.patience_s:.0f} s."
            )
        say(f"Stopped: {what}", "bold red")
    _print_left(report.left, say)
    say(f"Rows: {done.settings.run.rows}")
    if not report.complete:
        say(
            "Every finished attempt is kept. Mend the cause; what has no verdict is tried again "
            f"with: {done.settings.resume_command()}"
        )
    elif progress.outcomes["failed"]:
        say(f"Next: outcomebox-rollout show {done.settings.run.folder} --failed")
    else:
        say(f"Next: outcomebox-rollout show {done.settings.run.folder}")


def _outcomes(done: Done, *, shares: bool) -> Table:
    progress = done.report.progress
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("outcome")
    table.add_column("attempts", justify="right")
    if shares:
        table.add_column("share", justify="right")
    clean = progress.outcomes["passed"] + progress.outcomes["failed"]
    for name in ("passed", "failed"):
        number = progress.outcomes[name]
        share = f"{number / clean:.1%}" if clean else "-"
        table.add_row(name, f"{number}", *([share] if shares else []))
    rest = progress.total - clean
    if rest:
        table.add_row("no verdict", f"{rest}", *(["counts nowhere"] if shares else []))
    return table


def _notes(done: Done) -> list[str]:
    report, progress = done.report, done.report.progress
    notes = []
    requests = progress.requests
    if requests["retries"]:
        notes.append(
            f"Requests sent again: {requests['retries']} (429: {requests['rate_limited']}, 5xx: "
            f"{requests['server_errors']})"
        )
    if report.paced is not None and report.paced.cuts:
        paced = report.paced
        notes.append(
            f"Pace: {paced.most} episodes at a time were cut {paced.cuts} times because an "
            f"endpoint pushed back, down to {paced.lowest}; {paced.last} at the end"
        )
    if progress.lost:
        notes.append(f"Workers lost: {progress.lost}; their episodes were given to others")
    return notes


def _broken(done: Done) -> Table:
    progress, left = done.report.progress, Counter(item.error.phase for item in done.report.left)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("broke at")
    table.add_column("tries", justify="right")
    table.add_column("given up", justify="right")
    table.add_column("what to do", overflow="fold")
    for phase, number in sorted((progress.phases + Counter()).items()):
        table.add_row(phase, f"{number}", f"{left[phase]}", MENDS.get(phase, MENDS["run"]))
    return table


def _print_left(left: tuple[Left, ...], say: Any) -> None:
    if not left:
        return
    say(f"{len(left)} attempts have no verdict, because infrastructure failed:", "bold red")
    for item in left[:_SHOWN]:
        error = item.error
        say(f"  {item.uid} #{item.repetition}: {error.phase}: {error.type}: {error.message}")
    if len(left) > _SHOWN:
        say(f"  ... and {len(left) - _SHOWN} more")
