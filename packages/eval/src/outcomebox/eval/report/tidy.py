"""Every figure as a row of its own, for programs: one CSV of figures, one of tasks."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from outcomebox.eval.metrics.estimate import Estimate
from outcomebox.eval.metrics.model import Group, Part
from outcomebox.eval.report.numbers import Unit
from outcomebox.eval.report.run import Run

FIGURES = (
    "run",
    "final",
    "by",
    "group",
    "metric",
    "unit",
    "value",
    "low",
    "high",
    "n",
    "of",
    "estimand",
    "method",
    "note",
)
TASKS = (
    "run",
    "uid",
    "domain",
    "family",
    "tags",
    "band",
    "due",
    "clean",
    "passed",
    "errors",
    "missing",
    "stopped",
    "rate",
    "low",
    "high",
    "dependable",
    "any",
    "at_least",
    "again",
    "cost",
    "signature",
)
Figure = tuple[str, Unit, Estimate | float | None]


def figures_csv(runs: Sequence[Run]) -> str:
    """All figures, one a row; what is not defined is empty, shares are of 1."""
    return _csv(FIGURES, (row for run in runs for row in _run(run)))


def tasks_csv(runs: Sequence[Run]) -> str:
    """All tasks, one a row; tags are parted by semicolons."""
    rows = (
        (
            run.name,
            *(
                ";".join(task.tags) if field == "tags" else getattr(task, field)
                for field in TASKS[1:]
            ),
        )
        for run in runs
        for task in run.summary.tasks
    )
    return _csv(TASKS, rows)


def _run(run: Run) -> Iterator[tuple[object, ...]]:
    groups = [run.summary.overall, *(each for kind in run.summary.groups.values() for each in kind)]
    for group in groups:
        for metric, unit, found in _figures(group):
            head = (run.name, run.summary.final, group.kind, group.name, metric, unit)
            if isinstance(found, Estimate):
                yield (
                    *head,
                    found.value,
                    found.low,
                    found.high,
                    found.n,
                    found.of,
                    found.estimand,
                    found.method,
                    found.note,
                )
            else:
                yield (*head, found, *[None] * 7)


def _figures(group: Group) -> Iterator[Figure]:
    rate = group.pass_1
    counts = ("tasks", "covered", "due", "clean", "passed", "errors", "missing", "system_errors")
    for name in (*counts, "stopped"):
        yield name, "count", getattr(group, name)
    yield "pass@1", "share", rate.population
    yield "pass@1 these tasks", "share", rate.these_tasks
    yield "pass@1 population t", "share", rate.population_t
    yield "pass@1 lowest", "share", rate.lowest
    yield "pass@1 highest", "share", rate.highest
    for each in group.at_k:
        yield f"pass@{each.k}", "share", each.pass_at
        yield f"pass@{each.k} over tasks that have k", "share", each.pass_at_defined
        yield f"pass^{each.k}", "share", each.pass_hat
        yield f"pass^{each.k} over tasks that have k", "share", each.pass_hat_defined
    for name, observed in (("all of k", group.dependable), ("any of k", group.any)):
        yield f"{name} tasks", "count", observed.count
        yield f"{name} undecided", "count", observed.undecided
        yield name, "share", observed.share
        yield f"{name} over tasks that have k", "share", observed.share_defined
    yield "retention", "ratio", group.retention
    yield f"tasks with p >= {group.repeat.rate:g}", "number", group.repeat.dependable
    yield "tasks k/k in a rerun", "number", group.repeat.rerun
    yield from _failures(group)
    for end in group.ends:
        yield f"end {end.reason or 'not told'}", "count", end.passed + end.failed
    for mean in group.means:
        yield f"{mean.name} mean", "number", mean.mean
        yield f"{mean.name} median", "number", mean.median
        yield f"{mean.name} 95 %", "number", mean.p95
        yield f"{mean.name} total", "number", mean.total
    cost = group.cost
    for name in ("campaign", "per_attempt", "per_success", "per_dependable"):
        yield f"cost {name}", "money", getattr(cost, name)
    for name in ("known", "errors", "superseded", "known_per_success", "known_per_dependable"):
        yield f"cost {name}", "money", getattr(cost, name)


def _failures(group: Group) -> Iterator[Figure]:
    found = group.failures
    yield "failed", "count", found.failed
    yield from _parts("signature", found.signatures)
    yield "without signature", "count", found.without_signature
    yield from _parts("silent failures", (found.silent,))
    yield from _parts("inside silent", found.inside)
    yield from _parts("blame", found.blame)
    for who, tries in found.broken:
        yield f"broken {who}", "count", tries


def _parts(what: str, parts: Sequence[Part]) -> Iterator[Figure]:
    for part in parts:
        name = what if len(parts) == 1 else f"{what} {part.name}"
        yield f"{name} count", "count", part.count
        yield name, "share", part.share


def _csv(head: Sequence[str], rows: Iterator[tuple[object, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_plain(value) for value in row] for row in rows)
    return text.getvalue()


def _plain(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    # Twelve digits: those of the JSON form, and the same on every machine.
    return float(f"{value:.12g}") if isinstance(value, float) else value
