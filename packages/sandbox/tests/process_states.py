"""What the kernel says of a process, for the tests that end some."""

from __future__ import annotations

from pathlib import Path


def alive(pid: int | None) -> bool:
    """Whether a process is there and not a zombie."""
    assert pid is not None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # gone before the open, or after it
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"
