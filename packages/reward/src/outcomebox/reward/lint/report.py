"""The report of a lint run, as JSON and on a terminal.

The JSON form, stable within a ``version``::

    {"format": "outcomebox-lint", "version": 1, "seed": 0, "clean": false,
     "totals": {"tasks", "mutants", "killed", "survived", "explained", "equivalent", "judged",
                "findings", "score"},
     "codes": {code: how many findings},            # sorted by code
     "meanings": {code: what it says},              # of the codes that occur
     "tasks": [{"uid", "score", "mutants", "killed", "survived", "explained", "equivalent",
                "judged",
                "kinds": {kind: {"mutants", "killed"}},
                "survivors": [{"table", "column", "key", "kind", "count", "example", "code",
                               "explained"}],
                "findings": [{"code", "table", "column", "key", "message", "mend", "details"}]}],
     "broken": {uid: {"type", "message"}},          # tasks that could not be linted
     "notes": [line, ..]}

``score`` is a number from 0 to 1, or null where nothing was mutated. ``table``, ``column``,
``key`` and ``explained`` may be null; ``key`` is an object. ``clean`` says that there is no
finding and nothing broken. ``notes`` are facts about the whole run that are no findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from outcomebox.reward.lint.findings import CODES, LintedTask

_FIGURES = 60  # characters of a table's columns beside the task


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found.

    Attributes:
        tasks: The tasks, sorted by uid.
        seed: What the choice of mutants depends on.
        meanings: code -> what it says in a few words.
        broken: uid -> type and message of what broke, of the tasks that could not be linted.
        notes: Facts about the whole run that are no findings.
    """

    tasks: tuple[LintedTask, ...]
    seed: int = 0
    meanings: Mapping[str, str] = field(default_factory=lambda: CODES)
    broken: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def codes(self) -> dict[str, int]:
        """How many findings there are of each code, sorted by code."""
        counts = Counter(found.code for task in self.tasks for found in task.findings)
        return dict(sorted(counts.items()))

    @property
    def clean(self) -> bool:
        """Whether every task was linted and nothing is to be mended."""
        return not self.codes and not self.broken

    @property
    def score(self) -> float | None:
        """Killed mutants by all mutants of the run; None if there were none."""
        mutants = sum(task.mutants for task in self.tasks)
        return sum(task.killed for task in self.tasks) / mutants if mutants else None

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON; see the module."""
        names = ("mutants", "killed", "survived", "explained", "equivalent", "judged")
        totals = {name: sum(getattr(task, name) for task in self.tasks) for name in names}
        return {
            "format": "outcomebox-lint",
            "version": 1,
            "seed": self.seed,
            "clean": self.clean,
            "totals": {
                "tasks": len(self.tasks),
                **totals,
                "findings": sum(self.codes.values()),
                "score": self.score,
            },
            "codes": self.codes,
            "meanings": {code: self.meanings.get(code, "") for code in self.codes},
            "tasks": [task.to_json() for task in self.tasks],
            "broken": {uid: dict(error) for uid, error in self.broken.items()},
            "notes": list(self.notes),
        }


def percent(score: float | None) -> str:
    """A score in words; never rounded up to 100 %."""
    if score is None:
        return "-"
    shown = f"{100 * score:.1f}"
    return "<100.0 %" if shown == "100.0" and score < 1 else f"{shown} %"


def print_report(report: Report, console: Console, *, explain: bool = False) -> None:
    """Print a table of the tasks, then what is to be mended.

    Args:
        report: What was found.
        console: Where to.
        explain: Also print the survivors that the tasks explain.
    """
    # Names are not broken into pieces where a program reads along.
    longest = max((len(task.uid) for task in report.tasks), default=0)
    width = None if console.is_terminal else max(console.width, longest + _FIGURES)
    console.print(_table(report.tasks), width=width, crop=False)
    for task in report.tasks:
        if task.findings:
            console.print()
            console.print(Text(task.uid, style="bold"))
        for found in task.findings:
            line = Text.assemble("  ", (found.code, "red"), "  ", found.place)
            console.print(line, soft_wrap=True)
            console.print(Text(f"    {found.message}"), soft_wrap=True)
            console.print(Text(f"    mend: {found.mend}", style="green"), soft_wrap=True)
    if explain:
        _print_explained(report, console)
    console.print()
    _print_totals(report, console)


def _table(tasks: Sequence[LintedTask]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", overflow="fold")
    for name in ("score", "mutants", "killed", "survived", "explained", "findings"):
        table.add_column(name, justify="right", no_wrap=True)
    for task in tasks:
        counts = (task.mutants, task.killed, task.survived, task.explained, len(task.findings))
        style = "red" if task.findings else None
        table.add_row(task.uid, percent(task.score), *map(str, counts), style=style)
    return table


def _print_explained(report: Report, console: Console) -> None:
    for task in report.tasks:
        for each in task.survivors:
            if each.explained is not None:
                place = each.table + (f": {each.column}" if each.column else "")
                console.print(
                    Text(f"{task.uid}  {place}  {each.kind} x {each.count}: {each.explained}"),
                    soft_wrap=True,
                )


def _print_totals(report: Report, console: Console) -> None:
    data = report.to_json()
    totals = data["totals"]
    console.print(
        Text(
            f"{totals['tasks']} tasks, {totals['mutants']} mutants: {totals['killed']} killed, "
            f"{totals['survived']} survived, {totals['explained']} of them explained; "
            f"score {percent(report.score)}"
        ),
        soft_wrap=True,
    )
    for code, count in report.codes.items():
        meaning = report.meanings.get(code, "")
        console.print(Text(f"{count:5} {code}: {meaning}"), soft_wrap=True)
    for uid, error in report.broken.items():
        shown = f"{uid} could not be linted: {error['type']}: {error['message']}"
        console.print(Text(shown, style="red"), soft_wrap=True)
    for note in report.notes:
        console.print(Text(note), soft_wrap=True)
    if report.clean:
        console.print(Text("Nothing to mend.", style="green"))
