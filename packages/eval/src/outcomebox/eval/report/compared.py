"""A comparison as tables: the differences, the domains, the tasks gained and lost."""

from __future__ import annotations

from collections.abc import Iterator

from outcomebox.eval.compare.model import Comparison, CostDifference, Difference, Paired
from outcomebox.eval.compare.verdict import p_words
from outcomebox.eval.report.numbers import NONE, money, points, shown
from outcomebox.eval.report.tables import Cell, Column, Table, name

_NAMED = 40


def comparison_tables(found: Comparison, *, digits: int) -> Iterator[Table]:
    """The tables of one comparison."""
    level = f"{100 * found.level:g} % interval"
    heads = (
        Column("", number=False),
        Column(found.base.name),
        Column(found.new.name),
        Column("difference in points", level),
        Column("exact McNemar"),
    )
    rows = [
        (name("pass@1, for a population of tasks"), *_difference(found.pass_1, digits), Cell(NONE)),
        (
            name("pass@1, for these very tasks"),
            *_difference(found.pass_1_these, digits),
            Cell(NONE),
        ),
    ]
    rows += [
        (
            name(_question(asked)),
            *_difference(asked.difference, digits),
            Cell(p_words(asked.p)),
        )
        for asked in (found.all_k, found.any_k)
        if asked is not None
    ]
    yield Table("differences", "Differences", heads, tuple(rows), "Paired by task; new minus base.")
    if len(found.domains) > 1:
        yield _domains(found, level, digits)
    for asked in (found.all_k, found.any_k):
        if asked is not None and (asked.gained or asked.lost):
            yield _changed(asked)
    if found.cost is not None:
        yield _cost(found, found.cost)


def _domains(found: Comparison, level: str, digits: int) -> Table:
    heads = [
        Column("domain", number=False),
        Column("tasks"),
        Column(found.base.name),
        Column(found.new.name),
        Column("difference in points", f"{level} for a population of tasks"),
    ]
    asked = [each for each in (found.all_k, found.any_k) if each is not None]
    heads += [Column(_question(each), "base to new") for each in asked]
    rows = []
    for each in found.domains:
        cells = [
            Cell(each.domain),
            Cell(f"{each.tasks}", "", float(each.tasks)),
            *_difference(each.pass_1, digits),
        ]
        cells += [
            Cell(NONE if paired is None else _moved(paired))
            for paired, whole in ((each.all_k, found.all_k), (each.any_k, found.any_k))
            if whole is not None
        ]
        rows.append(tuple(cells))
    return Table("domains", "By domain", tuple(heads), tuple(rows))


def _moved(paired: Paired) -> str:
    return f"{paired.both + paired.base_only} to {paired.both + paired.new_only} of {paired.n}"


def _changed(asked: Paired) -> Table:
    rows = tuple(
        (name(what), Cell(f"{len(uids)}", "", float(len(uids))), Cell(_named(uids)))
        for what, uids in (("gained", asked.gained), ("lost", asked.lost))
    )
    heads = (Column("", number=False), Column("tasks"), Column("which", number=False))
    return Table(
        f"changed-{asked.question}",
        f"Tasks gained and lost: {_question(asked)}",
        heads,
        rows,
        f"By luck alone two runs of one policy would gain, and lose, about {asked.by_luck:.0f}.",
    )


def _cost(found: Comparison, cost: CostDifference) -> Table:
    rows = (
        (name("campaign"), _money(cost.base), _money(cost.new), Cell("")),
        (
            name("per success"),
            _money(cost.per_success.base),
            _money(cost.per_success.new),
            Cell(
                NONE if cost.per_success.value is None else f"{cost.per_success.value:+.4f}",
                _sums(cost.per_success),
            ),
        ),
    )
    heads = (
        Column("", number=False),
        Column(found.base.name),
        Column(found.new.name),
        Column("difference"),
    )
    basis = f"{cost.basis}." if cost.basis else ""
    return Table("compared-cost", "Cost", heads, rows, basis)


def _question(asked: Paired) -> str:
    return (
        f"passed {asked.k}/{asked.k}"
        if asked.question == "all"
        else f"passed at least once in {asked.k}"
    )


def _difference(found: Difference, digits: int) -> tuple[Cell, Cell, Cell]:
    return (
        Cell(shown(found.base, "share", digits=digits), "", found.base),
        Cell(shown(found.new, "share", digits=digits), "", found.new),
        Cell(
            points(found.value, digits),
            _ends(found, digits) or (found.note or ""),
            found.value,
        ),
    )


def _ends(found: Difference, digits: int) -> str:
    if found.low is None or found.high is None:
        return ""
    return f"{points(found.low, digits)} to {points(found.high, digits)}"


def _sums(found: Difference) -> str:
    if found.low is None or found.high is None:
        return found.note or ""
    return f"{found.low:+.4f} to {found.high:+.4f}"


def _money(value: float | None) -> Cell:
    return Cell(NONE if value is None else money(value), "", value)


def _named(uids: tuple[str, ...]) -> str:
    more = len(uids) - _NAMED
    return ", ".join(uids[:_NAMED]) + (f" and {more} more" if more > 0 else "")
