"""A comparison in the terminal: what was compared, the differences, the tasks, the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from outcomebox.eval.compare.model import Comparison, CostDifference, Difference, Paired, Side
from outcomebox.eval.compare.verdict import interval, p_words, percent, points

_NAMED = 10


def show(found: Comparison, console: Console) -> None:
    """Print a comparison.

    Args:
        found: It.
        console: Where to.
    """

    def say(line: str, style: str | None = None) -> None:
        console.print(line, style=style, markup=False, soft_wrap=True)

    say(f"{found.new.name} against {found.base.name}", "bold")
    for side in (found.base, found.new):
        say(_side(side))
    # A terminal that is too narrow for a table breaks its lines; a figure is never cut.
    console.print(_differences(found), crop=False)
    if len(found.domains) > 1:
        console.print(_domains(found), crop=False)
    for asked in (found.all_k, found.any_k):
        if asked is not None:
            for line in _changed(asked):
                say(line)
    if found.cost is not None:
        say(_cost(found.cost))
    if found.left_out:
        say(f"Left out, without a clean run on a side: {_named(found.left_out)}")
    for note in found.notes:
        say(f"note: {note}")
    say(f"Verdict: {found.verdict}", "bold")
    say("")


def _side(side: Side) -> str:
    return f"{side.name}: {' '.join(side.completeness)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table that folds heads, and the names in front, before it cuts a figure."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        widest = max((cell_len(row[number]) for row in rows), default=1) if number else 8
        table.add_column(
            column,
            justify="right" if number else "left",
            min_width=max(widest, 1),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _differences(found: Comparison) -> Table:
    rows = [
        ("pass@1, population of tasks", *_cells(found.pass_1), ""),
        ("pass@1, these tasks", *_cells(found.pass_1_these), ""),
        *(
            (
                f"{_question(asked)}, population of tasks",
                *_cells(asked.difference),
                p_words(asked.p).removeprefix("p ").removeprefix("= "),
            )
            for asked in (found.all_k, found.any_k)
            if asked is not None
        ),
    ]
    names = (found.base.name, found.new.name)
    return _table(("", *names, "points", f"{100 * found.level:g} % interval", "p"), rows)


def _cells(difference: Difference) -> Sequence[str]:
    return (
        percent(difference.base),
        percent(difference.new),
        points(difference.value),
        interval(difference),
    )


def _question(asked: Paired) -> str:
    part = "" if asked.n == asked.of else f" ({asked.n} of {asked.of} tasks)"
    return (f"{asked.k}/{asked.k}" if asked.question == "all" else f"any of {asked.k}") + part


def _domains(found: Comparison) -> Table:
    rows = [
        (
            row.domain,
            f"{row.tasks}",
            *_cells(row.pass_1),
            *(
                "-" if asked is None else f"+{asked.new_only} -{asked.base_only}"
                for asked in (row.all_k, row.any_k)
            ),
        )
        for row in found.domains
    ]
    return _table(
        (
            "domain",
            "tasks",
            found.base.name,
            found.new.name,
            "points",
            f"{100 * found.level:g} % interval",
            "tasks k/k",
            "any",
        ),
        rows,
    )


def _changed(asked: Paired) -> list[str]:
    return [
        f"{_question(asked)} {word}: {len(uids)}{': ' + _named(uids) if uids else ''}"
        for word, uids in (("gained", asked.gained), ("lost", asked.lost))
    ]


def _named(uids: Sequence[str]) -> str:
    more = f" and {len(uids) - _NAMED} more (--json has all)" if len(uids) > _NAMED else ""
    return ", ".join(uids[:_NAMED]) + more


def _cost(cost: CostDifference) -> str:
    def money(amount: float | None) -> str:
        return "-" if amount is None else f"{amount:,.4g}"

    each = cost.per_success
    ends = "" if each.low is None else f", difference {money(each.low)} to {money(each.high)}"
    note = f" ({each.note})" if each.note else ""
    return (
        f"Cost a success, {cost.basis}: {money(each.base)} to {money(each.new)}{ends}{note}; "
        f"campaign {money(cost.base)} to {money(cost.new)}"
    )
