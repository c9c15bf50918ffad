"""The parts that pages are made of. What comes in is plain text; what goes out is HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_CONTROLS[127] = "\u2421"
_CONTROLS |= {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
# Marks that turn the direction of text around could hide what stands there.
_CONTROLS |= {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}

_WIDTH = 120
_HEIGHT = 10


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: What stands in its head.
        number: Whether it holds numbers.
    """

    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        html: What it shows, as HTML.
        value: What it is sorted by, if it is a number.
    """

    html: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        cells: Its cells.
        marks: What a filter's lists choose by; names in lower case.
    """

    cells: Sequence[Cell]
    marks: Mapping[str, str]


def printable(value: object) -> str:
    """A value as text, with a picture or an escape for whatever is no plain character."""
    return str(value).translate(_CONTROLS).encode("utf-8", "backslashreplace").decode("utf-8")


def text(value: object) -> str:
    """A value as HTML text, also inside quotes."""
    return escape(printable(value), quote=True)


def plain(value: object) -> Cell:
    """A cell of text."""
    return Cell(text(value))


def number(value: int) -> Cell:
    """A cell with a count."""
    return Cell(text(value), float(value))


def paragraph(value: object) -> str:
    """A line of small print."""
    return f'<p class="dim">{text(value)}</p>'


def listed(items: Iterable[object]) -> str:
    """A list, a line an item."""
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def figures(pairs: Iterable[tuple[object, str]]) -> str:
    """Figures with their names, large."""
    cells = (f"<div><b>{text(value)}</b>{text(name)}</div>" for value, name in pairs)
    return f'<div class="figures">{"".join(cells)}</div>'


def share(part: int, whole: int) -> str:
    """A share in per cent; never rounded up to all of it."""
    if not whole:
        return "—"
    shown = f"{100 * part / whole:.1f}"
    return "<100 %" if shown == "100.0" and part < whole else f"{shown} %"


def bar(part: int, whole: int) -> str:
    """A small bar of a share, with the two numbers for those who cannot see it."""
    width = round(_WIDTH * part / whole) if whole else 0
    if part < whole:
        width = min(width, _WIDTH - 2)  # what is missing must be seen
    kind = "fill" if part == whole else "partly"
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{part} of {whole}">'
        f'<rect class="track" width="{_WIDTH}" height="{_HEIGHT}" rx="3"></rect>'
        f'<rect class="{kind}" width="{width}" height="{_HEIGHT}" rx="3"></rect></svg>'
    )


def table(name: str, columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """A table that can be sorted by each column.

    Args:
        name: Its id on the page.
        columns: Its columns.
        rows: Its rows.
    """
    head = "".join(
        f'<th{_number(column)}><button type="button">{text(column.title)}</button></th>'
        for column in columns
    )
    body = "".join(_row(columns, row) for row in rows)
    return (
        f'<table id="{text(name)}"><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>'
    )


def filters(name: str, lists: Mapping[str, Iterable[str]]) -> str:
    """Fields that hide rows of a table; not shown where scripts do not run.

    Args:
        name: The table's id.
        lists: mark -> values to choose from.
    """
    fields = ['<input type="search" placeholder="search" aria-label="search">']
    for mark, values in lists.items():
        options = "".join(
            f'<option value="{text(value)}">{text(value)}</option>'
            for value in sorted(set(map(printable, values)))
        )
        fields.append(
            f'<select name="{text(mark)}" aria-label="{text(mark)}">'
            f'<option value="">any {text(mark)}</option>{options}</select>'
        )
    return (
        f'<div class="filter" data-table="{text(name)}" hidden>{"".join(fields)}'
        '<output class="dim"></output></div>'
    )


def _row(columns: Sequence[Column], row: Row) -> str:
    marks = "".join(f' data-{text(name)}="{text(value)}"' for name, value in row.marks.items())
    cells = "".join(
        f"<td{_number(column)}{_value(cell)}>{cell.html}</td>"
        for column, cell in zip(columns, row.cells, strict=True)
    )
    return f"<tr{marks}>{cells}</tr>\n"


def _number(column: Column) -> str:
    return ' class="number"' if column.number else ""


def _value(cell: Cell) -> str:
    return "" if cell.value is None else f' data-value="{cell.value:g}"'
