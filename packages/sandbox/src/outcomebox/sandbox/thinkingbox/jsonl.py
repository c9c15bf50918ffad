"""Hydrated rows: one JSON object a line, agent and scenario inside, as the format's tools write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.thinkingbox.dataset import validated
from outcomebox.sandbox.thinkingbox.task import ThinkingBoxTask
from outcomebox.sandbox.thinkingbox.yaml11 import read_text


def hydrate_jsonl(file: Path) -> tuple[ThinkingBoxTask, ...]:
    """The tasks of a file of hydrated rows, in its order; rows tagged ``skip`` are kept.

    Rows hold no names of agent and scenario of their own: those come from the row's ``metadata``.

    Raises:
        InputError: A line is not such a row, or a uid stands twice.
    """
    tasks: dict[str, ThinkingBoxTask] = {}
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{file}:{number}"
        task = validated(ThinkingBoxTask, _row(line, where), file=where)
        if task.uid in tasks:
            message = "this uid stands in an earlier line too; take one of the two out"
            raise InputError(message, file=where, task=task.uid)
        tasks[task.uid] = task
    return tuple(tasks.values())


def dump_jsonl(tasks: Iterable[ThinkingBoxTask]) -> str:
    """Rows that :func:`hydrate_jsonl` reads back as the same tasks, each line ended."""
    return "".join(f"{json.dumps(task.model_dump(mode='json'))}\n" for task in tasks)


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a line of JSON: {error}; mend it", file=where) from error
    if not isinstance(row, dict):
        raise InputError("must be a JSON object with the task's fields", file=where, value=row)
    metadata = row.get("metadata")
    for part in ("agent", "scenario"):
        given = row.get(part)
        name = metadata.get(part) if isinstance(metadata, dict) else None
        if isinstance(given, dict):
            row[part] = {**given, "name": name if isinstance(name, str) else ""}
    return row


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
