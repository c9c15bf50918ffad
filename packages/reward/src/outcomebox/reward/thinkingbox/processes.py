"""Where graders come from: forks of a sandbox's warm parent, or plain new processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol, TypeAlias

import anyio
import anyio.abc
from anyio.streams.stapled import StapledByteStream

_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
_LAST_WORDS_S = 2.0


class GraderProcess(Protocol):
    """A process that serves one check."""

    @property
    def stream(self) -> anyio.abc.ByteStream:
        """Bytes to its standard input and from its standard output."""

    async def obituary(self, where: str) -> str:
        """How it ended, for people; ``where`` says what it was doing."""


Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[GraderProcess]]
"""Gives a fresh grader process, which is killed on exit."""


def command() -> tuple[str, str]:
    """The grader's program, to be run with this process's search path."""
    # Not at the top: `python -m` would find the module it is to run imported already.
    from outcomebox.reward.thinkingbox import worker  # noqa: PLC0415

    return sys.executable, str(Path(worker.__file__).resolve())


def search_path() -> tuple[str, ...]:
    """Where this process imports from, as absolute paths: a grader finds the same packages."""
    return tuple(dict.fromkeys(str(Path(entry or ".").resolve()) for entry in sys.path))


class _PlainProcess:
    def __init__(self, process: anyio.abc.Process, stderr: Path) -> None:
        assert process.stdin is not None  # noqa: S101 -- both were asked for
        assert process.stdout is not None  # noqa: S101
        self.stream = StapledByteStream(process.stdin, process.stdout)
        self._process = process
        self._stderr = stderr

    async def obituary(self, where: str) -> str:
        with anyio.move_on_after(_LAST_WORDS_S):
            await self._process.wait()
        status = self._process.returncode
        how = (
            "hung up but still runs"
            if status is None
            else f"was killed by signal {-status}"
            if status < 0
            else f"ended with status {status}"
        )
        words = await anyio.Path(self._stderr).read_text(errors="replace")
        return f"the grader {how} {where}" + (f": {words.strip()[-500:]}" if words.strip() else "")


@asynccontextmanager
async def plain_process(env: Mapping[str, str] | None = None) -> AsyncIterator[GraderProcess]:
    """A grader in a new process of its own, without a sandbox: no warm parent, no isolation.

    Args:
        env: More environment variables.
    """
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    environment |= {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(search_path())}
    async with anyio.TemporaryDirectory(prefix="outcomebox-grader-") as folder:
        stderr = Path(folder) / "stderr.txt"
        python, script = command()
        with stderr.open("wb") as words:
            process = await anyio.open_process(
                [python, "-P", script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                cwd=folder,
                env={**environment, **(env or {})},
                start_new_session=True,
            )
        try:
            yield _PlainProcess(process, stderr)
        finally:
            with anyio.CancelScope(shield=True):
                # Its group: what the check has started goes with it. Popen's own kill would reap
                # the process behind the event loop's back.
                if process.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                await process.aclose()
