"""New files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outcomebox.sandbox import InputError


def refuse_existing(path: Path) -> None:
    """See that there is no such file yet.

    Raises:
        InputError: There is.
    """
    if os.path.lexists(path):
        raise InputError("is there already and is not overwritten; choose another name", file=path)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file to write under another name, which gets its own when it is complete and on the disk.

    Args:
        path: The file.

    Raises:
        InputError: It is there already, or cannot be written.
    """
    refuse_existing(path)
    try:
        handle, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    temporary = Path(made)
    try:
        yield temporary
        os.fsync(handle)
        # mkstemp makes files that only their owner reads; these are for the team.
        os.fchmod(handle, 0o666 & ~_umask())
        # A link, not a rename: it fails where somebody else made the file meanwhile.
        os.link(temporary, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
