"""A file that only grows, by whole pieces."""

from __future__ import annotations

import os
from pathlib import Path

from outcomebox.sandbox import InputError


class Appended:
    """A file that is appended to by one writer.

    Args:
        path: The file; made if it is not there.

    Attributes:
        path: The file.
        descriptor: The open file.
        end: Offset of the byte behind the last whole piece.

    Raises:
        InputError: It cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        new = not path.exists()
        try:
            self.descriptor = os.open(path, flags, 0o644)
            if new:
                _flush_folder(path.parent)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=path) from error
        self.end = os.fstat(self.descriptor).st_size

    def cut(self, end: int) -> None:
        """Take out what stands behind an offset.

        Raises:
            InputError: It cannot be written.
        """
        try:
            if end != self.end:
                os.ftruncate(self.descriptor, end)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self.path) from error
        self.end = end

    def add(self, piece: bytes) -> None:
        """Append a piece; it is in the file whole when this returns, and not at all if it raises.

        Raises:
            InputError: It cannot be written, or the file has changed by another hand.
        """
        size = os.fstat(self.descriptor).st_size
        if size != self.end:
            raise InputError(
                f"has {size} bytes where this process left {self.end}: another process has written "
                "it; stop both, look at it with `outcomebox-rollout verify`, and start one again",
                file=self.path,
            )
        left = memoryview(piece)
        try:
            while left:
                left = left[os.write(self.descriptor, left) :]
        except OSError as error:
            os.ftruncate(self.descriptor, self.end)
            raise InputError(
                f"cannot be written: {error.strerror}; what is there is whole, and the same "
                "command goes on from it",
                file=self.path,
            ) from error
        self.end += len(piece)

    def flush(self) -> None:
        """See that it is on the disk."""
        os.fdatasync(self.descriptor)


def _flush_folder(folder: Path) -> None:
    """See that a new file's name is on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
