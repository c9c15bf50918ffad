"""Sessions: one isolated live backend each, opened for one episode.

A :class:`Sandbox` keeps one warm parent per domain. A session is a fork of it with a database file,
a stdio pair, a frozen clock and a seed of its own; nothing is shared with another session.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from mcp import ClientSession

from outcomebox.sandbox import _mcp
from outcomebox.sandbox.changes import TerminalState, terminal_state
from outcomebox.sandbox.database import read_state
from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.errors import ServerDied, SessionOpenError, StateUnreadable, ToolDeadline
from outcomebox.sandbox.image import Image
from outcomebox.sandbox.toolserver import DATABASE_VARIABLE, NOW_VARIABLE, SEED_VARIABLE
from outcomebox.sandbox.transport import stdio_streams
from outcomebox.sandbox.warm import ServerProcess, WarmServer, warm_server

OPEN_DEADLINE_S = 60.0
DEFAULT_TOOL_DEADLINE_S = 20.0


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the agent sees it.

    Attributes:
        name: Its name.
        description: What the model reads.
        input_schema: JSON Schema of its arguments.
        writes: False only where the server says that the tool changes nothing.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    writes: bool

    def openai(self) -> dict[str, Any]:
        """The tool as an OpenAI tool object."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.input_schema),
            },
        }


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered.

    Attributes:
        text: The answer as the server gave it.
        is_error: Whether the server calls it an error; the agent reads it all the same.
    """

    text: str
    is_error: bool


class Session:
    """One live session. Made by :meth:`Sandbox.open`; not shared between tasks of an event loop."""

    def __init__(
        self,
        *,
        client: ClientSession,
        process: ServerProcess,
        warm: WarmServer,
        folder: Path,
        image: Image,
        tools: tuple[ToolSpec, ...],
    ) -> None:
        self.tools = tools
        self._client = client
        self._process = process
        self._warm = warm
        self._folder = folder
        self._image = image

    @property
    def database(self) -> Path:
        """The session's SQLite file."""
        return self._folder / "database.sqlite"

    @property
    def pid(self) -> int:
        """Process id of the session's tool server."""
        return self._process.pid

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        deadline_s: float = DEFAULT_TOOL_DEADLINE_S,
    ) -> ToolResult:
        """Call a tool.

        Args:
            tool: Its name; an unknown one is answered by the server, as an error result.
            arguments: Plain JSON values.
            deadline_s: Seconds it may take.

        Raises:
            ToolDeadline: No answer in time. The session is of no further use.
            ServerDied: The server ended before it answered.
        """
        try:
            with anyio.fail_after(deadline_s):
                result = await _mcp.call_tool(self._client, tool, dict(arguments))
        except TimeoutError:
            raise ToolDeadline(
                f"tool {tool} gave no answer within {deadline_s:g} s", tool=tool
            ) from None
        except _mcp.ProtocolError as error:
            if not _mcp.is_hang_up(error):
                return ToolResult(str(error), is_error=True)
            raise ServerDied(await self._last_words(f"in tool {tool}"), tool=tool) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise ServerDied(await self._last_words(f"in tool {tool}"), tool=tool) from error
        return ToolResult(_mcp.result_text(result), _mcp.result_is_error(result))

    async def close(self) -> TerminalState:
        """End the server and read what it left in the database.

        Only committed work counts: the server is killed first, then the state is read on a fresh
        connection. May be called once, also after a call has failed.

        Raises:
            StateUnreadable: The database is missing or broken.
        """
        await self._warm.kill(self._process)
        initial = self._image.state
        try:
            return terminal_state(initial, read_state(self.database, like=initial))
        except StateUnreadable as error:
            raise StateUnreadable(_placeless(str(error), self._folder)) from error

    async def _last_words(self, where: str) -> str:
        with anyio.move_on_after(2.0):
            await self._process.ended.wait()
        return _obituary(self._process, self._folder, where)


def _obituary(process: ServerProcess, folder: Path, where: str) -> str:
    status = process.status
    how = (
        "hung up but still runs"
        if not process.ended.is_set()
        else f"was killed by signal {-status}"
        if status is not None and status < 0
        else f"ended with status {status}"
    )
    try:
        words = (folder / "stderr.txt").read_text(errors="replace").strip()[-500:]
    except OSError:
        words = ""
    text = f"the tool server {how} {where}" + (f": {words}" if words else "")
    return _placeless(text, folder)


def _placeless(text: str, folder: Path) -> str:
    """A message without the session's own path, so that equal runs leave equal rows."""
    return text.replace(str(folder), "<session>")


