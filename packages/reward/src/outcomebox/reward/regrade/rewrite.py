"""Rows with their new verdicts, in a new file that is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from outcomebox.reward.regrade.again import version
from outcomebox.reward.regrade.outcome import APART, HOLDS, Regraded
from outcomebox.reward.regrade.runfile import EPISODES
from outcomebox.reward.rows import Row
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.task import Task

_GRADER = "outcomebox-reward"


def rewritten(row: Row, one: Regraded, task: Task | None) -> Row:
    """A row as it stands under the present check.

    All fields stay but ``verdict``, ``error`` and the hashes of the task; ``regraded`` keeps what
    they were. A row whose verdict is no longer known becomes a ``system_error`` and says why; one
    of other tasks stays as it is.

    Args:
        row: The row.
        one: What became of it.
        task: Its task as it is now.
    """
    if task is None or (one.left is not None and one.left.cause in APART):
        return row
    versions = row["versions"]
    verdict, error = row["verdict"], row["error"]
    if one.now is not None:
        verdict, error = one.now, one.now["details"].get("error")
    elif one.left is not None and one.left.cause not in HOLDS:
        phase = "judge" if one.left.cause == "needs_judge" else "read"
        error = {"type": one.left.cause, "message": one.left.message, "phase": phase}
        verdict = {"outcome": "system_error", "score": None, "reasons": []}
        verdict["details"] = {"error": error}
    packages = {**(versions.get("packages") or {}), _GRADER: version(_GRADER)}
    former: dict[str, Any] = {
        "verdict": row["verdict"],
        "error": row["error"],
        "task": versions["task"],
        "content": versions.get("content"),
        "grader": (versions.get("packages") or {}).get(_GRADER),
    }
    return {
        **row,
        "verdict": verdict,
        "error": error,
        "versions": {
            **versions,
            "packages": packages,
            "task": task.hash,
            "content": task.content_hash,
        },
        "regraded": former,
    }


@contextmanager
def new_file(given: Path) -> Iterator[BinaryIO]:
    """A file to write, which appears under its name when it is complete.

    Args:
        given: The file, or a folder that is there; then its ``episodes.jsonl``.

    Raises:
        InputError: It is there already, or cannot be written.
    """
    path = given / EPISODES if given.is_dir() else given
    if os.path.lexists(path):
        raise InputError("is there already and is not overwritten; choose another name", file=path)
    try:
        handle, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    temporary = Path(made)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner reads; rows are for the team.
        temporary.chmod(0o666 & ~_umask())
        # A link, not a rename: it fails where somebody else made the file meanwhile.
        os.link(temporary, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
