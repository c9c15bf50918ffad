"""Tables that every format prints alike: cells of text, made once from the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outcomebox.eval.metrics.estimate import Estimate
from outcomebox.eval.report.numbers import NONE, Unit, interval, shown

_SPAN = 0.25
"""The least difference of shares that takes all depths of a heat map."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        title: Its head.
        note: What its figures and intervals are about, in small print under the head.
        number: Whether it holds figures.
    """

    title: str
    note: str = ""
    number: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
        text: What it says.
        under: Small print: the interval, or what a figure rests on.
        value: What it is sorted by; None for text.
        heat: Depth of its colour, from 0 to 1; None for none.
        bar: Length of a bar beside it, from 0 to 1; None for none.
    """

    text: str
    under: str = ""
    value: float | None = None
    heat: float | None = None
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: A short name, unique in a report.
        title: Its heading.
        columns: From the left; the first names the rows.
        rows: From the top.
        caption: What it shows, in a sentence or two.
        total: Whether the last row is over all.
        heat: What the colours of a heat map say; empty where there are none.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    total: bool = False
    heat: str = ""


def name(text: str) -> Cell:
    """The cell that names a row."""
    return Cell(text)


def count(value: int | None, under: str = "") -> Cell:
    """A whole number."""
    return Cell(shown(value, "count"), under, None if value is None else float(value))


def figure(found: Estimate, unit: Unit, *, digits: int, bar: bool = False) -> Cell:
    """A figure over its interval, or over the reason why there is none.

    Args:
        found: The figure.
        unit: What it is.
        digits: Decimals of shares.
        bar: Whether a share gets a bar.
    """
    under = interval(found.low, found.high, unit, digits=digits)
    if found.value is None:
        under = found.note or ""
    return Cell(
        shown(found.value, unit, digits=digits),
        under,
        found.value,
        bar=found.value if bar else None,
    )


def partly(found: Estimate, defined: Estimate, *, digits: int) -> Cell:
    """A share; where it is not defined over all tasks, what it is over those that have it.

    Args:
        found: Over all tasks.
        defined: Over the tasks for which it is defined.
        digits: Decimals.
    """
    cell = figure(found, "share", digits=digits)
    if found.value is not None or defined.value is None:
        return cell
    told = f"{shown(defined.value, 'share', digits=digits)} over {defined.n} of {defined.of} tasks"
    return Cell(NONE, told)


def about(found: Estimate, level: float) -> str:
    """What a column's intervals are about, for its head."""
    whose = {"one task": "of one task", "a rerun": "of a rerun"}.get(
        found.estimand, f"for {found.estimand}"
    )
    if found.estimand == "these tasks":
        whose = "for these very tasks"
    elif found.estimand == "population of tasks":
        whose = "for a population of tasks"
    elif found.estimand == "share of tasks":
        whose = "of the share of tasks"
    return f"{100 * level:g} % interval {whose}; {found.method}"


def heated(values: Sequence[float | None], digits: int) -> Iterator[Cell]:
    """Cells of shares, the deeper the greater among them; those that are close look close.

    Args:
        values: Shares that are compared with each other.
        digits: Decimals.
    """
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    room = max(0.0, _SPAN - (high - low)) / 2
    low, high = low - room, high + room
    for value in values:
        heat = None if value is None else (value - low) / (high - low)
        yield Cell(shown(value, "share", digits=digits), "", value, heat=heat)