@dataclass
class _Warm:
    server: WarmServer
    root: Path
    tools: tuple[ToolSpec, ...] | None = None


@dataclass
class Sandbox:
    """Opens sessions; made by :func:`sandbox`.

    Attributes:
        root: Folder of everything that sessions hold; gone when the sandbox closes.
    """

    root: Path
    _stack: AsyncExitStack
    _warm: dict[str, _Warm] = field(default_factory=dict)
    _starting: anyio.Lock = field(default_factory=anyio.Lock)
    _count: int = 0

    async def _warm_for(self, domain: Domain) -> _Warm:
        async with self._starting:
            key = str(domain.folder)
            if key not in self._warm:
                root = self.root / f"{domain.name}-{len(self._warm)}"
                root.mkdir()
                self._warm[key] = _Warm(
                    await self._stack.enter_async_context(warm_server(domain, root)), root
                )
            return self._warm[key]

    async def start(self, domains: Sequence[Domain]) -> None:
        """Start the warm parents of some domains ahead of their first session.

        Has to be called from the task that entered the sandbox; sessions of other domains cannot
        be opened afterwards.

        Raises:
            SessionOpenError: A server cannot be imported.
        """
        for domain in domains:
            await self._warm_for(domain)

    @asynccontextmanager
    async def open(
        self,
        domain: Domain,
        image: Image,
        *,
        seed: int,
        env: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Session]:
        """A fresh session over its own copy of ``image``; killed and removed on exit.

        Args:
            domain: Whose server and clock; :meth:`start` must have been called with it.
            image: The initial state.
            seed: What the server gets as its seed.
            env: More variables for this session's server.

        Raises:
            SessionOpenError: The session could not be brought up.
        """
        try:
            warm = self._warm[str(domain.folder)]
        except KeyError:
            raise SessionOpenError(f"domain {domain.name} was not started") from None
        self._count += 1
        folder = warm.root / f"s{self._count}"
        database = folder / "database.sqlite"
        variables = {
            DATABASE_VARIABLE: str(database),
            NOW_VARIABLE: domain.settings.now,
            SEED_VARIABLE: str(seed),
            **(env or {}),
        }
        try:
            try:
                folder.mkdir()
                database.write_bytes(image.data)
            except OSError as error:
                raise SessionOpenError(f"no folder for a session: {error}") from error
            with ungrouped():
                async with _connect(warm, folder, image, variables) as session:
                    yield session
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _connect(
    warm: _Warm, folder: Path, image: Image, env: Mapping[str, str]
) -> AsyncIterator[Session]:
    ours, theirs = socket.socketpair()
    try:
        with (folder / "stderr.txt").open("wb") as stderr:
            process = await warm.server.fork(
                env=env, cwd=folder, stdio=theirs.fileno(), stderr=stderr.fileno()
            )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    try:
        stream = await anyio.abc.UNIXSocketStream.from_socket(ours)
        async with (
            stream,
            stdio_streams(stream) as (read, write),
            ClientSession(read, write) as client,
        ):
            try:
                with anyio.fail_after(OPEN_DEADLINE_S):
                    await client.initialize()
                    if warm.tools is None:
                        warm.tools = tuple(
                            ToolSpec(*_mcp.tool_fields(tool))
                            for tool in (await client.list_tools()).tools
                        )
            except TimeoutError:
                raise SessionOpenError(
                    f"the tool server did not answer within {OPEN_DEADLINE_S:.0f} s"
                ) from None
            except (
                _mcp.ProtocolError,
                anyio.ClosedResourceError,
                anyio.BrokenResourceError,
            ) as error:
                with anyio.move_on_after(2.0):
                    await process.ended.wait()
                raise SessionOpenError(_obituary(process, folder, "while it started")) from error
            yield Session(
                client=client,
                process=process,
                warm=warm.server,
                folder=folder,
                image=image,
                tools=warm.tools,
            )
    finally:
        with anyio.CancelScope(shield=True):
            await warm.server.kill(process)


@asynccontextmanager
async def sandbox() -> AsyncIterator[Sandbox]:
    """A sandbox with a folder of its own; on exit every process and file of it is gone."""
    root = Path(tempfile.mkdtemp(prefix="outcomebox-"))
    try:
        with ungrouped():
            async with AsyncExitStack() as stack:
                yield Sandbox(root, stack)
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise what a task group has wrapped as itself where it is the only failure.

    The groups here serve one body; who opens a session wants the body's error, not a group of one.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        only: BaseException = group
        while isinstance(only, BaseExceptionGroup) and len(only.exceptions) == 1:
            only = only.exceptions[0]
        if only is group:
            raise
        raise only from only.__cause__
