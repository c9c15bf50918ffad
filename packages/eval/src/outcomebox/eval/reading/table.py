"""Plain tables: CSV, Parquet, and JSONL of flat objects, of uid, repetition, passed and more."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from outcomebox.eval.reading.fields import Fields
from outcomebox.eval.reading.frame import Rows, Usage
from outcomebox.eval.reading.lines import Lines
from outcomebox.eval.reading.values import (
    Place,
    count,
    mapping,
    optional_count,
    optional_flag,
    optional_number,
    optional_text,
    text,
    texts,
)
from outcomebox.eval.results import NO_DOMAIN, OUTCOMES, Source
from outcomebox.sandbox.errors import InputError

TEXTS = ("family", "finish_reason", "error_phase", "error_type", "policy", "task_hash")
COUNTS = ("turns", "tool_calls", "tool_errors")
FLAGS = ("last_tool_error", "wrote", "stopped")
NUMBERS = ("seconds", "cost")
TOKENS = {
    "input": "input_tokens",
    "cached": "cached_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}
COLUMNS = (
    *("uid", "repetition", "try", "passed", "outcome", "system_error", "domain", "tags", "reasons"),
    *("score", "usage", "model", "versions_hash", "schema"),
    *TEXTS,
    *COUNTS,
    *FLAGS,
    *NUMBERS,
    *TOKENS.values(),
)
FIELDS: Mapping[str, tuple[str, ...]] = {column: (column,) for column in COLUMNS}
_WORDS = {"true": True, "1": True, "false": False, "0": False}
_NEEDED = ("uid", "repetition")


def read_table(path: Path, into: Rows, chosen: Mapping[str, str]) -> Source:
    """Read a table.

    Args:
        path: A file whose name ends in ``.csv``, ``.parquet`` or ``.jsonl``.
        into: Where rows go.
        chosen: Column of ours -> name of theirs.

    Raises:
        InputError: A row cannot be used.
    """
    fields = Fields(FIELDS, chosen)
    versions = _OneSchema()
    if path.suffix in {".csv", ".parquet"}:
        data = _bytes(path)
        found = _csv(path, data, fields) if path.suffix == ".csv" else _parquet(path, data, fields)
        number = 0
        for row, place in found:
            into.add(_columns(row, fields, place, versions), place)
            number += 1
        return Source(str(path), "table", hashlib.sha256(data).hexdigest(), number)
    lines = Lines(path)
    for row, place in lines:
        into.add(_columns(row, fields, place, versions), place)
    return Source(str(path), "table", lines.sha256, lines.rows, lines.torn)


class _OneSchema:
    """Rows that name the version of their form must all name one."""

    def __init__(self) -> None:
        self._first: tuple[Any, Place] | None = None

    def check(self, value: Any, place: Place) -> None:
        if self._first is None:
            self._first = (value, place)
        elif value != self._first[0]:
            was, at = self._first
            raise place.refuse(
                f"is {value!r} here and {was!r} at {at.what} {at.number}; rows of two versions are "
                "not mixed: convert the older ones",
                field="schema",
            )


def outcome_of_flags(passed: bool | None, broken: bool | None, field: str, place: Place) -> str:
    """The outcome that two flags give.

    Raises:
        InputError: Neither says anything, or a row both passed and broke.
    """
    if broken:
        if passed:
            raise place.refuse(
                "says passed beside a system error, which contradict each other; record one",
                field=field,
                value=passed,
            )
        return "system_error"
    if passed is None:
        raise place.refuse(
            "is missing, and there is no system error either; record the outcome of the attempt",
            field=field,
        )
    return "passed" if passed else "failed"


def _columns(
    row: Mapping[str, Any], fields: Fields, place: Place, versions: _OneSchema
) -> dict[str, Any]:
    def get(column: str) -> Any:
        return fields.get(row, column, place)

    versions.check(get("schema"), place)
    attempt = get("try")
    score = get("score")
    return {
        "uid": text(get("uid"), fields.name("uid"), place),
        "repetition": count(get("repetition"), fields.name("repetition"), place),
        "try": 0 if attempt is None else count(attempt, fields.name("try"), place),
        "outcome": _outcome(row, fields, place),
        "domain": optional_text(get("domain"), fields.name("domain"), place) or NO_DOMAIN,
        "tags": texts(get("tags"), fields.name("tags"), place),
        "reasons": None
        if get("reasons") is None
        else texts(get("reasons"), fields.name("reasons"), place),
        "score": optional_number(score, fields.name("score"), place, least=float("-inf")),
        "usage": _usage(row, fields, place),
        "versions_hash": optional_text(get("versions_hash"), "versions_hash", place),
        **{name: optional_text(get(name), fields.name(name), place) for name in TEXTS},
        **{name: optional_count(get(name), fields.name(name), place) for name in COUNTS},
        **{name: optional_flag(get(name), fields.name(name), place) for name in FLAGS},
        **{name: optional_number(get(name), fields.name(name), place) for name in NUMBERS},
    }


def _outcome(row: Mapping[str, Any], fields: Fields, place: Place) -> str:
    told = fields.get(row, "outcome", place)
    passed = optional_flag(fields.get(row, "passed", place), fields.name("passed"), place)
    name = fields.name("system_error")
    broken = optional_flag(fields.get(row, "system_error", place), name, place)
    if told is None:
        return outcome_of_flags(passed, broken, fields.name("passed"), place)
    if not isinstance(told, str) or told not in OUTCOMES:
        raise place.refuse(
            f"must be one of {', '.join(OUTCOMES)}; mend the row",
            field=fields.name("outcome"),
            value=told,
        )
    if (passed is not None or broken is not None) and told != outcome_of_flags(
        passed, broken, fields.name("passed"), place
    ):
        raise place.refuse(
            "contradicts passed or system_error of the same row; record one of them",
            field=fields.name("outcome"),
            value=told,
        )
    return told


def _usage(row: Mapping[str, Any], fields: Fields, place: Place) -> list[Usage]:
    told = fields.get(row, "usage", place)
    if told is not None:
        if not isinstance(told, list):
            raise place.refuse("must be a list; mend the row", field="usage", value=told)
        return [_role(mapping(each, "usage", place), place) for each in told]
    found = {
        ours: optional_count(fields.get(row, theirs, place), fields.name(theirs), place)
        for ours, theirs in TOKENS.items()
    }
    if all(value is None for value in found.values()):
        return []
    model = optional_text(fields.get(row, "model", place), fields.name("model"), place)
    return [
        Usage(
            role="policy",
            model=model,
            input=found["input"],
            cached=found["cached"],
            output=found["output"],
            reasoning=found["reasoning"],
        )
    ]


def _role(told: Mapping[str, Any], place: Place) -> Usage:
    return Usage(
        role=text(told.get("role"), "usage.role", place),
        model=optional_text(told.get("model"), "usage.model", place),
        input=optional_count(told.get("input"), "usage.input", place),
        cached=optional_count(told.get("cached"), "usage.cached", place),
        output=optional_count(told.get("output"), "usage.output", place),
        reasoning=optional_count(told.get("reasoning"), "usage.reasoning", place),
    )


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    if not data.strip():
        raise InputError("is empty; write it again, or name another file", file=path)
    return data


def _needs(path: Path, columns: list[str], fields: Fields) -> None:
    for column in _NEEDED:
        if fields.name(column) not in columns:
            raise InputError(
                f"there is no such column; there are {', '.join(columns) or 'none'}: name it with "
                f"--field {column}=NAME",
                file=path,
                field=fields.name(column),
            )


def _csv(path: Path, data: bytes, fields: Fields) -> Iterator[tuple[dict[str, Any], Place]]:
    try:
        lines = io.StringIO(data.decode("utf-8-sig"), newline="")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 ({error}); save it as UTF-8", file=path) from None
    reader = csv.reader(lines, strict=True)
    try:
        head = next(reader, [])
        _needs(path, head, fields)
        if len(set(head)) < len(head):
            raise InputError("two columns have one name; rename one", file=path, value=head)
        for cells in reader:
            place = Place(path, reader.line_num)
            if not cells:
                continue
            if len(cells) != len(head):
                raise place.refuse(
                    f"has {len(cells)} fields where the head has {len(head)}; it was cut off or "
                    "holds an unquoted comma: mend it"
                )
            yield _typed(dict(zip(head, cells, strict=True)), fields, place), place
    except csv.Error as error:
        raise Place(path, reader.line_num).refuse(f"is not CSV ({error}); mend it") from None


def _typed(cells: Mapping[str, str], fields: Fields, place: Place) -> dict[str, Any]:
    """A row of CSV, which has no types: each column is read as what it is."""
    row: dict[str, Any] = {name: cell for name, cell in cells.items() if cell != ""}
    for column in ("passed", "system_error", *FLAGS):
        name = fields.name(column)
        if name in row:
            cell = row[name].strip().lower()
            if cell not in _WORDS:
                raise place.refuse("must be true, false, 1 or 0", field=name, value=row[name])
            row[name] = _WORDS[cell]
    for column in ("repetition", "try", *COUNTS, *TOKENS.values()):
        _convert(row, fields.name(column), int, "must be a whole number", place)
    for column in ("score", *NUMBERS):
        _convert(row, fields.name(column), float, "must be a number", place)
    for column in ("tags", "reasons"):
        name = fields.name(column)
        if name in row:
            row[name] = [each.strip() for each in row[name].split(";") if each.strip()]
    return row


def _convert(
    row: dict[str, Any], name: str, kind: type[int | float], words: str, place: Place
) -> None:
    if name not in row:
        return
    try:
        row[name] = kind(row[name])
    except ValueError:
        raise place.refuse(f"{words}; mend the row", field=name, value=row[name]) from None


def _parquet(path: Path, data: bytes, fields: Fields) -> Iterator[tuple[dict[str, Any], Place]]:
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except pl.exceptions.PolarsError as error:
        raise InputError(f"is no Parquet file ({error}); write it again", file=path) from None
    _needs(path, frame.columns, fields)
    wanted = {fields.name(column).partition(".")[0] for column in COLUMNS}
    kept = frame.select(name for name in frame.columns if name in wanted)
    for number, row in enumerate(kept.iter_rows(named=True), 1):
        yield row, Place(path, number, "row")
