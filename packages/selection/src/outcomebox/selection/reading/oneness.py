"""What must be one over all files: the row of a key, the version of a task, the policy."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.reading.facts import Part
from outcomebox.selection.reading.fields import Fields
from outcomebox.selection.reading.lines import lines_at
from outcomebox.selection.tasks import TaskInfo

_KEY = ("place", "repetition", "try")
_LARGEST = 2**62
_LISTING = ("uid", "domain", "family", "tags", "hash", "content")


def policy_label(policy: Any) -> str:
    """A short name of a policy: its `name` and `model`, or the value itself."""
    if isinstance(policy, dict):
        parts = [policy[key] for key in ("name", "model") if policy.get(key)]
        return " ".join(str(part) for part in parts) or shown(policy)
    return policy if isinstance(policy, str) else "that the rows do not name"


def policy_rows(
    facts: pl.DataFrame, parts: Sequence[Part], wanted: str | None, fields: Fields
) -> tuple[pl.DataFrame, str | None, tuple[tuple[str, int], ...]]:
    """The rows of one policy.

    Args:
        facts: all rows, with the number of their part.
        parts: the parts.
        wanted: the policy's name, its model, or both; None where there is one policy alone.
        fields: where rows have their facts.

    Returns:
        Its rows, its canonical JSON, and how many rows others have, by their names.

    Raises:
        InputError: there are several policies and none is named, or the name fits none or several.
    """
    counts = facts.group_by("policy").len().select(pl.col("policy").cast(pl.String), "len")
    found: dict[str | None, int] = dict(counts.iter_rows())
    if wanted is None:
        if len(found) > 1:
            _refuse_second_policy(facts, parts, fields)
        return facts, next(iter(found)), ()
    plain = {text: None if text is None else json.loads(text) for text in found}
    fits = [text for text in found if wanted in _names(plain[text], text)]
    if len(fits) != 1:
        names = sorted({policy_label(policy) for policy in plain.values()})
        how = f"fits {len(fits)} policies" if fits else "is no policy of the rows"
        raise InputError(
            "settings",
            "sources.policy",
            f"{shown(wanted)} {how}",
            f"Name one of {', '.join(names)}",
        )
    others: dict[str, int] = defaultdict(int)
    for text, rows in found.items():
        if text != fits[0]:
            others[policy_label(plain[text])] += rows
    mine = facts.filter(pl.col("policy") == fits[0])
    return mine, fits[0], tuple(sorted(others.items()))


def _names(policy: Any, text: str | None) -> set[Any]:
    own = {policy.get("name"), policy.get("model")} if isinstance(policy, dict) else set()
    return {policy_label(policy), text, *own}


def _refuse_second_policy(facts: pl.DataFrame, parts: Sequence[Part], fields: Fields) -> None:
    firsts = (
        facts.lazy()
        .sort("part", "line")
        .group_by("policy", maintain_order=True)
        .agg(pl.col("part", "line").first())
        .select(pl.col("policy").cast(pl.String), "part", "line")
        .head(2)
        .collect()
    )
    (one, *first), (other, *second) = firsts.rows()
    raise InputError(
        _where(parts, *second),
        fields.name("policy"),
        f"is {_policy(other)} here and {_policy(one)} at {_where(parts, *first)}",
        "Difficulty is relative to one policy: name the episodes of one policy, or the policy with "
        "--policy",
    )


def _policy(text: str | None) -> str:
    return "null" if text is None else shown(json.loads(text))


def _where(parts: Sequence[Part], part: int, line: int) -> str:
    return f"{parts[part].path}:{line}"


def sorted_rows(facts: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of their keys, uids by code point, with the uid's place as `place`.

    Rows of one key stay in the order of files and lines.
    """
    # Numbers are sorted in place of texts and of three columns: a tenth of the time.
    uids = facts["uid"].unique()
    order = uids.cast(pl.String).arg_sort()
    codes = facts["uid"].to_physical().to_numpy()
    place = np.empty(int(uids.to_physical().max()) + 1, np.int64)  # type: ignore[arg-type]
    place[uids.to_physical().to_numpy()[order.to_numpy()]] = np.arange(len(order))
    places = place[codes]
    facts = facts.with_columns(place=pl.Series(places))
    repetition, attempt = facts["repetition"].to_numpy(), facts["try"].to_numpy()
    repetitions, attempts = int(repetition.max()) + 1, int(attempt.max()) + 1
    if len(order) * repetitions * attempts < _LARGEST:
        key = (places * repetitions + repetition) * attempts + attempt
        if bool(np.all(key[1:] >= key[:-1])):
            return facts
        return facts[np.argsort(key, kind="stable")]
    return facts.sort("place", "repetition", "try", maintain_order=True)


