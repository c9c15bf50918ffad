"""The facts of a row that a selection is made from, and the table that holds them.

A row is read by one function, :func:`add_row`, which says what is wrong with it. The fast ways of
reading (`shape`, `sealed`, `tables`, `indexes`) give the same facts, or leave the row to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.reading.fields import Fields
from outcomebox.selection.tasks import text_value

OUTCOMES = ("passed", "failed", "system_error")
OUTCOME = pl.Enum(OUTCOMES)
COUNT_LIMIT = 2**31

# Texts that stand in many rows are kept once: a row costs about 50 bytes.
FACTS = pl.Schema(
    {
        "uid": pl.Categorical(),
        "repetition": pl.Int64(),
        "try": pl.Int64(),
        "outcome": OUTCOME,
        "domain": pl.Categorical(),
        "family": pl.Categorical(),
        "tags": pl.Categorical(),  # a JSON list
        "hash": pl.Categorical(),
        "content": pl.Categorical(),  # null where the row has none
        "policy": pl.Categorical(),  # canonical JSON; null where the row has none
        "line": pl.Int64(),
    }
)

_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))

# A task of which the rows tell no version: it is compared with no other.
UNVERSIONED = "unversioned:"
# What an index tells of the version of a task.
MARK = "mark:"


class Part(NamedTuple):
    """Facts of some lines of one file.

    Attributes:
        path: the file.
        kind: `rows`, `index` or `parquet`.
        facts: columns as in `FACTS`, `line` from 1.
    """

    path: Path
    kind: str
    facts: pl.DataFrame


def comparable(version: str) -> bool:
    """Whether a task's hash is one that another can be compared with."""
    return not version.startswith((UNVERSIONED, MARK))


def canonical(policy: Any) -> str | None:
    """A policy's description as JSON that is equal for equal descriptions; None for none."""
    if policy is None:
        return None
    return _CANONICAL.encode(policy)


def domain_and_family(uid: str) -> tuple[str, str]:
    """Domain and family of a uid `<domain>/<family>/<name>`; empty where it is no such uid."""
    parts = uid.split("/", 2)
    return (parts[0], parts[1]) if len(parts) == 3 and all(parts) else ("", "")


class Rows:
    """Facts that are collected row by row."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in FACTS}

    def __len__(self) -> int:
        """Rows so far."""
        return len(self._columns["line"])

    def add(self, *values: Any) -> None:
        """Adds a row, its values in the order of `FACTS`."""
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)

    def frame(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self._columns, schema=FACTS)


def add_row(row: Mapping[str, Any], fields: Fields, where: str, line: int, into: Rows) -> None:
    """Reads one row.

    Args:
        row: the object, or as much of it as has all fields.
        fields: where it has them.
        where: file and line, for an error.
        line: number of the line.
        into: where the facts go.

    Raises:
        InputError: naming the field that breaks the contract.
    """
    uid = text_value(fields.get(row, "uid"), fields.name("uid"), where)
    repetition = _count(fields.get(row, "repetition"), fields.name("repetition"), where)
    given = fields.get(row, "try", 0)
    if given is None and fields.foreign:
        given = 0
    attempt = _count(given, fields.name("try"), where)
    found: dict[str, str] = {}
    for name in ("domain", "family", "hash"):
        value = fields.get(row, name)
        if value is None and fields.foreign:
            found[name] = ""
        else:
            found[name] = text_value(value, fields.name(name), where)
    content = fields.get(row, "content")
    if content is not None:
        content = text_value(content, fields.name("content"), where)
    into.add(
        uid,
        repetition,
        attempt,
        fields.outcome(row, where),
        found["domain"] or domain_and_family(uid)[0],
        found["family"] or domain_and_family(uid)[1],
        tags_text(fields.get(row, "tags", []), fields.name("tags"), where),
        found["hash"] or UNVERSIONED + uid,
        content,
        canonical(fields.get(row, "policy")),
        line,
    )


def tags_text(tags: Any, name: str, where: str) -> str:
    """A row's tags as a JSON list.

    Raises:
        InputError: they are no list of texts.
    """
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(
            where, name, f"must be a list of texts, found {shown(tags)}", "Write [] for none"
        )
    return json.dumps(tags, ensure_ascii=False) if tags else "[]"


def _count(value: Any, name: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < COUNT_LIMIT:
        raise InputError(
            where, name, f"must be a whole number from 0, found {shown(value)}", "Count from 0"
        )
    return value


def joined(parts: Sequence[Part]) -> pl.DataFrame:
    """The facts of all parts as one table, with the number of each row's part as `part`."""
    empty = pl.DataFrame(schema={**FACTS, "part": pl.Int32()})
    numbered = (
        part.facts.with_columns(part=pl.lit(number, pl.Int32)) for number, part in enumerate(parts)
    )
    return pl.concat([empty, *numbered])
