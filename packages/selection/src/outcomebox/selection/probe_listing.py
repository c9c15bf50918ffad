"""The tasks of a run as a listing with their texts, kept beside its rows as `tasks.jsonl`.

Rows hold neither tasks that were not tried nor what tasks ask. A selection reads the listing to
find near copies of what it must not select.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from outcomebox.sandbox import Task
from outcomebox.selection.atomic import write_files
from outcomebox.selection.content import Content, content_of
from outcomebox.selection.inputs import LISTING
from outcomebox.selection.tasks import TaskInfo


def task_listing(tasks: Iterable[Task]) -> list[TaskInfo]:
    """The tasks as a selection lists them."""
    return [
        TaskInfo(task.uid, task.domain, task.family, task.tags, task.hash, task.content_hash)
        for task in tasks
    ]


def task_contents(tasks: Iterable[Task]) -> Mapping[str, Content]:
    """What the tasks say, by uid."""
    return {task.uid: content_of(*_said(task)) for task in tasks}


def save_listing(tasks: Iterable[Task], folder: Path) -> None:
    """Writes the listing.

    Args:
        tasks: the tasks of the run.
        folder: the run's folder.

    Raises:
        OSError: it cannot be written.
    """
    lines = []
    for task, info in zip(tasks, task_listing(tasks), strict=True):
        text, state = _said(task)
        plain = {
            "uid": info.uid,
            "domain": info.domain,
            "family": info.family,
            "tags": info.tags,
            "hash": info.hash,
            "content": info.content,
            "text": text,
            "state": state,
        }
        lines.append(orjson.dumps(plain) + b"\n")
    write_files(folder, {LISTING: b"".join(sorted(lines))})


def _said(task: Task) -> tuple[list[Any], dict[str, Any]]:
    """Text and state, as `content_of` takes them and as a task file has them."""
    plain = task.model_dump(
        mode="json", include={"query", "user_context", "init"}, exclude_defaults=True, by_alias=True
    )
    return [plain["query"], plain.get("user_context", {})], plain.get("init", {})
