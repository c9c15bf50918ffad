"""Tables, pictures and figures as HTML. What comes in is plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from outcomebox.eval.report.frame import HEAT
from outcomebox.eval.report.headlines import Headline
from outcomebox.eval.report.plots import Picture
from outcomebox.eval.report.tables import Cell, Column, Table
from outcomebox.reward.pages.parts import text

_BAR = 100


def headlines(figures: Iterable[Headline]) -> str:
    """Figures, large, with their small print."""
    cells = "".join(
        f'<div><span class="what">{text(each.what)}</span><b>{text(each.value)}</b>'
        + "".join(f"<small>{text(note)}</small>" for note in each.notes if note)
        + "</div>"
        for each in figures
    )
    return f'<div class="figures">{cells}</div>'


def banner(lines: Sequence[str], kind: str) -> str:
    """A note that cannot be overlooked; the first line is its head.

    Args:
        lines: What it says.
        kind: ``done``, ``note`` or ``open``.
    """
    head, *rest = lines
    body = "".join(f"<p>{text(line)}</p>" for line in rest)
    return f'<div class="banner {kind}" role="note"><b>{text(head)}</b>{body}</div>'


def figure(picture: Picture) -> str:
    """A picture under its title."""
    return f"<figure><figcaption>{text(picture.title)}</figcaption>{picture.inline()}</figure>"


def plots(pictures: Iterable[Picture]) -> str:
    """Pictures side by side."""
    drawn = "".join(map(figure, pictures))
    return f'<div class="plots">{drawn}</div>' if drawn else ""


def table(found: Table, place: str, level: int = 3) -> str:
    """A table under its heading; heads sort it where there are rows to sort.

    Args:
        found: The table.
        place: What makes its id unique on the page.
        level: Of the heading.
    """
    sort = len(found.rows) - found.total > 2
    heads = "".join(_head(column, sort=sort and not found.total) for column in found.columns)
    rows = "".join(
        _row(found, row, total=found.total and row is found.rows[-1]) for row in found.rows
    )
    told = " ".join(filter(None, (found.heat, found.caption)))
    caption = f'<p class="dim">{text(told)}</p>' if told else ""
    kind = ' class="heat"' if found.heat else ""
    return (
        f'<section><h{level} id="{text(place)}">{text(found.title)}</h{level}>\n{caption}'
        f'<div class="wide"><table{kind}><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>'
        "</table></div></section>"
    )


def _head(column: Column, *, sort: bool) -> str:
    title = text(column.title)
    shown = f'<button type="button">{title}</button>' if sort and title else title
    note = f"<small>{text(column.note)}</small>" if column.note else ""
    kind = ' class="number"' if column.number else ""
    return f'<th scope="col"{kind}>{shown}{note}</th>'


def _row(found: Table, row: Sequence[Cell], *, total: bool) -> str:
    cells = "".join(
        _first(cell) if not place else _cell(cell, column)
        for place, (cell, column) in enumerate(zip(row, found.columns, strict=True))
    )
    return f"<tr{' class=total' if total else ''}>{cells}</tr>\n"


def _first(cell: Cell) -> str:
    kind = ' class="mark-open"' if cell.under == "NOT FINAL" else ""
    under = f"<small{kind}>{text(cell.under)}</small>" if cell.under else ""
    return f'<th scope="row"{value(cell.value)}>{named(cell.text)}{under}</th>'


def _cell(cell: Cell, column: Column) -> str:
    kinds = []
    if column.number:
        kinds.append("number")
    if cell.heat is not None:
        kinds.append(f"h{round(HEAT * min(max(cell.heat, 0), 1))}")
    marked = f' class="{" ".join(kinds)}"' if kinds else ""
    under = f"<small>{text(cell.under)}</small>" if cell.under else ""
    bar = "" if cell.bar is None else _bar(cell.bar)
    return f"<td{marked}{value(cell.value)}>{bar}{text(cell.text)}{under}</td>"


def named(name: str) -> str:
    """A name that may be broken behind its slashes."""
    return text(name).replace("/", "/<wbr>")


def value(number: float | None) -> str:
    """What a cell is sorted by."""
    return "" if number is None else f' data-value="{number:g}"'


def _bar(part: float) -> str:
    return (
        f'<svg class="bar" viewBox="0 0 {_BAR} 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="{_BAR}" height="8"/>'
        f'<rect class="part" width="{_BAR * part:.1f}" height="8"/></svg>'
    )
