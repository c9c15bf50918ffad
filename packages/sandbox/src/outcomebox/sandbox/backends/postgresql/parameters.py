"""Statements with ``?`` parameters, as SQLite takes them, in the form that psycopg takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

# Whatever a question mark or a percent sign may stand in without being one of the statement's own.
# Block comments nest, so only their start is looked for here.
_TOKEN = re.compile(
    r"""
      (?P<escape>(?<![\w$])[eE]'(?:[^'\\]|''|\\.)*'?)
    | (?P<text>'(?:[^']|'')*'?)
    | (?P<name>"(?:[^"]|"")*"?)
    | (?P<dollar>(?<![\w$])\$(?P<tag>(?:[A-Za-z_\u0080-\uffff][\w]*)?)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<line>--[^\r\n]*)
    | (?P<block>/\*)
    | (?P<operator>\?\?)
    | (?P<numbered>\?(?P<number>[0-9]+))
    | (?P<mark>\?)
    | (?P<percent>%)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


def translate(sql: str, parameters: Sequence[object]) -> tuple[str, tuple[object, ...]]:
    """A statement and its parameters for psycopg.

    ``?`` is the next parameter and ``?N`` the N-th from 1, but not in quotes or comments; ``??`` is
    PostgreSQL's operator ``?``.

    Raises:
        ValueError: There are fewer or more parameters than the statement has places for.
    """
    text, order = _translated(sql)
    wanted = max(order, default=0)
    if wanted != len(parameters):
        raise ValueError(f"the statement has {wanted} parameters, and {len(parameters)} were given")
    return text, tuple(parameters[number - 1] for number in order)


@lru_cache(maxsize=1024)
def _translated(sql: str) -> tuple[str, tuple[int, ...]]:
    parts: list[str] = []
    order: list[int] = []
    greatest = 0
    place = 0
    while (found := _TOKEN.search(sql, place)) is not None:
        parts.append(sql[place : found.start()])
        place = found.end()
        kind = found.lastgroup
        if kind in ("mark", "numbered", "number"):
            # As in SQLite, a plain mark is one above the greatest number before it.
            number = int(found["number"]) if found["number"] else greatest + 1
            if number < 1:
                raise ValueError(f"{found[0]} is no parameter: they are numbered from 1")
            greatest = max(greatest, number)
            order.append(number)
            parts.append("%s")
            continue
        if found["operator"]:
            parts.append("?")
            continue
        if found["block"]:
            place = _end_of_comment(sql, place)
        parts.append(sql[found.start() : place].replace("%", "%%"))
    parts.append(sql[place:])
    return "".join(parts), tuple(order)


def _end_of_comment(sql: str, place: int) -> int:
    depth = 1
    while depth and (found := _COMMENT.search(sql, place)) is not None:
        depth += 1 if found[0] == "/*" else -1
        place = found.end()
    return place if depth == 0 else len(sql)
