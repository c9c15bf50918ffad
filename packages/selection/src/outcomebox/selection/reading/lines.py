"""A file in pieces that end at line ends, and the hash of the whole on the way."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import numpy as np

from outcomebox.selection.errors import InputError

# Large enough for vectors, small enough that ten of them fit into the memory of a laptop.
CHUNK = 8 << 20
Found = TypeVar("Found")
_LF = 10
_THREADS = 2


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some whole lines of a file; the last one may lack its LF.

    Attributes:
        path: the file.
        line: number of the first line, from 1.
        data: the bytes.
        ends: how many LF they hold.
    """

    path: Path
    line: int
    data: bytes
    ends: int

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Number and bytes of each line, its LF with it; split at LF only."""
        start, number = 0, self.line
        while start < len(self.data):
            end = self.data.find(b"\n", start) + 1 or len(self.data)
            yield number, self.data[start:end]
            start, number = end, number + 1


class Chunks:
    """The pieces of a file, each once.

    Args:
        path: the file.
        size: bytes of a piece, at least; it goes on to the end of its last line.

    Attributes:
        sha256: of the bytes so far, of the file when all pieces were taken; hex.

    Raises:
        InputError: the file cannot be read.
    """

    def __init__(self, path: Path, size: int = CHUNK) -> None:
        self._path, self._size = path, size
        self._hash = hashlib.sha256()
        # Hashing lets other threads run, so it costs no time of its own where there are two cores.
        self._pool = ThreadPoolExecutor(1)
        self._hashed: Future[None] | None = None

    def __enter__(self) -> Self:
        """The pieces themselves."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the hashing."""
        self._pool.shutdown(cancel_futures=True)

    @property
    def sha256(self) -> str:
        """The hash of what was taken."""
        if self._hashed is not None:
            self._hashed.result()
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[Chunk]:
        """Takes the pieces."""
        line, start = 1, 0
        try:
            with self._path.open("rb") as file:
                while True:
                    # The end of the last line is looked for first, so that no byte is copied twice.
                    file.seek(start + self._size)
                    length = self._size + len(file.readline())
                    file.seek(start)
                    if not (data := file.read(length)):
                        break
                    start += len(data)
                    self._hashed = self._pool.submit(self._hash.update, data)
                    # Numpy counts three times as fast as bytes.count.
                    ends = int(np.count_nonzero(np.frombuffer(data, np.uint8) == _LF))
                    yield Chunk(self._path, line, data, ends)
                    line += ends
        except OSError as error:
            raise InputError(
                str(self._path), "", f"cannot be read ({error.strerror})", "Check the path"
            ) from error


def worked(
    chunks: Chunks, work: Callable[[Chunk], Found], *, first_alone: bool = False
) -> Iterator[Found]:
    """Works on the pieces of a file, two at a time; what is found comes in their order.

    Polars and the checksums let other threads run, so that two pieces take one's time.

    Args:
        chunks: the pieces.
        work: what is done with each.
        first_alone: whether the others wait for the first one.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        waiting: deque[Future[Found]] = deque()
        try:
            for chunk in chunks:
                waiting.append(pool.submit(work, chunk))
                if len(waiting) > _THREADS or (first_alone and chunk.line == 1):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def lines_at(path: Path, numbers: set[int]) -> dict[int, bytes]:
    """Some lines of a file by number, without the white space around them."""
    found: dict[int, bytes] = {}
    with Chunks(path) as chunks:
        for chunk in chunks:
            last = chunk.line + chunk.ends
            if any(chunk.line <= number <= last for number in numbers):
                found |= {n: line.strip() for n, line in chunk.lines() if n in numbers}
    return found
