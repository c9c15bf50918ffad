"""Tables of rates: runs side by side, and a run by domain, family, tag and band."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outcomebox.eval.metrics.model import Group, Observed
from outcomebox.eval.report.numbers import NONE, shown
from outcomebox.eval.report.run import Run, words
from outcomebox.eval.report.tables import Cell, Column, Table, about, count, figure, heated, name

KINDS = ("domain", "family", "tag", "band")
"""What tasks are grouped by, in the order of the report."""
_TITLES = {
    "domain": "By domain",
    "family": "By family",
    "tag": "By tag",
    "band": "By difficulty band",
}
_CAPTIONS = {
    "tag": "A task can have several tags, so the rows overlap.",
    "band": "Bands made from these very attempts sort tasks by their luck as well: rates inside a "
    "band say little. Bands of an earlier probe do not have this fault.",
}
_MOST = 60
"""Groups of a kind that are printed; a kind with more is left to the CSV."""


def runs_table(runs: Sequence[Run], *, digits: int) -> Table:
    """Runs side by side."""
    first = runs[0].summary
    rows = []
    for run in runs:
        group = run.summary.overall
        final = run.summary.completeness.final
        rows.append(
            (
                Cell(run.name, "" if final else "NOT FINAL"),
                count(group.tasks),
                count(group.clean, "" if group.clean == group.due else f"of {group.due:,}"),
                *_rates(group, digits=digits),
            )
        )
    return Table(
        "runs",
        "Runs",
        (Column("run", number=False), *_heads(first.overall, first.level)),
        tuple(rows),
    )


def group_tables(run: Run, *, digits: int) -> Iterator[Table]:
    """A run by what its tasks have in common, all tasks in the last row."""
    summary = run.summary
    for kind in KINDS:
        groups = run.groups(kind)
        if len(groups) < 2 or len(groups) > _MOST:
            continue
        rows = [_row(titled(group), group, digits=digits) for group in groups]
        rows.append(_row("all tasks", summary.overall, digits=digits))
        yield Table(
            kind,
            _TITLES[kind],
            (Column(kind, number=False), *_heads(summary.overall, summary.level)),
            tuple(rows),
            _CAPTIONS.get(kind, ""),
            total=True,
        )


def heat_table(run: Run, *, digits: int) -> Table | None:
    """A run's domains by what can be said of each; None with a single one."""
    groups = run.groups("domain")
    if len(groups) < 2:
        return None
    all_groups = (*groups, run.summary.overall)
    measured = [_measures(group) for group in all_groups]
    columns = [list(heated(column, digits)) for column in zip(*measured, strict=True)]
    rows = [
        (name(titled(group)), *(column[place] for column in columns))
        for place, group in enumerate(all_groups)
    ]
    k = run.summary.overall.dependable.k
    heads = (
        f"at least once in {k}",
        "pass@1",
        f"every time {k}/{k}",
        "retention",
        "silent failures",
    )
    return Table(
        "heat",
        "Domains at a glance",
        (Column("domain", number=False), *map(Column, heads)),
        tuple(rows),
        "Retention: share of tasks passed every time / pass@1. Silent failures: of the failed "
        "attempts, those that ended cleanly, wrote, and saw no error last.",
        total=True,
        heat="Deeper is more, column by column.",
    )


def runs_heat_table(runs: Sequence[Run], *, digits: int) -> Table | None:
    """pass@1 of each run in each domain; None with a single run or domain."""
    domains = sorted({group.name for run in runs for group in run.groups("domain")})
    if len(runs) < 2 or len(domains) < 2:
        return None
    rates: list[float | None] = []
    for run in runs:
        found = {group.name: group.pass_1.value for group in run.groups("domain")}
        rates += [*(found.get(domain) for domain in domains), run.summary.overall.pass_1.value]
    cells = list(heated(rates, digits))
    wide = len(domains) + 1
    rows = [
        (name(run.name), *cells[wide * place : wide * (place + 1)])
        for place, run in enumerate(runs)
    ]
    return Table(
        "runs-heat",
        "pass@1 by run and domain",
        (Column("run", number=False), *map(Column, (*domains, "all tasks"))),
        tuple(rows),
        heat="Deeper is more.",
    )


def _measures(group: Group) -> tuple[float | None, ...]:
    return (
        group.any.share.value,
        group.pass_1.value,
        group.dependable.share.value,
        group.retention.value,
        group.failures.silent.share.value,
    )


def titled(group: Group) -> str:
    """What a group is called: a domain as it is named, a band of ours in words."""
    if group.kind == "overall":
        return "all tasks"
    return words(group.name) if group.kind == "band" else group.name


def _heads(group: Group, level: float) -> tuple[Column, ...]:
    k = group.dependable.k
    return (
        Column("tasks"),
        Column("attempts"),
        Column("pass@1", about(group.pass_1.population, level)),
        Column(f"passed {k}/{k}", about(group.dependable.share, level)),
        Column("at least once", about(group.any.share, level)),
        Column("retention", f"share {k}/{k} / pass@1"),
    )


def _row(title: str, group: Group, *, digits: int) -> tuple[Cell, ...]:
    return (
        Cell(title),
        count(
            group.tasks, "" if group.covered == group.tasks else f"{group.covered} with a result"
        ),
        count(group.clean, "" if group.clean == group.due else f"of {group.due:,}"),
        *_rates(group, digits=digits),
    )


def _rates(group: Group, *, digits: int) -> tuple[Cell, ...]:
    return (
        figure(group.pass_1.population, "share", digits=digits),
        observed(group.dependable, digits=digits),
        observed(group.any, digits=digits),
        figure(group.retention, "ratio", digits=digits),
    )


def observed(found: Observed, *, digits: int) -> Cell:
    """A count of tasks with its share and that one's interval, or what is not known of it."""
    if found.count is None:
        return Cell(NONE, found.share.note or "")
    share = figure(found.share, "share", digits=digits)
    if found.share.value is None:
        defined = found.share_defined
        told = f"{found.undecided} undecided"
        if defined.value is not None:
            told = (
                f"{shown(defined.value, 'share', digits=digits)} of the {defined.n} decided; {told}"
            )
        return Cell(f"{found.count}", told, float(found.count))
    parts = [share.text, f"[{share.under}]" if share.under else ""]
    return Cell(f"{found.count}", " ".join(filter(None, parts)), float(found.count))
