"""Tables of money: what a campaign, a success and a dependable task cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outcomebox.eval.metrics.cost import Cost, CostFigures
from outcomebox.eval.metrics.estimate import Estimate
from outcomebox.eval.metrics.pareto import Point, pareto
from outcomebox.eval.report.numbers import NONE, money, shown
from outcomebox.eval.report.run import Run, words
from outcomebox.eval.report.tables import Cell, Column, Table, about, count, figure, name


def frontier(runs: Sequence[Run]) -> frozenset[str]:
    """Names of the runs that no other beats in cost a success and pass@1 at once."""
    return frozenset(
        pareto(
            [
                Point(
                    run.name,
                    run.summary.overall.cost.per_success.value,
                    run.summary.overall.pass_1.value,
                )
                for run in runs
            ]
        )
    )


def cost_table(runs: Sequence[Run], *, digits: int) -> Table | None:
    """What runs cost, side by side; None where nothing is known of any."""
    known = [run for run in runs if run.summary.cost.basis is not None]
    if not known:
        return None
    best = frontier(known) if len(known) > 1 else frozenset()
    rows = []
    for run in known:
        group = run.summary.overall
        figures = group.cost
        rows.append(
            (
                Cell(run.name, "on the frontier" if run.name in best else ""),
                _sum(figures.campaign, figures.known, figures),
                _sum(figures.per_attempt, None, figures),
                _sum(figures.per_success, figures.known_per_success, figures),
                _sum(figures.per_dependable, figures.known_per_dependable, figures),
                figure(group.pass_1.population, "share", digits=digits),
                count(group.dependable.count),
            )
        )
    cost, figures = known[0].summary.cost, known[0].summary.overall.cost
    level = known[0].summary.level
    k = known[0].summary.overall.dependable.k
    heads = (
        Column("run", number=False),
        Column("campaign", _about(figures.campaign, level)),
        Column("per attempt"),
        Column("per success", _about(figures.per_success, level)),
        Column(f"per {k}/{k} task", _about(figures.per_dependable, level)),
        Column("pass@1"),
        Column(f"{k}/{k}"),
    )
    caption = f"{cost.currency or 'Money'}: {cost.basis}. All tries and all roles count."
    caption += "".join(f" {note}" for note in cost.notes)
    if len(known) > 1:
        caption += " Frontier: no run is both no dearer per success and at least as accurate."
    return Table("cost", "Cost", heads, tuple(rows), caption)


def spending_tables(run: Run) -> Iterator[Table]:
    """What a run's money went to."""
    cost = run.summary.cost
    if cost.models:
        yield _models(cost)
    lines = _lines(cost, run.summary.overall.cost)
    if lines.rows:
        yield lines


def _models(cost: Cost) -> Table:
    rows = tuple(
        (
            Cell(f"{each.model or 'not named'}", each.role),
            count(
                each.tries,
                ""
                if each.priced == each.tries or cost.basis is None
                else f"{each.priced:,} priced",
            ),
            count(each.input),
            count(each.cached),
            count(each.output),
            Cell(shown(each.amount, "money"), "", each.amount),
        )
        for each in cost.models
    )
    heads = (
        Column("model and role", number=False),
        Column("tries"),
        Column("input tokens", "cached ones among them"),
        Column("cached"),
        Column("output tokens", "reasoning among them"),
        Column("cost"),
    )
    return Table("models", "Tokens by model and role", heads, rows, " ".join(cost.notes))


def _lines(cost: Cost, figures: CostFigures) -> Table:
    rows = []
    if figures.errors:
        rows.append(
            (name("of the campaign: tries without a verdict"), _money(figures.errors), Cell(""))
        )
    if figures.superseded:
        rows.append(
            (
                name("of the campaign: tries that a later one replaced"),
                _money(figures.superseded),
                Cell(""),
            )
        )
    rows += [
        (
            name(words(line.name)),
            _money(line.amount) if line.amount is not None else _least(line.known),
            Cell(" ".join(filter(None, (line.note, line.basis)))),
        )
        for line in cost.lines
    ]
    heads = (Column("what for", number=False), Column("cost"), Column("note", number=False))
    return Table(
        "spent",
        "What else was spent",
        heads,
        tuple(rows),
        "Probes and training are in no figure of the campaign.",
    )


def _money(amount: float) -> Cell:
    return Cell(money(amount), "", amount)


def _least(known: float | None) -> Cell:
    return Cell(NONE if known is None else f"at least {money(known)}")


def _sum(found: Estimate, known: float | None, figures: CostFigures) -> Cell:
    cell = figure(found, "money", digits=1)
    if found.value is None and known is not None:
        return Cell(
            NONE, f"at least {money(known)}: {figures.priced:,} of {figures.tries:,} tries priced"
        )
    return cell


def _about(found: Estimate, level: float) -> str:
    return about(found, level) if found.low is not None or found.high is not None else ""
