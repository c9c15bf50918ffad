"""The pictures of a selection on a terminal: a line for each task, and the probes spent."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from outcomebox.selection.curate import Selection
from outcomebox.selection.decision import Estimate, TaskDecision
from outcomebox.selection.figures import probing

_STYLES = {"kept": "blue", "dropped": "bright_black", "undecided": "yellow"}
_BAR = 40
_NAME = 40


def strip(selection: Selection, width: int = 50) -> RenderableType:
    """One line a task, hardest first: posterior mean and 95 % interval between the band edges.

    Args:
        selection: a finished selection.
        width: cells of the scale from 0 to 1.
    """
    bands = selection.curation.bands.bands
    early = sum(d.stopped for d in selection.decisions)
    table = Table(box=None, pad_edge=False)
    table.add_column("task", no_wrap=True, overflow="ellipsis", max_width=_NAME)
    table.add_column("k/n", justify="right")
    table.add_column(f"0{'pass rate'.center(width - 2)}1", no_wrap=True)
    marks = {_cell(band.low, width) for band in bands[1:]}
    known = [(d, d.estimate) for d in selection.decisions if d.estimate and not d.stopped]
    for decision, estimate in sorted(known, key=lambda each: (each[1].mean, each[0].uid)):
        result = decision.result
        table.add_row(
            decision.uid,
            f"{result.passes}/{result.clean_runs}",
            _line(decision, estimate, marks, width),
        )
    lines: list[RenderableType] = [table]
    if early:
        lines.append(Text(f"{early} tasks that were left early have no rate, and no line."))
    return Group(*lines)


def _cell(rate: float, width: int) -> int:
    return min(width - 1, int(rate * width))


def _line(decision: TaskDecision, estimate: Estimate, marks: set[int], width: int) -> Text:
    low, high = (_cell(end, width) for end in estimate.interval)
    mean, style = _cell(estimate.mean, width), _STYLES[decision.status]
    line = Text()
    for cell in range(width):
        if cell == mean:
            line.append("●", style)
        elif low <= cell <= high:
            line.append("─", style)
        else:
            line.append("┊" if cell in marks else " ", "bright_black")
    return line


def probes_spent(selection: Selection) -> RenderableType:
    """How many tasks took how many clean runs.

    Args:
        selection: a finished selection.
    """
    told = probing(selection)
    table = Table(box=None, pad_edge=False)
    table.add_column("clean runs", justify="right")
    table.add_column("tasks", justify="right")
    table.add_column("█ kept  ▒ left early, dropped  ░ not kept", no_wrap=True)
    rows = [(one, one["kept"] + one["left_early"] + one["not_kept"]) for one in told["spent"]]
    most = max((total for _, total in rows), default=0)
    for one, total in rows:
        if total:
            bar = Text.assemble(
                ("█" * _cells(one["kept"], most), "blue"),
                ("▒" * _cells(one["left_early"], most), "bright_black"),
                ("░" * _cells(one["not_kept"], most), "bright_black"),
            )
            table.add_row(str(one["clean_runs"]), str(total), bar)
    return table


def _cells(count: int, most: int) -> int:
    return max(1, round(count * _BAR / most)) if count else 0
