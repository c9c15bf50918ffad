"""A frozen clock for servers that read the real one, where libfaketime is installed."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_SHARED = Path("/dev/shm")  # noqa: S108 -- where the C library keeps what is shared by name

_PLACES = (
    "/usr/lib/*/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
    "/usr/local/lib/faketime/libfaketime.so.1",
    "/opt/*/lib/faketime/libfaketime.so.1",
)


@functools.cache
def faketime_library() -> Path | None:
    """Where libfaketime is, if it is anywhere usual."""
    for place in _PLACES:
        for path in sorted(Path("/").glob(place.lstrip("/"))):
            return path
    return None


@dataclass(frozen=True, slots=True)
class FrozenClock:
    """What makes a program's clock stand still.

    Attributes:
        env: Its environment variables.
        files: What was made for it and is to be removed after it.
    """

    env: Mapping[str, str]
    files: tuple[Path, ...]


def frozen_clock(moment: str) -> FrozenClock | None:
    """A clock that stands still; None without libfaketime.

    Only the wall clock stands still: time-outs and event loops go by the monotonic one.

    Args:
        moment: ISO 8601 with an offset or ``Z``.

    Raises:
        OSError: No shared memory.
    """
    library = faketime_library()
    if library is None:
        return None
    # The library keeps a page for all processes under one clock. Made here, it is one that goes
    # with the server; made by the library, it would be one a process, left behind by each.
    name = f"outcomebox-clock-{secrets.token_hex(8)}"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sem_open.restype = ctypes.c_void_p
    if not libc.sem_open(f"/{name}".encode(), os.O_CREAT | os.O_EXCL, 0o600, 1):
        raise OSError(ctypes.get_errno(), "no semaphore for the frozen clock")
    page, semaphore = _SHARED / name, _SHARED / f"sem.{name}"
    page.write_bytes(bytes(mmap.PAGESIZE))
    page.chmod(0o600)
    env = {
        "LD_PRELOAD": str(library),
        "FAKETIME": str(int(datetime.fromisoformat(moment).timestamp())),
        "FAKETIME_FMT": "%s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",  # its name in releases before 0.9.9
        # Its mend for old C libraries makes timed waits of threads, those for the interpreter's
        # lock among them, return at once on new ones: sessions would spin.
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        "NO_FAKE_STAT": "1",  # files keep their true times
        "FAKETIME_SHARED": f"/{name} /{name}",
    }
    return FrozenClock(env, (page, semaphore))
