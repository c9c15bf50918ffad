"""The marks of tasks that an adaptive probe left early: they go wherever their rows go.

How many rows such a task has depends on what they say, so whoever takes the rows without the marks
gets biased rates. `outcomebox-probe` writes the file; here it is only carried on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from outcomebox.rollout.runfolder import RunFolder
from outcomebox.sandbox import InputError


def marks_of(run: RunFolder) -> dict[str, Any] | None:
    """The marks beside a run's rows.

    Args:
        run: The run.

    Returns:
        By uid; None where no adaptive probe made the rows.

    Raises:
        InputError: The file cannot be read, or is no object.
    """
    try:
        marks = json.loads(run.stopped.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error}); restore it", file=run.stopped) from None
    if not isinstance(marks, dict):
        raise InputError("is no object of uids; restore it", file=run.stopped)
    return marks


def marks_together(runs: Iterable[RunFolder]) -> bytes | None:
    """The marks of several runs as one file.

    Args:
        runs: The runs.

    Returns:
        The file; None where no adaptive probe made any of the rows.

    Raises:
        InputError: Marks cannot be read, or two runs left one task in different ways.
    """
    found: dict[str, Any] | None = None
    for run in runs:
        marks = marks_of(run)
        if marks is None:
            continue
        found = {} if found is None else found
        for uid, mark in marks.items():
            if found.setdefault(uid, mark) != mark:
                raise InputError(
                    f"is {mark} here and {found[uid]} in another shard; probe the task in one of "
                    "them",
                    file=run.stopped,
                    task=uid,
                )
    if found is None:
        return None
    return (json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()
