"""What selection needs to know about a task, and the list of tasks as a file.

Selection never loads a task: it works on this listing, which episode rows carry as well. A list as
a file (`tasks.jsonl`, one object a line) adds what rows cannot say: tasks that no episode tried.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from outcomebox.selection.errors import InputError, shown

_ONE_A_LINE = "Write one object a line"
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """The listing of one task.

    Attributes:
        uid: unique, stable name; compared by code point.
        domain: the domain the task belongs to.
        family: the template or theme the task was made from.
        tags: labels, in the task's own order.
        hash: digest of the task, name and all: another hash is another version of the task.
        content: digest of the task without its name. Tasks of equal content are one task twice;
            by default the hash, so that only what is wholly equal counts as such.
    """

    uid: str
    domain: str
    family: str
    tags: tuple[str, ...]
    hash: str
    content: str = ""

    def __post_init__(self) -> None:
        """Fills in the default of `content`."""
        if not self.content:
            object.__setattr__(self, "content", self.hash)


def text_value(value: Any, name: str, where: str) -> str:
    """Checks a text that has to be there.

    Args:
        value: what was found.
        name: dotted name of its field.
        where: file and line for the error.

    Returns:
        The text.

    Raises:
        InputError: if it is missing, empty, not text, or holds half a character.
    """
    if not isinstance(value, str) or not value:
        raise InputError(
            where, name, f"must be non-empty text, found {shown(value)}", "Write it as a string"
        )
    if not value.isascii() and _HALF_CHARACTER.search(value):
        raise InputError(
            where, name, f"holds half a character: {value!a}", "Write whole characters"
        )
    return value


def task_info(row: Mapping[str, Any], where: str) -> TaskInfo:
    """Reads a task's listing from one object.

    Args:
        row: object with `uid`, `domain`, `family`, `hash`, and optional `tags` and `content`.
        where: file and line for the error.

    Raises:
        InputError: naming the field that is missing or of another type.
    """
    tags = row.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(
            where, "tags", f"must be a list of texts, found {shown(tags)}", "Write [] for none"
        )
    content = row.get("content")
    return TaskInfo(
        uid=text_value(row.get("uid"), "uid", where),
        domain=text_value(row.get("domain"), "domain", where),
        family=text_value(row.get("family"), "family", where),
        tags=tuple(tags),
        hash=text_value(row.get("hash"), "hash", where),
        content="" if content is None else text_value(content, "content", where),
    )


def refuse_unicode_twins(uids: Iterable[str], where: str) -> None:
    """Refuses ids that differ in Unicode form only, since people cannot tell them apart.

    Args:
        uids: distinct ids.
        where: file for the error.

    Raises:
        InputError: naming the two ids with their escapes.
    """
    seen: dict[str, str] = {}
    for uid in sorted(uids):
        twin = seen.setdefault(unicodedata.normalize("NFC", uid), uid)
        if twin != uid:
            raise InputError(
                where,
                "uid",
                f"{twin!a} and {uid!a} differ in Unicode form only",
                "Write both in one form (NFC) or give them different names",
            )


def read_tasks(path: Path) -> tuple[TaskInfo, ...]:
    """Reads a task list: one JSON object a line, split at LF only.

    Args:
        path: the file.

    Returns:
        The tasks sorted by uid; a line that repeats another one exactly counts once.

    Raises:
        InputError: naming the line, if it is no such object, or if two lines disagree about a uid.
    """
    found: dict[str, TaskInfo] = {}
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(
            str(path), "", f"cannot be read ({error.strerror})", "Check the path"
        ) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(where, "", f"is not JSON ({error})", _ONE_A_LINE) from None
        if not isinstance(row, dict):
            raise InputError(where, "", f"is not an object: {shown(row)}", _ONE_A_LINE)
        task = task_info(row, where)
        if found.setdefault(task.uid, task) != task:
            raise InputError(
                where, "uid", f"{shown(task.uid)} stands twice and differs", "Keep one of the two"
            )
    if not found:
        raise InputError(str(path), "", "holds no task", "List at least one task")
    refuse_unicode_twins(found, str(path))
    return tuple(found[uid] for uid in sorted(found))


def tasks_jsonl(tasks: Iterable[TaskInfo]) -> bytes:
    """Writes a task list in the form that `read_tasks` reads, sorted by uid."""
    ordered = sorted(tasks, key=lambda task: task.uid)
    # A mapping takes less than half of the time that orjson takes for a record with slots.
    return b"".join(
        orjson.dumps(
            {
                "uid": task.uid,
                "domain": task.domain,
                "family": task.family,
                "tags": task.tags,
                "hash": task.hash,
                "content": task.content,
            }
        )
        + b"\n"
        for task in ordered
    )


def tasks_digest(tasks: Iterable[TaskInfo]) -> str:
    """SHA-256 (hex) of the list, whatever its order was."""
    return hashlib.sha256(tasks_jsonl(tasks)).hexdigest()
