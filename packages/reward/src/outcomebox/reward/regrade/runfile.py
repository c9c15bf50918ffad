"""The file of a run's rows, and what the run itself says about its tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from outcomebox.reward.rows import PlacedRow, placed_rows
from outcomebox.sandbox._yaml import load_yaml
from outcomebox.sandbox.domain import BUNDLED
from outcomebox.sandbox.errors import InputError

EPISODES = "episodes.jsonl"
_SETTINGS = "curation.yaml"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class RunFile:
    """The rows of a run.

    Attributes:
        path: The file.
        lines: Whole lines in it.
        cut: Bytes behind the last whole line, which a killed run left.
        selectors: The tasks that the run was made with, as it says itself; else the bundled ones.
    """

    path: Path
    lines: int
    cut: int
    selectors: tuple[str, ...]

    def rows(self) -> Iterator[PlacedRow]:
        """The rows in the order written, one at a time.

        Raises:
            InputError: A line is damaged, or is no row of an episode.
        """
        for placed in placed_rows(self.path):
            problem = _problem(placed)
            if problem:
                raise InputError(
                    f"line {placed.number} is no row of an episode: {problem}", file=self.path
                )
            yield placed


def open_run(run: Path) -> RunFile:
    """Find the rows of a run.

    Args:
        run: A run's folder, or its file of rows.

    Raises:
        InputError: There is none, it cannot be read or is empty, or its rows record no states.
    """
    path = run / EPISODES if run.is_dir() else run
    lines = end = size = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                lines += chunk.count(b"\n")
                last = chunk.rfind(b"\n")
                end = size + last + 1 if last >= 0 else end
                size += len(chunk)
            file.seek(0)
            first = file.readline()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}; give a run's folder or its {EPISODES}", file=path
        ) from error
    if not lines:
        raise InputError("holds no row, so there is nothing to grade again", file=path)
    _refuse_replay(first, path)
    return RunFile(path, lines, size - end, _selectors(path.with_name(_SETTINGS)))


def _refuse_replay(line: bytes, path: Path) -> None:
    """Refuse rows of a dataset's replay with what they lack, rather than for having no checksum."""
    try:
        row = json.loads(line)
    except ValueError:
        return  # whoever reads the rows says what is wrong with the line
    if isinstance(row, dict) and "checksum" not in row and isinstance(row.get("verdict"), str):
        raise InputError(
            "holds rows of a replay, which record verdicts and no states, so nothing can be "
            "graded again; make the replay again: it costs no model either",
            file=path,
        )


def _selectors(settings: Path) -> tuple[str, ...]:
    """The task sources of a run's settings: names, and paths relative to the settings."""
    if not settings.is_file():
        return BUNDLED
    data = load_yaml(settings)
    sources = data.get("sources") if isinstance(data, dict) else None
    found = sources.get("tasks") if isinstance(sources, dict) else None
    if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
        return BUNDLED
    return tuple(
        os.path.normpath(settings.parent / each) if "/" in each or Path(each).suffix else each
        for each in found
    )


def _problem(placed: PlacedRow) -> str:
    """What a row lacks, or nothing."""
    row = placed.row
    for name, kind in _NEEDED.items():
        if not isinstance(row.get(name), kind) or isinstance(row.get(name), bool):
            return f"{name} is missing or of another kind"
    verdict, versions = row["verdict"], row["versions"]
    if not isinstance(verdict.get("outcome"), str) or not isinstance(verdict.get("reasons"), list):
        return "verdict has no outcome or no reasons"
    if not isinstance(versions.get("task"), str):
        return "versions.task is missing"
    return ""


_NEEDED = {
    "uid": str,
    "repetition": int,
    "try": int,
    "verdict": dict,
    "messages": list,
    "changes": list,
    "schema_changes": list,
    "versions": dict,
}
