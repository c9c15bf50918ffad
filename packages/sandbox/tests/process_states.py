"""What the kernel says of a process, for the tests that end some."""

from __future__ import annotations

import os
from pathlib import Path


def alive(pid: int | None) -> bool:
    """Whether a process is there and not a zombie."""
    assert pid is not None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # gone before the open, or after it
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def descendants(pid: int | None = None) -> set[int]:
    """Process ids of all that a process, this one by default, has started, directly or not."""
    found: set[int] = set()
    todo = [os.getpid() if pid is None else pid]
    while todo:
        for task in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            try:
                children = {int(child) for child in task.read_text().split()}
            except OSError:
                continue
            todo += children - found
            found |= children
    return found
