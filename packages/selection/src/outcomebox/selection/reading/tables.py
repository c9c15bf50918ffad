"""Reads rows from Parquet: a column a fact, or columns of structs as a row has its fields."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl

from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.reading.facts import COUNT_LIMIT, FACTS, OUTCOMES, UNVERSIONED, canonical
from outcomebox.selection.reading.fields import Fields

_NEEDED = ("uid", "repetition", "outcome")


def read_parquet(path: Path, fields: Fields) -> tuple[pl.DataFrame, str]:
    """Reads a Parquet file.

    A fact is the column of its own name (`uid`, `outcome`, `hash`), or lies where a row has it
    (`verdict.outcome`: a column of that name, or a field of the struct `verdict`). `domain` and
    `family` may be left out where uids have the form `<domain>/<family>/<name>`.

    Args:
        path: the file.
        fields: where rows have their facts.

    Returns:
        Facts as in `FACTS`, `line` being the row from 1, and the file's SHA-256.

    Raises:
        InputError: naming file, column, row and value, if it is no such table.
    """
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        scan = pl.scan_parquet(path, glob=False)
        schema = scan.collect_schema()
        found = {name: _column(name, fields, schema) for name in fields.names}
        for name in _NEEDED:
            if found[name] is None:
                raise InputError(
                    str(path), name, "is no column", f"The columns are {', '.join(schema)}"
                )
        table = scan.select(
            column.alias(name) for name, column in found.items() if column is not None
        ).collect()
    except OSError as error:
        raise InputError(str(path), "", f"cannot be read ({error})", "Check the path") from error
    except pl.exceptions.PolarsError as error:
        first = str(error).split("\n", 1)[0]
        raise InputError(str(path), "", f"is no Parquet file ({first})", "Write it anew") from None
    return _facts(table, path, fields), sha256


def _column(name: str, fields: Fields, schema: pl.Schema) -> pl.Expr | None:
    dotted = fields.name(name)
    if dotted in schema:
        return pl.col(dotted)
    first, *rest = dotted.split(".")
    kind: Any = schema.get(first)
    column = pl.col(first)
    for part in rest:
        inner = {f.name: f.dtype for f in kind.fields} if isinstance(kind, pl.Struct) else {}
        if part not in inner:
            kind = None
            break
        kind, column = inner[part], column.struct.field(part)
    if kind is not None:
        return column
    return pl.col(name) if name in schema else None


def _facts(table: pl.DataFrame, path: Path, fields: Fields) -> pl.DataFrame:
    table = table.with_columns(line=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    kinds = table.schema
    for name in ("uid", "domain", "family", "hash", "content"):
        if name in kinds and kinds[name] not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            raise _wrong(path, name, f"holds {kinds[name]}", "Write a column of texts")
    for name in ("repetition", "try"):
        if name in kinds and not (kinds[name].is_integer() or kinds[name] == pl.Null):
            raise _wrong(path, name, f"holds {kinds[name]}", "Write a column of whole numbers")
    for name in ("uid", "repetition", "try", "domain", "family", "hash"):
        if name not in kinds or (name not in ("uid", "repetition") and fields.foreign):
            continue
        bad = pl.col(name).is_null()
        bad |= (
            ~pl.col(name).is_between(0, COUNT_LIMIT - 1)
            if kinds[name].is_integer()
            else (pl.col(name).cast(pl.String) == "")
        )
        _refuse_rows(table, bad, name, path)
    outcome = _outcome(table, path, fields)
    uid = pl.col("uid").cast(pl.String)
    parts = uid.str.splitn("/", 3)
    native = parts.struct.field("field_2").is_not_null()

    def text(name: str, otherwise: pl.Expr) -> pl.Expr:
        if name not in kinds:
            return otherwise
        # Texts that rows do not tell are made for all rows, so only where one does not tell them.
        told = pl.col(name).cast(pl.String)
        return pl.coalesce(told, otherwise) if table[name].null_count() else told

    none = pl.lit("")
    return table.select(
        uid="uid",
        repetition="repetition",
        **{"try": pl.col("try").fill_null(0) if "try" in kinds else pl.lit(0)},
        outcome=outcome,
        domain=text("domain", pl.when(native).then(parts.struct.field("field_0")).otherwise(none)),
        family=text("family", pl.when(native).then(parts.struct.field("field_1")).otherwise(none)),
        tags=_mapped(table, "tags", path, "[]"),
        hash=text("hash", pl.lit(UNVERSIONED) + uid),
        content=pl.col("content") if "content" in kinds else pl.lit(None, pl.String),
        policy=_mapped(table, "policy", path, None),
        line="line",
    ).cast(FACTS)


def _outcome(table: pl.DataFrame, path: Path, fields: Fields) -> pl.Expr:
    kind, broken = table.schema["outcome"], pl.lit(False)
    if "system_error" in table.schema:
        column = pl.col("system_error")
        broken = (
            column.fill_null(False)
            if table.schema["system_error"] == pl.Boolean
            else column.is_not_null()
        )
    if kind == pl.Boolean:
        word = pl.when("outcome").then(pl.lit("passed")).otherwise(pl.lit("failed"))
        no_verdict = broken | pl.col("outcome").is_null()
        if not fields.foreign:
            _refuse_rows(table, pl.col("outcome").is_null() & ~broken, "outcome", path)
        return pl.when(no_verdict).then(pl.lit("system_error")).otherwise(word)
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        raise _wrong(path, "outcome", f"holds {kind}", f"Write {', '.join(OUTCOMES)}")
    word = pl.col("outcome").cast(pl.String)
    _refuse_rows(table, ~word.is_in(OUTCOMES).fill_null(False), "outcome", path)
    if "system_error" in table.schema:
        _refuse_rows(table, broken & (word != "system_error"), "system_error", path)
    return word


def _mapped(table: pl.DataFrame, name: str, path: Path, absent: str | None) -> pl.Expr:
    """A column of lists, structs or JSON texts as canonical JSON, each distinct value once."""
    if name not in table.schema or table.schema[name] == pl.Null:
        return pl.lit(absent, pl.String)
    each = table.select(pl.col(name).unique()).to_series()
    values = each.to_list()
    texts = []
    for value in values:
        if value is None:
            texts.append(absent)
        elif name == "tags":
            if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
                raise _wrong(path, name, f"holds {shown(value)}", "Write lists of texts")
            texts.append(json.dumps(value, ensure_ascii=False) if value else "[]")
        else:
            texts.append(canonical(_plain(value)))
    if len(values) == 1:
        return pl.lit(texts[0], pl.String)
    codes = table.join(
        pl.DataFrame({name: each, "_text": pl.Series(texts, dtype=pl.String)}),
        on=name,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return pl.lit(codes["_text"])


def _plain(value: object) -> object:
    """A policy that was written as JSON text is the object; a name is a name."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _refuse_rows(table: pl.DataFrame, bad: pl.Expr, name: str, path: Path) -> None:
    first = table.lazy().filter(bad).select("line", value=pl.col(name)).head(1).collect()
    if first.height:
        line, value = first.row(0)
        raise InputError(f"{path}:{line}", name, f"is {shown(value)}", "Mend that row of the table")


def _wrong(path: Path, name: str, problem: str, mend: str) -> InputError:
    return InputError(str(path), name, problem, mend)
