"""A live process of a session: its stdio as one stream, and how it ended."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.abc

from outcomebox.sandbox.stream import SocketStream
from outcomebox.sandbox.supervised import Isolation, ServerProcess, SupervisedServer

_LAST_WORDS_S = 2.0


@dataclass(frozen=True)
class Process:
    """A process whose standard input and output are one stream.

    Attributes:
        stream: Bytes to its standard input, and from its standard output.
        isolation: How it is kept apart.
        folder: Its working folder, gone when it ends.
        what: What messages call it.
    """

    stream: anyio.abc.ByteStream
    isolation: Isolation
    folder: Path
    what: str
    _process: ServerProcess
    _server: SupervisedServer

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU it has used; 0 until it has ended."""
        return self._process.cpu_s

    async def kill(self) -> None:
        """End it, with whatever it has started, and wait until it is gone."""
        await self._server.kill(self._process)

    async def obituary(self, where: str) -> str:
        """How it ended, with its last words; waits a moment for an end that is under way.

        Args:
            where: What it was doing, such as ``in tool get_order``.
        """
        with anyio.move_on_after(_LAST_WORDS_S):
            await self._process.ended.wait()
        status = self._process.status
        how = (
            "hung up but still runs"
            if not self._process.ended.is_set()
            else f"was killed by signal {-status}"
            if status is not None and status < 0
            else f"ended with status {status}"
        )
        try:
            words = (self.folder / "stderr.txt").read_text(errors="replace").strip()[-500:]
        except OSError:
            words = ""
        text = f"{self.what} {how} {where}" + (f": {words}" if words else "")
        return self.placeless(text)

    def placeless(self, text: str) -> str:
        """A message without the process's own folder, so that equal runs leave equal rows."""
        return text.replace(str(self.folder), "<session>")


@asynccontextmanager
async def open_process(
    server: SupervisedServer,
    folder: Path,
    *,
    seed: int,
    env: Mapping[str, str],
    cwd: Path | None = None,
    note: Path | None = None,
    what: str = "the tool server",
) -> AsyncIterator[Process]:
    """A fresh process of a supervised server; killed on exit.

    Args:
        server: Its supervisor.
        folder: A folder of its own, which must exist.
        seed: Seed of its ``random``, where it is Python's.
        env: More environment variables.
        cwd: Where it stands; ``folder`` without it.
        note: File in which to note the modules it imports.
        what: What messages call it.

    Raises:
        SessionOpenError: There is no process.
    """
    ours, theirs = socket.socketpair()
    try:
        with (folder / "stderr.txt").open("wb") as stderr:
            process = await server.open(
                env=env,
                cwd=cwd or folder,
                seed=seed,
                stdio=theirs.fileno(),
                stderr=stderr.fileno(),
                note=note,
            )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    try:
        async with await SocketStream.of(ours) as stream:
            yield Process(stream, server.isolation, folder, what, process, server)
    finally:
        with anyio.CancelScope(shield=True):
            await server.kill(process)
