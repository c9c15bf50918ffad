"""The client of a supervisor: starts one per kind of tool server and gets processes from it."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from outcomebox.sandbox import supervisor
from outcomebox.sandbox.errors import SessionOpenError
from outcomebox.sandbox.launch import environment, interpreter, load_order
from outcomebox.sandbox.servers import Mode, ServerSpec

START_DEADLINE_S = 120.0


@dataclass
class ServerProcess:
    """One session's process.

    Attributes:
        pid: Its process id, also the id of its process group.
        ended: Set once it has ended and been reaped.
        status: Its exit status then; negative for a signal's number.
        cpu_s: Seconds of CPU it has then used, those of its own children that it waited for too.
    """

    pid: int
    ended: anyio.Event = field(default_factory=anyio.Event)
    status: int | None = None
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Isolation:
    """How sessions of a server are kept apart.

    Attributes:
        mode: How they come to be.
        network: ``loopback`` if they see no network but a loopback of their kind's own, else
            ``host``.
        processes: Whether each is the first process of a namespace, so that nothing outlives it.
        clock: The frozen moment, or ``real``.
    """

    mode: Mode
    network: str = "host"
    processes: bool = False
    clock: str = "real"

    def to_json(self) -> dict[str, Any]:
        """As a row holds it."""
        return {
            "mode": self.mode,
            "network": self.network,
            "processes": self.processes,
            "clock": self.clock,
        }


class SupervisedServer:
    """A running supervisor. Made by :func:`supervise`.

    Attributes:
        isolation: What it could do on this system.
        notes: What whoever runs it should know, a sentence each.
        listener: A listening socket at its sessions' search port, where one was asked for.
    """

    def __init__(
        self, control: anyio.abc.UNIXSocketStream, process: subprocess.Popen[bytes]
    ) -> None:
        self.isolation = Isolation("process")
        self.notes: list[str] = []
        self.listener: socket.socket | None = None
        self._control = control
        self._process = process
        self._sending = anyio.Lock()
        self._next_id = 0
        self._opened: dict[int, _Opened] = {}
        self._live: dict[int, ServerProcess] = {}
        self._warming = anyio.Lock()
        self._warmed: _Opened | None = None
        self._lost: str | None = None

    @property
    def pid(self) -> int:
        """Process id of the supervisor itself."""
        return self._process.pid

    async def open(
        self,
        *,
        env: Mapping[str, str],
        cwd: Path,
        seed: int,
        stdio: int,
        stderr: int,
        note: Path | None = None,
    ) -> ServerProcess:
        """A fresh process whose standard input and output are ``stdio``.

        The descriptors stay the caller's to close.

        Args:
            env: More environment variables.
            cwd: Its working folder.
            seed: Seed of its ``random``, where it is Python's.
            stdio: A socket's descriptor.
            stderr: A file's descriptor.
            note: File in which to note the modules it imports from then on.

        Raises:
            SessionOpenError: The supervisor is gone or could not fork.
        """
        number = self._next_id
        self._next_id += 1
        opened = self._opened[number] = _Opened()
        order = {"op": "open", "id": number, "env": dict(env), "cwd": str(cwd), "seed": seed}
        noted = None if note is None else str(note)
        await self.send({**order, "note": noted, "descriptors": 2}, [stdio, stderr])
        await opened.done.wait()
        if opened.process is None:
            raise SessionOpenError(f"no session process: {opened.error}")
        return opened.process

    async def kill(self, process: ServerProcess) -> None:
        """End a session's processes and wait until they are gone."""
        if not process.ended.is_set() and self._lost is None:
            try:
                await self.send({"op": "kill", "pid": process.pid})
            except SessionOpenError:
                return  # the supervisor's end is its children's end
        await process.ended.wait()

    async def warm(self, modules: list[str]) -> None:
        """Import some modules where sessions fork from, if sessions can be forked after that.

        Raises:
            SessionOpenError: The supervisor is gone.
        """
        async with self._warming:
            warmed = self._warmed = _Opened()
            await self.send({"op": "warm", "modules": modules})
            await warmed.done.wait()
            if warmed.error is not None:
                raise SessionOpenError(warmed.error)

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
            raise SessionOpenError("the supervisor of the tool server is gone") from error

    async def listen(self, lines: AsyncIterator[dict[str, Any]]) -> None:
        """Take what the supervisor reports, until it ends."""
        async for message in lines:
            if "exit" in message:
                process = self._live.pop(message["exit"])
                process.status = message["status"]
                process.cpu_s = message["cpu_s"]
                process.ended.set()
            elif "warmed" in message:
                if self._warmed is not None:
                    self._warmed.done.set()
            else:
                opened = self._opened.pop(message["id"])
                if "pid" in message:
                    opened.process = self._live[message["pid"]] = ServerProcess(message["pid"])
                else:
                    opened.error = message["error"]
                opened.done.set()
        self._lost = "the supervisor of the tool server ended"
        waiting = [*self._opened.values(), *([self._warmed] if self._warmed else [])]
        for opened in waiting:
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
async def supervise(spec: ServerSpec, root: Path) -> AsyncIterator[SupervisedServer]:
    """Start the supervisor of a server; it ends, with all its sessions, on exit.

    A server that cannot be forked is supervised in mode ``process`` instead, with a note, unless
    its mode was asked for by name.

    Args:
        spec: The server.
        root: Folder of the sessions. The supervisor removes it when this process is gone, so that
            even a killed runner leaves no file behind.

    Raises:
        SessionOpenError: The server cannot be started.
    """
    mode = spec.wanted_mode
    notes: list[str] = []
    if mode == "fork":
        try:
            async with _supervisor(spec, root, fork=True) as server:
                yield server
                return
        except _Unforkable as error:
            reasons = "; ".join(error.reasons)
            if spec.mode == "fork":
                raise SessionOpenError(
                    f"the tool server {spec.name} cannot be forked: {reasons}. Start it when it "
                    "serves, not when it is imported, or give it mode: process"
                ) from None
            notes.append(f"{spec.name}: each session starts the server anew, because {reasons}")
    async with _supervisor(spec, root, fork=False) as server:
        server.notes[:0] = notes
        yield server