def one_of_each(facts: pl.DataFrame, parts: Sequence[Part]) -> tuple[pl.DataFrame, int]:
    """Leaves out rows that stand there again.

    A row that stands twice byte for byte was copied, or its file was named by two ways; it counts
    once. Two rows of one key that differ in anything are two attempts under one name.

    Args:
        facts: what `sorted_rows` gave, of one policy.
        parts: the parts.

    Returns:
        One row a key, and how many were left out.

    Raises:
        InputError: naming the key and both places, if two rows of one key differ.
    """
    key = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in _KEY)
    same = facts.select(key.fill_null(False)).to_series()
    if not same.any():
        return facts, 0
    again = facts.filter(same | same.shift(-1, fill_value=False)).sort("part", "line")
    texts = _texts(again, parts)
    first: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    compared = ("outcome", *_LISTING[1:])
    told = again.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    for row in told.iter_rows(named=True):
        name = row["place"], row["repetition"], row["try"]
        place = parts[row["part"]].path, row["line"]
        said = tuple(row[name] for name in compared), texts.get(place)
        known, where = first.setdefault(name, (said, place))
        if known[0] != said[0] or (None not in (known[1], said[1]) and known[1] != said[1]):
            raise InputError(
                f"{place[0]}:{place[1]}",
                "uid, repetition, try",
                f"({shown(row['uid'])}, {row['repetition']}, {row['try']}) stands already at "
                f"{where[0]}:{where[1]}, and the two differ",
                "Remove one of the two rows, or number the tries",
            )
    return facts.filter(~same), int(same.sum())


def _texts(rows: pl.DataFrame, parts: Sequence[Part]) -> dict[tuple[Path, int], bytes]:
    """The lines of some rows, where their files have lines."""
    wanted: dict[Path, set[int]] = defaultdict(set)
    for part, line in rows.select("part", "line").iter_rows():
        if parts[part].kind == "rows":
            wanted[parts[part].path].add(line)
    return {
        (path, line): text
        for path, numbers in wanted.items()
        for line, text in lines_at(path, numbers).items()
    }


def one_version(facts: pl.DataFrame, parts: Sequence[Part], fields: Fields) -> tuple[TaskInfo, ...]:
    """The tasks that rows are about.

    Args:
        facts: what `one_of_each` gave.
        parts: the parts.
        fields: where rows have their facts.

    Returns:
        The tasks, sorted by uid.

    Raises:
        InputError: two rows disagree about a task.
    """
    # Rows are sorted, so a task's rows stand together.
    new = facts.select(
        uid=pl.col("place") != pl.col("place").shift(),
        **{name: pl.col(name).ne_missing(pl.col(name).shift()) for name in _LISTING[1:]},
    )
    first = new["uid"].fill_null(True)
    other = new.select(pl.any_horizontal(_LISTING[1:])).to_series() & ~first
    if other.any():
        _refuse_second_version(facts, facts["place"][int(other.arg_max() or 0)], parts, fields)
    listing = facts.filter(first).select(pl.col(_LISTING).cast(pl.String))
    known = {text: tuple(json.loads(text)) for text in listing["tags"].unique()}
    return tuple(
        TaskInfo(uid, domain, family, known[tags], version, content or version)
        for uid, domain, family, tags, version, content in listing.iter_rows()
    )


def _refuse_second_version(
    facts: pl.DataFrame, place: int, parts: Sequence[Part], fields: Fields
) -> None:
    rows = facts.filter(pl.col("place") == place).sort("part", "line")
    told = rows.with_columns(pl.col(_LISTING).cast(pl.String))
    first = told.row(0, named=True)
    second = next(
        row
        for row in told.iter_rows(named=True)
        if any(row[name] != first[name] for name in _LISTING)
    )
    name = next(n for n in ("hash", "content", *_LISTING[1:4]) if first[n] != second[n])
    old, new = (json.loads(r[name]) if name == "tags" else r[name] for r in (first, second))
    raise InputError(
        _where(parts, second["part"], second["line"]),
        fields.name(name),
        f"of {shown(first['uid'])} is {shown(new)} here and {shown(old)} at "
        f"{_where(parts, first['part'], first['line'])}",
        "Use the episodes of one version of the task",
    )
