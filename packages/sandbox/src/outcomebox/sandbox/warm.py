"""The client of a warm parent: starts one per tool server and asks it for forked sessions."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from outcomebox.sandbox import forkserver
from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.errors import SessionOpenError

# What a tool server may inherit: never keys, tokens or proxies of whoever runs it.
_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
START_DEADLINE_S = 120.0


@dataclass
class ServerProcess:
    """One forked session's process.

    Attributes:
        pid: Its process id, also the id of its process group.
        ended: Set once it has ended and been reaped.
        status: Its exit status then; negative for a signal's number.
    """

    pid: int
    ended: anyio.Event = field(default_factory=anyio.Event)
    status: int | None = None


class WarmServer:
    """A running warm parent. Made by :func:`warm_server`."""

    def __init__(
        self, control: anyio.abc.UNIXSocketStream, process: subprocess.Popen[bytes]
    ) -> None:
        self._control = control
        self._process = process
        self._sending = anyio.Lock()
        self._next_id = 0
        self._opened: dict[int, _Opened] = {}
        self._live: dict[int, ServerProcess] = {}
        self._lost: str | None = None

    @property
    def pid(self) -> int:
        """Process id of the warm parent itself."""
        return self._process.pid

    async def fork(
        self, *, env: Mapping[str, str], cwd: Path, stdio: int, stderr: int
    ) -> ServerProcess:
        """A fresh session process whose stdin and stdout are ``stdio``.

        The descriptors stay the caller's to close.

        Raises:
            SessionOpenError: The warm parent is gone or could not fork.
        """
        number = self._next_id
        self._next_id += 1
        opened = self._opened[number] = _Opened()
        order = {"op": "open", "id": number, "env": dict(env), "cwd": str(cwd), "descriptors": 2}
        await self.send(order, [stdio, stderr])
        await opened.done.wait()
        if opened.process is None:
            raise SessionOpenError(f"no session process: {opened.error}")
        return opened.process

    async def kill(self, process: ServerProcess) -> None:
        """End a session's process group and wait until it is gone."""
        if not process.ended.is_set() and self._lost is None:
            try:
                await self.send({"op": "kill", "pid": process.pid})
            except SessionOpenError:
                return  # the warm parent's end is its children's end
        await process.ended.wait()

    async def send(self, order: Mapping[str, Any], descriptors: list[int] | None = None) -> None:
        """Send an order, with some descriptors."""
        data = json.dumps(order).encode() + b"\n"
        try:
            async with self._sending:
                if self._lost is not None:
                    raise SessionOpenError(self._lost)
                if descriptors:
                    await self._control.send_fds(data, descriptors)
                else:
                    await self._control.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise SessionOpenError("the warm parent of the tool server is gone") from error

    async def listen(self, lines: AsyncIterator[dict[str, Any]]) -> None:
        """Take what the warm parent reports, until it ends."""
        async for message in lines:
            if "exit" in message:
                process = self._live.pop(message["exit"])
                process.status = message["status"]
                process.ended.set()
                continue
            opened = self._opened.pop(message["id"])
            if "pid" in message:
                opened.process = self._live[message["pid"]] = ServerProcess(message["pid"])
            else:
                opened.error = message["error"]
            opened.done.set()
        self._lost = "the warm parent of the tool server ended"
        for opened in self._opened.values():
            opened.error = self._lost
            opened.done.set()
        for process in self._live.values():
            process.ended.set()


@dataclass
class _Opened:
    done: anyio.Event = field(default_factory=anyio.Event)
    process: ServerProcess | None = None
    error: str | None = None


@asynccontextmanager
async def warm_server(domain: Domain, root: Path) -> AsyncIterator[WarmServer]:
    """Start the warm parent of a domain's server; it ends, with all its children, on exit.

    Args:
        domain: Whose server to import.
        root: Folder of the sessions. The warm parent removes it when this process is gone, so that
            even a killed runner leaves no file behind.

    Raises:
        SessionOpenError: The server cannot be imported, or not be forked.
    """
    server = domain.settings.server
    ours, theirs = socket.socketpair()
    try:
        env = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        # Sets and dicts of strings iterate alike in every run of one seed.
        env |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", **server.env}
        # Blocking for the moment of a fork, once a run.
        process = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-s", "-P", str(Path(forkserver.__file__)), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=env,
            cwd=root,
            start_new_session=True,
        )
    finally:
        theirs.close()
    search_path = _search_path()
    try:
        control = await anyio.abc.UNIXSocketStream.from_socket(ours)
        async with control:
            warm = WarmServer(control, process)
            lines = _messages(control)
            order = {
                "op": "import",
                "path": search_path,
                "module": server.module,
                "file": None if server.file is None else str(domain.server_file.resolve()),
                "root": str(root),
            }
            await warm.send(order)
            await _await_ready(lines, domain)
            async with anyio.create_task_group() as group:
                group.start_soon(warm.listen, lines)
                try:
                    yield warm
                finally:
                    # The closed socket tells the warm parent to end its children and itself.
                    group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_end, process)


def _search_path() -> list[str]:
    """Where this process imports from, as absolute paths: the server finds the same packages."""
    return [str(Path(entry or ".").resolve()) for entry in sys.path]


async def _await_ready(lines: AsyncIterator[dict[str, Any]], domain: Domain) -> None:
    try:
        with anyio.fail_after(START_DEADLINE_S):
            message = await anext(lines)
    except TimeoutError:
        raise SessionOpenError(
            f"the tool server of {domain.name} took over {START_DEADLINE_S:.0f} s to import"
        ) from None
    except StopAsyncIteration:
        raise SessionOpenError(
            f"the tool server of {domain.name} ended while it was imported"
        ) from None
    if not message["ready"]:
        raise SessionOpenError(
            f"the tool server of {domain.name} cannot be imported:\n{message['error'].rstrip()}"
        )
    if message["threads"] > 1:
        raise SessionOpenError(
            f"the tool server of {domain.name} has {message['threads']} threads after its import, "
            "so it cannot be forked safely; start threads when it serves, not when it is imported"
        )


async def _messages(control: anyio.abc.UNIXSocketStream) -> AsyncIterator[dict[str, Any]]:
    data = b""
    while True:
        try:
            data += await control.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return
        *lines, data = data.split(b"\n")
        for line in lines:
            yield json.loads(line)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
