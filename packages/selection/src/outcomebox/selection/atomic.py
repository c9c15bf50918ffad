"""Writes a set of files so that no reader meets half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Writes files into a folder: all to temporary names first, then renamed in the order given.

    If anything fails before the renames (no space, no permission), the folder keeps what it had.
    Put the file that vouches for the others (a manifest of their hashes) last.

    Args:
        folder: made if it is not there.
        contents: file name to bytes.

    Returns:
        The paths written, in the order given.

    Raises:
        OSError: if the folder or a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    waiting: list[tuple[Path, Path]] = []
    try:
        for name, content in contents.items():
            handle, made = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
            temporary = Path(made)
            waiting.append((temporary, folder / name))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            # mkstemp makes files that only their owner reads; a pool is for the team.
            temporary.chmod(0o666 & ~_umask())
        for temporary, path in waiting:
            temporary.replace(path)
    finally:
        for temporary, _ in waiting:
            temporary.unlink(missing_ok=True)
    return tuple(path for _, path in waiting)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
