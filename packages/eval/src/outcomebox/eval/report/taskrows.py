"""The table of all tasks, and what the page's script knows of their attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from outcomebox.eval.metrics.columns import looked_at
from outcomebox.eval.metrics.model import TaskLine
from outcomebox.eval.report.html import named, value
from outcomebox.eval.report.numbers import NONE, interval, money, share
from outcomebox.eval.report.run import Run, words
from outcomebox.eval.results import OUTCOMES
from outcomebox.reward.pages.parts import printable, text

Key = tuple[str, int, int]
"""uid, repetition, try."""
RESULTS = ("every time", "at times", "never", "undecided")
"""What a task's attempts came to."""


def result_of(task: TaskLine) -> str:
    """Whether a task passed every time, at times or never; undecided while that can change."""
    if task.dependable is None or task.any is None:
        return "at times" if 0 < task.passed < task.clean else "undecided"
    return "every time" if task.dependable else "at times" if task.any else "never"


def tasks_table(run: Run, number: int, *, digits: int) -> str:
    """The tasks of a run, to be searched, sorted, and opened.

    Args:
        run: The run.
        number: Its place in the report.
        digits: Decimals of shares.
    """
    tasks = run.summary.tasks
    place = f"tasks-{number}"
    priced = any(task.cost is not None for task in tasks)
    heads = [
        ("task", "", False),
        ("domain", "extra", False),
        ("passed", "", True),
        ("rate", "", True),
        ("P(p ≥ 95 %)", "extra", True),
        ("signature", "extra", False),
        *([("cost", "extra", True)] if priced else []),
        ("attempts", "", False),
    ]
    head = "".join(
        f'<th scope="col" class="{kind}{" number" if is_number else ""}">'
        f'<button type="button">{text(title)}</button></th>'
        for title, kind, is_number in heads
    )
    rows = "".join(_row(task, number, at, priced, digits) for at, task in enumerate(tasks))
    return (
        f'{_filter(place, tasks)}<div class="wide"><table class="tasks" id="{place}">'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>"
    )


def _row(task: TaskLine, run: int, at: int, priced: bool, digits: int) -> str:
    rate = NONE if task.rate is None else share(task.rate, digits)
    ends = interval(task.low, task.high, "share", digits=digits)
    lacking = [
        f"{count} {what}"
        for count, what in ((task.errors, "broken"), (task.missing, "missing"))
        if count
    ]
    under = f'<small class="mark-open">{text(", ".join(lacking))}</small>' if lacking else ""
    under += '<small class="mark-open">stopped early</small>' if task.stopped else ""
    again = NONE if task.at_least is None else f"{task.at_least:.2f}"
    signature = words(task.signature or "")
    cost = "" if task.cost is None else money(task.cost)
    marks = {
        "domain": task.domain,
        "result": result_of(task),
        "band": words(task.band or "no band"),
        "signature": signature,
        "tag": "\n".join(task.tags),
    }
    told = "".join(f' data-{name}="{text(mark)}"' for name, mark in marks.items() if mark)
    at_least = -1 if task.at_least is None else task.at_least
    return (
        f'<tr{told}><th scope="row">{named(task.uid)}</th>'
        f'<td class="extra">{text(task.domain)}</td>'
        f'<td class="number"{value(task.passed)}>{task.passed}/{task.clean}{under}</td>'
        f'<td class="number"{value(-1 if task.rate is None else task.rate)}>{rate}'
        f"<small>{text(ends)}</small></td>"
        f'<td class="number extra"{value(at_least)}>{again}</td>'
        f'<td class="extra">{text(signature)}</td>'
        + (f'<td class="number extra"{value(task.cost)}>{cost}</td>' if priced else "")
        + f'<td{value(task.passed)}><div class="cells" data-task="{run} {at}"></div></td></tr>\n'
    )


def _filter(place: str, tasks: Sequence[TaskLine]) -> str:
    lists = {
        "domain": {task.domain for task in tasks},
        "result": {result_of(task) for task in tasks},
        "band": {words(task.band or "no band") for task in tasks},
        "signature": {words(task.signature) for task in tasks if task.signature},
        "tag": {tag for task in tasks for tag in task.tags},
    }
    fields = ['<input type="search" placeholder="search tasks" aria-label="search tasks">']
    for name, values in lists.items():
        if len(values) < 2:
            continue
        options = "".join(
            f'<option value="{text(each)}">{text(each)}</option>'
            for each in sorted(map(printable, values))
        )
        fields.append(
            f'<select name="{name}" aria-label="{name}"><option value="">any {name}</option>'
            f"{options}</select>"
        )
    return (
        f'<div class="filter" data-table="{place}" hidden>{"".join(fields)}'
        '<output class="dim" aria-live="polite"></output></div>'
    )


def page_data(
    runs: Sequence[Run], held: Sequence[Mapping[Key, tuple[int, int]]], files: str | None
) -> dict[str, Any]:
    """What the script reads: the attempts of every task, as short lists.

    Args:
        runs: The runs.
        held: Of each run, where the transcript of a try is: side file, and place in it.
        files: The folder of the side files.
    """
    ends: dict[str, int] = {}
    signatures: dict[str, int] = {}
    told = []
    for run, places in zip(runs, held, strict=True):
        rows = looked_at(run.results.attempts).select(
            "uid",
            "repetition",
            "try",
            "outcome",
            "finish_reason",
            "error_phase",
            "signature",
            "silent",
        )
        tasks: dict[str, list[list[Any]]] = {task.uid: [] for task in run.summary.tasks}
        for uid, of_task in groupby(rows.iter_rows(), key=lambda row: row[0]):
            if uid in tasks:
                tasks[uid] = [_attempt(row, places, ends, signatures) for row in of_task]
        told.append({"name": run.name, "tasks": list(tasks.items())})
    return {
        "files": files,
        "ends": list(ends),
        "signatures": list(signatures),
        "runs": told,
    }


def _attempt(
    row: tuple[Any, ...],
    places: Mapping[Key, tuple[int, int]],
    ends: dict[str, int],
    signatures: dict[str, int],
) -> list[Any]:
    uid, repetition, attempt, outcome, end, phase, signature, silent = row
    ended = f"broke in phase {phase}" if phase else words(end) if end else None
    chunk, within = places.get((uid, repetition, attempt), (None, None))
    return [
        repetition,
        attempt,
        OUTCOMES.index(outcome),
        None if ended is None else ends.setdefault(ended, len(ends)),
        None if signature is None else signatures.setdefault(words(signature), len(signatures)),
        int(bool(silent)),
        chunk,
        within,
    ]
