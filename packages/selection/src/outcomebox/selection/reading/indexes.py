"""Reads the index that a run's store keeps beside its rows: one short line a row.

::

    <offset> <length> <repetition> <try> <p|f|s> <versions> <seal> <uid as JSON>

The index says nothing of domain, family and policy. The first two follow from uids of the form
`<domain>/<family>/<name>`, and else from a task list; the policy is that of the first row beside
it. Its seals can be checked only by who has the rows: what decides is the file of rows, and the
index is for counting fast.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import polars as pl

from outcomebox.selection.errors import InputError
from outcomebox.selection.reading.facts import (
    FACTS,
    MARK,
    Rows,
    canonical,
    domain_and_family,
)
from outcomebox.selection.reading.lines import CHUNK, Chunk, Chunks, worked
from outcomebox.selection.rowfile import parse_row

_LINE = re.compile(
    rb"\d+ \d+ (\d{1,10}) (\d{1,10}) ([pfs]) ([\w=-]{8}) [0-9a-f]{8} (\".*\")", re.ASCII
)
# A JSON text that says what stands between its quotes.
_PLAIN = r'^"[^"\\\x00-\x1f]+"$'
_COLUMNS = ("offset", "length", "repetition", "try", "letter", "mark", "seal", "uid")
_OUTCOMES = {"p": "passed", "f": "failed", "s": "system_error"}
# Lines of an index are short, so that as many rows as elsewhere stand in a smaller piece.
_PIECE = CHUNK // 2
_MEND = "Name the run's episodes.jsonl, from which its index is made again"


def read_index_file(path: Path) -> tuple[list[pl.DataFrame], int, str]:
    """Reads an index.

    Args:
        path: the file.

    Returns:
        Facts as in `FACTS`, how many lines were cut off (0 or 1), and the file's SHA-256.

    Raises:
        InputError: naming file and line, if a line is none of an index.
    """
    policy = _policy_beside(path)
    frames, torn = [], 0
    with Chunks(path, _PIECE) as chunks:
        for read, cut in worked(chunks, lambda chunk: _whole_lines(chunk, policy)):
            frames += read
            torn += cut
        return frames, torn, chunks.sha256


def _whole_lines(chunk: Chunk, policy: str | None) -> tuple[list[pl.DataFrame], int]:
    """The facts of a piece, and how many lines of it were cut off."""
    data = chunk.data[: chunk.data.rfind(b"\n") + 1]
    frames = _chunk(Chunk(chunk.path, chunk.line, data, chunk.ends), policy) if data else []
    return frames, int(len(data) < len(chunk.data))


def _policy_beside(path: Path) -> str | None:
    rows = path.with_suffix(".jsonl")
    if not rows.is_file():
        return None
    with rows.open("rb") as file:
        row = parse_row(file.readline(), f"{rows}:1")
    return None if row is None else canonical(row.get("policy"))


def _chunk(chunk: Chunk, policy: str | None) -> list[pl.DataFrame]:
    count = chunk.ends
    try:
        lines = pl.read_lines(io.BytesIO(chunk.data)).to_series()
        cut = pl.read_csv(
            io.BytesIO(chunk.data),
            has_header=False,
            separator=" ",
            quote_char=None,
            schema={
                name: pl.Categorical() if name in ("letter", "mark", "uid") else pl.String
                for name in _COLUMNS
            },
            truncate_ragged_lines=True,
        )
    except pl.exceptions.PolarsError:
        return [_one_by_one(chunk.path, chunk.line, list(chunk.data.split(b"\n")[:-1]), policy)]
    if not lines.len() == cut.height == count:
        return [_one_by_one(chunk.path, chunk.line, list(chunk.data.split(b"\n")[:-1]), policy)]
    number = pl.int_range(chunk.line, chunk.line + pl.len(), dtype=pl.Int64)
    cut = cut.with_columns(
        pl.col("repetition", "try").cast(pl.Int64, strict=False), line=number, text=lines
    )
    # Whatever is written otherwise than it would be again is looked at by itself.
    cut = cut.with_columns(
        fits=(pl.concat_str(*_COLUMNS, separator=" ") == pl.col("text")).fill_null(False)
        & pl.col("mark").cast(pl.String).str.len_bytes().eq(8)
        & pl.col("seal").str.len_bytes().eq(8)
        & pl.col("letter").cast(pl.String).is_in(list(_OUTCOMES))
    )
    uids = _uids(cut["uid"])
    whole = cut.lazy().filter("fits").join(uids.lazy(), on="uid", how="inner")
    frames = [
        whole.select(
            uid=pl.col("name"),
            repetition="repetition",
            **{"try": pl.col("try")},
            outcome=pl.col("letter").cast(pl.String).replace_strict(_OUTCOMES),
            domain="domain",
            family="family",
            tags=pl.lit("[]"),
            hash=pl.lit(MARK) + pl.col("mark").cast(pl.String),
            content=pl.lit(None, pl.String),
            policy=pl.lit(policy, pl.String),
            line="line",
        )
        .cast(FACTS)
        .collect()
    ]
    if frames[0].height < count:
        rest = cut.join(frames[0].select("line"), on="line", how="anti").sort("line")
        for line, text in rest.select("line", "text").iter_rows():
            frames.append(_one_by_one(chunk.path, line, [text.encode()], policy))
    return frames


def _uids(texts: pl.Series) -> pl.DataFrame:
    """The uids of an index with what they say; those that are no JSON text are left out."""
    each = pl.DataFrame({"uid": texts.unique().drop_nulls()})
    each = each.with_columns(name=pl.col("uid").cast(pl.String))
    plain = each["name"].str.contains(_PLAIN)
    names = each.filter(plain).with_columns(pl.col("name").str.slice(1).str.strip_suffix('"'))
    odd: dict[str, list[str]] = {"uid": [], "name": []}
    for text in each.filter(~plain)["name"]:
        try:
            uid = json.loads(text)
        except ValueError:
            continue
        if isinstance(uid, str) and uid and "\\u" not in text:
            odd["uid"].append(text)
            odd["name"].append(uid)
    names = pl.concat([names, pl.DataFrame(odd, schema=names.schema)])
    parts = [
        pl.col("name").str.splitn("/", 3).struct.field(f"field_{number}") for number in range(3)
    ]
    native = pl.all_horizontal(part.str.len_bytes() > 0 for part in parts).fill_null(value=False)
    return names.select(
        "uid",
        pl.col("name").cast(FACTS["uid"]),
        domain=pl.when(native).then(parts[0]).otherwise(pl.lit("")).cast(FACTS["domain"]),
        family=pl.when(native).then(parts[1]).otherwise(pl.lit("")).cast(FACTS["family"]),
    )


def _one_by_one(path: Path, first: int, lines: list[bytes], policy: str | None) -> pl.DataFrame:
    rows = Rows()
    for number, line in enumerate(lines, first):
        where = f"{path}:{number}"
        found = _LINE.fullmatch(line)
        try:
            uid = json.loads(found[5]) if found else None
        except ValueError:
            uid = None
        if found is None or not uid or any("\ud800" <= letter <= "\udfff" for letter in uid):
            raise InputError(where, "", "is no line of an index", _MEND)
        repetition, attempt = int(found[1]), int(found[2])
        domain, family = domain_and_family(uid)
        outcome, mark = _OUTCOMES[found[3].decode()], MARK + found[4].decode()
        rows.add(
            uid, repetition, attempt, outcome, domain, family, "[]", mark, None, policy, number
        )
    return rows.frame()
