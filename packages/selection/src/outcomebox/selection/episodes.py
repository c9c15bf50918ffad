"""Reads recorded episodes: `episodes.jsonl` files, one try of one (uid, repetition) a line.

Only the fields that decide a band are kept in memory; transcripts stay in the files. Every row is
checked here, so that what follows works on facts: outcomes are three words, keys are unique, a uid
means one version of one task, and all rows come from one policy, to which difficulty is relative.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.rowfile import CHECKSUM, Place, parse_row, read_again, read_lines
from outcomebox.selection.tasks import TaskInfo, refuse_unicode_twins, task_info, text_field

OUTCOMES = ("passed", "failed", "system_error")

# Differ between two runs that mean the same; a row's checksum covers them.
_NOT_IN_DIGEST = ("timing", "traffic", CHECKSUM)

_COUNT_LIMIT = 2**31

SCHEMA = pl.Schema(
    [
        ("uid", pl.String()),
        ("repetition", pl.Int64()),
        ("try", pl.Int64()),
        ("outcome", pl.Enum(OUTCOMES)),
    ]
)


class Key(NamedTuple):
    """Names one row. Rows are sorted by it wherever order matters."""

    uid: str
    repetition: int
    attempt_try: int


@dataclass(frozen=True)
class Episodes:
    """All rows of one policy.

    Attributes:
        rows: columns uid, repetition, try, outcome (`SCHEMA`), sorted by key.
        tasks: the tasks the rows are about, sorted by uid.
        policy: the `policy` field that all rows share; None where rows carry none.
        digest: SHA-256 (hex) over the rows sorted by key, each as compact JSON with sorted keys
            and without `timing`, `traffic` and checksum, ended by LF: the digest that a run
            reports too. The order of rows and files does not change it.
        torn_lines: last lines cut off by a killed run; they are left out and reported.
    """

    rows: pl.DataFrame
    tasks: tuple[TaskInfo, ...]
    policy: Any
    digest: str
    torn_lines: int


def _whole_number(row: Mapping[str, Any], name: str, where: str, default: int | None) -> int:
    value = row.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _COUNT_LIMIT:
        raise InputError(
            where, name, f"must be a whole number from 0, found {shown(value)}", "Count from 0"
        )
    return value


def _outcome(row: Mapping[str, Any], where: str) -> str:
    outcome = text_field(row, "verdict.outcome", where)
    if outcome not in OUTCOMES:
        raise InputError(
            where,
            "verdict.outcome",
            f"is {shown(outcome)}",
            f"Use one of {', '.join(OUTCOMES)}",
        )
    if outcome != "system_error" and row.get("error") is not None:
        raise InputError(
            where,
            "error",
            f"is set beside the outcome {outcome!r}, which contradict each other",
            "Record the outcome system_error, or no error",
        )
    return outcome


class _Reader:
    """Collects rows and the facts that must hold across them."""

    def __init__(self) -> None:
        self.places: dict[Key, Place] = {}
        self.outcomes: dict[Key, str] = {}
        self.tasks: dict[str, tuple[TaskInfo, str]] = {}
        self.policy: Any = None
        self.policy_where = ""
        self.torn = 0

    def read(self, path: Path) -> None:
        for place, line in read_lines(path):
            if line.isspace():
                continue
            row = parse_row(line, place.where)
            if row is None:
                self.torn += 1
            else:
                self._add(row, place)

    def _add(self, row: dict[str, Any], place: Place) -> None:
        where = place.where
        task = task_info(row, where, hash_field="versions.task", content_field="versions.content")
        key = Key(
            task.uid,
            _whole_number(row, "repetition", where, None),
            _whole_number(row, "try", where, 0),
        )
        if key in self.places:
            raise InputError(
                where,
                "uid, repetition, try",
                f"({shown(key.uid)}, {key.repetition}, {key.attempt_try}) stands already at "
                f"{self.places[key].where}",
                "Remove one of the two rows, or number the tries",
            )
        self.outcomes[key] = _outcome(row, where)
        self.places[key] = place
        self._same_task(task, where)
        self._same_policy(row.get("policy"), where)

    def _same_task(self, task: TaskInfo, where: str) -> None:
        known, first = self.tasks.setdefault(task.uid, (task, where))
        for field, name in (
            ("hash", "versions.task"),
            ("content", "versions.content"),
            ("domain", "domain"),
            ("family", "family"),
            ("tags", "tags"),
        ):
            old, new = getattr(known, field), getattr(task, field)
            if old != new:
                raise InputError(
                    where,
                    name,
                    f"of {shown(task.uid)} is {shown(new)} here and {shown(old)} at {first}",
                    "Use the episodes of one version of the task",
                )

    def _same_policy(self, policy: Any, where: str) -> None:
        if not self.policy_where:
            self.policy, self.policy_where = policy, where
        elif policy != self.policy:
            raise InputError(
                where,
                "policy",
                f"is {shown(policy)} here and {shown(self.policy)} at {self.policy_where}",
                "Difficulty is relative to one policy: name the episodes of one policy",
            )

    def digest(self, keys: Sequence[Key]) -> str:
        """Second pass: rows are read again in key order, so that no transcript is held."""
        total = hashlib.sha256()
        for row in read_again([self.places[key] for key in keys]):
            kept = {name: value for name, value in row.items() if name not in _NOT_IN_DIGEST}
            total.update(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode())
            total.update(b"\n")
        return total.hexdigest()


def read_episodes(paths: Iterable[Path]) -> Episodes:
    """Reads episode files.

    Args:
        paths: the files; one named twice is read once.

    Returns:
        Their rows together.

    Raises:
        InputError: naming file, line and field, if a row breaks the contract, two rows share a
            (uid, repetition, try), two rows disagree about a task or about the policy, or there is
            no row.
    """
    files = sorted({path.resolve(): path for path in paths}.values())
    reader = _Reader()
    for path in files:
        reader.read(path)
    names = ", ".join(str(path) for path in files) or "episodes"
    if not reader.places:
        raise InputError(names, "", "holds no complete row", "Run the probe first")
    refuse_unicode_twins(reader.tasks, names)
    keys = sorted(reader.places)
    columns = {
        "uid": [key.uid for key in keys],
        "repetition": [key.repetition for key in keys],
        "try": [key.attempt_try for key in keys],
        "outcome": [reader.outcomes[key] for key in keys],
    }
    return Episodes(
        rows=pl.DataFrame(columns, schema=SCHEMA),
        tasks=tuple(reader.tasks[uid][0] for uid in sorted(reader.tasks)),
        policy=reader.policy,
        digest=reader.digest(keys),
        torn_lines=reader.torn,
    )


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