class _Unforkable(Exception):
    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@asynccontextmanager
async def _supervisor(
    spec: ServerSpec, root: Path, *, fork: bool
) -> AsyncIterator[SupervisedServer]:
    # An earlier supervisor has taken it along. Blocking for a moment, once a run.
    root.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
    ours, theirs = socket.socketpair()
    words = root / f"supervisor-{'fork' if fork else 'process'}.txt"
    try:
        env, clock, notes, leavings = environment(spec, fork=fork)
        with words.open("wb") as stderr:
            # Blocking for the moment of a fork, once a run.
            process = subprocess.Popen(  # noqa: ASYNC220
                [*interpreter(spec, fork=fork), supervisor.__file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=env,
                cwd=spec.cwd,
                start_new_session=True,
            )
    except OSError as error:
        ours.close()
        raise SessionOpenError(
            f"the tool server {spec.name} cannot be started: {error.filename or spec.command[0]}: "
            f"{error.strerror}"
        ) from error
    finally:
        theirs.close()
    try:
        control = await anyio.abc.UNIXSocketStream.from_socket(ours)
        async with control:
            server = SupervisedServer(control, process)
            server.notes += notes
            await server.send(load_order(spec, root, fork=fork, leavings=leavings))
            ready, rest, descriptors = await _await_ready(control, spec, words)
            listeners = [socket.socket(fileno=descriptor) for descriptor in descriptors]
            try:
                if ready["unforkable"]:
                    raise _Unforkable(ready["unforkable"])
                server.notes += [f"{spec.name}: {note}" for note in ready["notes"]]
                server.listener = listeners[0] if listeners else None
                server.isolation = _isolation(ready["confined"], fork=fork, clock=clock)
                if spec.network == "loopback" and server.isolation.network == "host":
                    server.notes.append(
                        f"{spec.name}: its network is not taken away ("
                        f"{ready['confined']['reason'] or 'not allowed here'})"
                    )
                async with anyio.create_task_group() as group:
                    group.start_soon(server.listen, _messages(control, rest))
                    try:
                        yield server
                    finally:
                        # The closed socket tells the supervisor to end its children and itself.
                        group.cancel_scope.cancel()
            finally:
                for listener in listeners:
                    listener.close()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_end, process)


def _isolation(confined: Mapping[str, Any], *, fork: bool, clock: str) -> Isolation:
    return Isolation(
        mode="fork" if fork else "process",
        network="loopback" if confined["network"] else "host",
        processes=confined["processes"],
        clock=clock,
    )


async def _await_ready(
    control: anyio.abc.UNIXSocketStream, spec: ServerSpec, words: Path
) -> tuple[dict[str, Any], bytes, list[int]]:
    """The first message, what was read beyond it, and the descriptors that came with it."""
    data, descriptors = b"", list[int]()
    try:
        with anyio.fail_after(START_DEADLINE_S):
            while b"\n" not in data:
                more, attached = await control.receive_fds(65536, 16)
                data += more
                descriptors += attached
    except TimeoutError:
        raise SessionOpenError(
            f"the tool server {spec.name} took over {START_DEADLINE_S:.0f} s to import"
        ) from None
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        said = words.read_text(errors="replace").strip()[-1500:]  # noqa: ASYNC240
        raise SessionOpenError(
            f"the tool server {spec.name} ended while it was imported: {said or 'without a word'}"
        ) from None
    line, _, rest = data.partition(b"\n")
    message = json.loads(line)
    if not message["ready"]:
        if message.get("unforkable"):
            raise _Unforkable(message["unforkable"])
        raise SessionOpenError(
            f"the tool server {spec.name} cannot be started:\n{message['error'].rstrip()}"
        )
    return message, rest, descriptors


async def _messages(
    control: anyio.abc.UNIXSocketStream, data: bytes
) -> AsyncIterator[dict[str, Any]]:
    while True:
        *lines, data = data.split(b"\n")
        for line in lines:
            yield json.loads(line)
        try:
            data += await control.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
