"""Tables of what is behind a rate: curves over k, reruns, failures, ends, effort."""

from __future__ import annotations

from collections.abc import Iterator

from outcomebox.eval.metrics.model import Failures, Group, Part
from outcomebox.eval.report.numbers import Unit, shown
from outcomebox.eval.report.run import Run, words
from outcomebox.eval.report.tables import Cell, Column, Table, about, count, figure, name, partly

_UNITS: dict[str, Unit] = {"seconds": "seconds"}
_INSIDE = {
    "wrong_values": "wrong values",
    "extra_effects": "unintended extra effects",
    "missing_effects": "missing required effects",
}
_SILENT = (
    "Silent: it ended cleanly, changed records, its last tool call was no error, and the end state "
    "is wrong all the same. The parts inside overlap."
)


def behind_tables(run: Run, *, digits: int) -> Iterator[Table]:
    """All of them that have something to say."""
    group = run.summary.overall
    level = run.summary.level
    for table in (
        _curves(group, level, digits),
        _rerun(group, level),
        _signatures(group.failures, level, digits),
        _silent(group.failures, level, digits),
        _blame(group.failures, digits),
        _ends(group),
        _effort(group, level),
    ):
        if table.rows:
            yield table


def _curves(group: Group, level: float, digits: int) -> Table:
    rows = tuple(
        (
            Cell(f"{each.k}", "", float(each.k)),
            partly(each.pass_at, each.pass_at_defined, digits=digits),
            partly(each.pass_hat, each.pass_hat_defined, digits=digits),
        )
        for each in group.at_k
    )
    heads = (
        Column("k"),
        Column("pass@k", "at least one of k passes"),
        Column("pass^k", "all k pass"),
    )
    note = about(group.at_k[0].pass_at, level) if group.at_k else ""
    return Table("curves", "pass@k and pass^k", heads, rows, f"Unbiased, mean over tasks. {note}.")


def _rerun(group: Group, level: float) -> Table:
    repeat = group.repeat
    if repeat.dependable is None:
        return Table("rerun", "", (), ())
    k = repeat.k
    rows = (
        (name(f"tasks observed at {k}/{k}"), count(group.dependable.count)),
        (name(f"expected at {k}/{k} in a rerun"), figure(repeat.rerun, "number", digits=1)),
        (
            name(f"expected with a true rate of {100 * repeat.rate:g} % or more"),
            Cell(shown(repeat.dependable, "number"), "", repeat.dependable),
        ),
    )
    return Table(
        "rerun",
        "Would it happen again?",
        (Column("", number=False), Column("tasks", about(repeat.rerun, level))),
        rows,
        "From each task's Jeffreys posterior: what passed every attempt need not do so again.",
    )


def _signatures(found: Failures, level: float, digits: int) -> Table:
    rows = _parts(found.signatures, digits)
    if found.without_signature:
        rows += ((name("not told by the source"), count(found.without_signature), Cell("")),)
    return Table(
        "signatures",
        "Failure signatures",
        (
            Column("signature", number=False),
            Column("failed attempts"),
            _share(found.signatures, level),
        ),
        rows if found.failed else (),
        f"One a failed attempt, by rules alone, the first that holds; {found.failed:,} failed.",
    )


def _silent(found: Failures, level: float, digits: int) -> Table:
    silent = found.silent
    if not found.failed or not silent.share.n:
        return Table("silent", "", (), ())
    rows = (
        (
            name("silent failures"),
            count(silent.count),
            figure(silent.share, "share", digits=digits, bar=True),
        ),
        *(
            (name(f"in them: {_INSIDE.get(part.name, words(part.name))}"), *cells[1:])
            for part, cells in zip(found.inside, _parts(found.inside, digits), strict=True)
        ),
    )
    heads = (
        Column("", number=False),
        Column("attempts"),
        Column("share", about(silent.share, level)),
    )
    return Table("silent", "Silent failures", heads, rows, _SILENT)


def _blame(found: Failures, digits: int) -> Table:
    rows = [
        (
            name(f"failed, {words(part.name)}"),
            count(part.count),
            Cell(figure(part.share, "share", digits=digits).text),
        )
        for part in found.blame
        if found.failed
    ]
    rows += [
        (name(f"no verdict, {words(who)}"), count(tries), Cell("counts nowhere"))
        for who, tries in found.broken
        if tries
    ]
    heads = (
        Column("what and who", number=False),
        Column("attempts or tries"),
        Column("share of the failed"),
    )
    return Table(
        "blame",
        "Who may be to blame",
        heads,
        tuple(rows),
        "A failure is a failure, whoever may be to blame: what the user simulator or the grader "
        "may have caused is counted apart, and taken out of nothing.",
    )


def _ends(group: Group) -> Table:
    rows = tuple(
        (
            name(words(end.reason) if end.reason else "not told by the source"),
            count(end.passed + end.failed),
            count(end.passed),
            count(end.failed),
        )
        for end in group.ends
    )
    heads = (
        Column("why it ended", number=False),
        Column("attempts"),
        Column("passed"),
        Column("failed"),
    )
    told = any(end.reason for end in group.ends)
    return Table("ends", "How attempts ended", heads, rows if told else ())


def _effort(group: Group, level: float) -> Table:
    # Tokens that nobody used are no effort; tool errors that nobody made are worth a line.
    told = [
        each for each in group.means if each.mean.n and (each.total or "tokens" not in each.name)
    ]
    rows = tuple(
        (
            name(words(each.name)),
            figure(each.mean, _UNITS.get(each.name, "number"), digits=1),
            _whole(each.median, each.name),
            _whole(each.p95, each.name),
            _whole(each.total, each.name),
            count(each.mean.n, "" if each.mean.n == each.mean.of else f"of {each.mean.of:,}"),
        )
        for each in told
    )
    note = about(told[0].mean, level) if told else ""
    heads = (
        Column("an attempt", number=False),
        Column("mean", note),
        Column("median"),
        Column("95 % have at most"),
        Column("in all"),
        Column("attempts", "that tell it"),
    )
    return Table("effort", "Effort", heads, rows)


def _whole(value: float | None, what: str) -> Cell:
    unit = _UNITS.get(what, "number")
    if unit == "number" and value is not None and value == int(value):
        unit = "count"
    return Cell(shown(value, unit), "", value)


def _parts(parts: tuple[Part, ...], digits: int) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (
            name(words(part.name)),
            count(part.count),
            figure(part.share, "share", digits=digits, bar=True),
        )
        for part in parts
    )


def _share(parts: tuple[Part, ...], level: float) -> Column:
    return Column("share", about(parts[0].share, level) if parts else "")
