"""An `expect` block as YAML, in the style of the bundled tasks: one row an entry, at most 100 wide.

The same block gives the same bytes. Rows that the file has already keep their own text.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outcomebox.reward.derive.present import Place
from outcomebox.reward.derive.rows import RowDraft

WIDTH = 100
_OPS = ("insert", "update", "delete")
_PLAIN = re.compile(r"[A-Za-z][\w.@/+-]*(?: [\w.@/+-]+)*", re.ASCII)
_MARK = re.compile(r"\$[a-z_]+", re.ASCII)
# What some YAML reader or other takes for something else than text.
_TAKEN = re.compile(r"null|true|false|yes|no|on|off|y|n|[.]?(inf|nan)", re.IGNORECASE)
# JSON leaves these as they are, and YAML does not take them so, or reads them as a line's end.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")

Texts = Mapping[Place, Sequence[str]]
"""Place of a row in the present block -> its lines, the first indented like its dash."""


def render_block(
    rows: Sequence[RowDraft],
    *,
    indent: int = 4,
    places: Mapping[int, Place] | None = None,
    texts: Texts | None = None,
) -> list[str]:
    """The lines of an `expect` block.

    Args:
        rows: What it says, tables in the order of their first row.
        indent: Columns before ``expect``.
        places: index of a row -> its place in the present block, where that says the same.
        texts: The lines of the present block's rows.
    """
    margin = " " * indent
    if not rows:
        return [f"{margin}expect: {{}}"]
    lines = [f"{margin}expect:"]
    for table in dict.fromkeys(row.table for row in rows):
        lines.append(f"{margin}  {write_scalar(table)}:")
        for op in _OPS:
            mine = [(n, row) for n, row in enumerate(rows) if (row.table, row.op) == (table, op)]
            if not mine:
                continue
            lines.append(f"{margin}    {op}:")
            for number, row in mine:
                place = (places or {}).get(number)
                if place is not None and place in (texts or {}):
                    lines += _moved((texts or {})[place], indent + 6)
                else:
                    lines += _row_lines(row, indent + 6)
    return lines


def write_value(data: Any) -> str:
    """A value, a matcher or a row on one line."""
    if isinstance(data, Mapping):
        return "{" + ", ".join(_members(data)) + "}"
    if isinstance(data, (list, tuple)):
        return "[" + ", ".join(write_value(item) for item in data) + "]"
    return write_scalar(data)


def write_scalar(value: Any) -> str:
    """A plain value; text without quotes only where no reader can take it for anything else."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and not _TAKEN.fullmatch(value):
        return value
    if "\\" in value and "'" not in value and value.isprintable():
        return f"'{value}'"  # a pattern is easier to read without doubled backslashes
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda mark: f"\\u{ord(mark[0]):04x}", quoted)


def _members(data: Mapping[str, Any]) -> list[str]:
    return [
        f"{name if _MARK.fullmatch(name) else write_scalar(name)}: {write_value(item)}"
        for name, item in data.items()
    ]


def _row_lines(row: RowDraft, indent: int) -> Iterator[str]:
    margin = " " * indent
    for column, cell in row.cells.items():
        if cell.advice is not None:
            note = f"review {column}: {cell.advice.note}"
            yield from textwrap.wrap(
                note,
                WIDTH,
                initial_indent=f"{margin}# ",
                subsequent_indent=f"{margin}# ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for choice in cell.advice.choices:
                yield f"{margin}#   {write_scalar(column)}: {write_value(choice)}"
    plain = row.plain()
    single = f"{margin}- {write_value(plain)}"
    if len(single) <= WIDTH:
        yield single
    elif row.op == "insert":
        yield from _wrapped(f"{margin}- {{", _members(plain))
    else:
        for number, (name, members) in enumerate(plain.items()):
            start = f"{margin}{'  ' if number else '- '}{name}: {{"
            yield from _wrapped(start, _members(members))


def _wrapped(start: str, members: Sequence[str]) -> Iterator[str]:
    """A flow mapping over several lines, broken between its members."""
    line, margin = start, " " * len(start)
    for number, member in enumerate(members):
        end = "}" if number == len(members) - 1 else ","
        if number and len(line) + 1 + len(member) + 1 > WIDTH:
            yield line
            line = margin + member + end
        else:
            line += (" " if number else "") + member + end
    yield line


def _moved(lines: Sequence[str], indent: int) -> Iterator[str]:
    """A row's own lines, with its dash in another column where the rows around it stand there."""
    dash = next(line for line in lines if line.lstrip().startswith("-"))
    shift = indent - (len(dash) - len(dash.lstrip()))
    for line in lines:
        if shift >= 0 or not line[:-shift].strip():
            yield (" " * shift + line if shift >= 0 else line[-shift:]).rstrip()
        else:
            yield line.strip()
