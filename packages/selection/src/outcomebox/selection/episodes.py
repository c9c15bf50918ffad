"""Reads recorded episodes: one try of one (uid, repetition) a row, in files of several kinds.

Only the facts that decide a band are kept in memory; transcripts stay in the files and are looked
at no further than it takes to find the facts. Every row is checked here, so that what follows works
on facts: outcomes are three words, keys are unique, a uid means one version of one task, and all
rows come from one policy, to which difficulty is relative.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.reading.facts import OUTCOME, OUTCOMES, Part, joined
from outcomebox.selection.reading.fields import Fields
from outcomebox.selection.reading.indexes import read_index_file
from outcomebox.selection.reading.jsonl import JsonRows
from outcomebox.selection.reading.oneness import (
    one_of_each,
    one_version,
    policy_rows,
    sorted_rows,
)
from outcomebox.selection.reading.tables import read_parquet
from outcomebox.selection.tasks import TaskInfo, refuse_unicode_twins, tasks_jsonl
from outcomebox.selection.uncollected import uncollected

SCHEMA = pl.Schema(
    {"uid": pl.String(), "repetition": pl.Int64(), "try": pl.Int64(), "outcome": OUTCOME}
)


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read, by what it holds.

    Attributes:
        name: its name without its folder, so that it means the same on every machine.
        sha256: of its bytes, hex.
        rows: rows in it.
    """

    name: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class Episodes:
    """All rows of one policy.

    Attributes:
        rows: columns uid, repetition, try, outcome (`SCHEMA`), sorted by key.
        tasks: the tasks the rows are about, sorted by uid.
        policy: the `policy` field that all rows share; None where rows carry none.
        digest: SHA-256 (hex) over the facts of the rows, see `facts_digest`. The order of rows and
            files does not change it, nor do rows that stand twice.
        torn_lines: last lines cut off by a killed run; they are left out and reported.
        repeated: rows that stood there again, the same; they count once and are reported.
        others: rows of other policies, by the policy's name; they decide nothing.
        files: what was read, sorted.
    """

    rows: pl.DataFrame
    tasks: tuple[TaskInfo, ...]
    policy: Any
    digest: str
    torn_lines: int
    repeated: int = 0
    others: tuple[tuple[str, int], ...] = ()
    files: tuple[InputFile, ...] = ()


@uncollected()
def read_episodes(
    paths: Iterable[Path], *, policy: str | None = None, fields: Fields | None = None
) -> Episodes:
    """Reads files of episodes: JSONL, an index of a run (`*.index`), or Parquet (`*.parquet`).

    Args:
        paths: the files; one named twice is read once.
        policy: whose rows are taken, where there are several: its name, its model, or both.
        fields: where rows have their facts; by default where our own rows have them.

    Returns:
        Their rows together.

    Raises:
        InputError: naming file, line and field, if a row breaks the contract, two rows share a
            (uid, repetition, try) and are not the same, two rows disagree about a task or about
            the policy, or there is no row.
    """
    files = sorted({path.resolve(): path for path in paths}.values())
    fields = fields or Fields()
    parts, told, torn = [], [], 0
    for path in files:
        read, sha256, cut = _read(path, fields)
        parts += read
        torn += cut
        told.append(InputFile(path.name, sha256, sum(part.facts.height for part in read)))
    names = ", ".join(str(path) for path in files) or "episodes"
    facts = joined(parts)
    if not facts.height:
        raise InputError(names, "", "holds no complete row", "Run the probe first")
    facts, chosen, others = policy_rows(facts, parts, policy, fields)
    facts, repeated = one_of_each(sorted_rows(facts), parts)
    tasks = one_version(facts, parts, fields)
    refuse_unicode_twins((task.uid for task in tasks), names)
    rows = facts.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    return Episodes(
        rows=rows,
        tasks=tasks,
        policy=None if chosen is None else json.loads(chosen),
        digest=facts_digest(facts, tasks, chosen),
        torn_lines=torn,
        repeated=repeated,
        others=others,
        files=tuple(sorted(told, key=lambda file: (file.name, file.sha256))),
    )


def _read(path: Path, fields: Fields) -> tuple[list[Part], str, int]:
    """The facts of one file, its SHA-256, and its lines that were cut off."""
    if path.suffix == ".parquet":
        table, sha256 = read_parquet(path, fields)
        return [Part(path, "parquet", table)], sha256, 0
    if path.suffix == ".index":
        frames, torn, sha256 = read_index_file(path)
        return [Part(path, "index", frame) for frame in frames], sha256, torn
    rows = JsonRows(path, fields)
    parts = [Part(path, "rows", frame) for frame in rows.frames() if frame.height]
    return parts, rows.sha256, rows.torn


def facts_digest(rows: pl.DataFrame, tasks: Iterable[TaskInfo], policy: str | None) -> str:
    """What a selection was made from, as one number.

    SHA-256 over the policy as canonical JSON and LF; then each task's listing, sorted by uid, as
    compact JSON (as in a task list) and LF; then the tries, sorted, as rows of four little-endian
    32-bit numbers: place of the task in that list, repetition, try, and 0 for passed, 1 for failed,
    2 for a system error.

    Args:
        rows: columns place, repetition, try, outcome, sorted by the first three.
        tasks: sorted by uid.
        policy: canonical JSON, or None.
    """
    total = hashlib.sha256(f"{policy or 'null'}\n".encode())
    total.update(tasks_jsonl(tasks))
    numbers = np.empty((rows.height, 4), "<i4")
    for column, name in enumerate(("place", "repetition", "try", "outcome")):
        numbers[:, column] = rows[name].to_physical().to_numpy()
    total.update(numbers.data)
    return total.hexdigest()


def find_episode_files(patterns: Iterable[str]) -> tuple[Path, ...]:
    """Expands what a person names episodes by.

    Args:
        patterns: files, folders that hold an `episodes.jsonl`, or globs (`**` goes into folders).

    Returns:
        The files, sorted, each once.

    Raises:
        InputError: naming the first pattern that no file matches.
    """
    found: set[Path] = set()
    for pattern in patterns:
        # Path.glob takes no absolute pattern.
        matches = [_episode_file(Path(name)) for name in glob(pattern, recursive=True)]  # noqa: PTH207
        files = {path for path in matches if path.is_file()}
        if not files:
            raise InputError(
                pattern, "", "matches no file", "Name episodes.jsonl files or folders holding one"
            )
        found |= files
    return tuple(sorted(found))


def _episode_file(path: Path) -> Path:
    return path / "episodes.jsonl" if path.is_dir() else path


__all__ = [
    "OUTCOMES",
    "SCHEMA",
    "Episodes",
    "InputFile",
    "facts_digest",
    "find_episode_files",
    "read_episodes",
    "shown",
]
