"""The sandbox: supervisors of tool servers, and the processes and connections they give.

It knows nothing of domains or datasets: :mod:`outcomebox.sandbox.session` opens a domain's session
on it, :mod:`outcomebox.sandbox.world` one of several servers in the ThinkingBox form.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from outcomebox.sandbox.connection import Connection, ToolSpec, connect
from outcomebox.sandbox.errors import SandboxFault, SessionOpenError, ToolFault
from outcomebox.sandbox.process import Process, open_process
from outcomebox.sandbox.servers import ServerSpec
from outcomebox.sandbox.supervised import Isolation, SupervisedServer, supervise
from outcomebox.sandbox.ungrouped import ungrouped

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

# Called in the rehearsal, so that what a server imports for its first call is there for all. No
# server has it; what it answers does not matter.
_NO_SUCH_TOOL = "__outcomebox_rehearsal__"


_REHEARSAL_DEADLINE_S = 5.0

# Sessions that note what they import, at most.
_LESSONS = 16


@dataclass
class _Kind:
    """What is known of a kind of server that has been started."""

    spec: ServerSpec
    root: Path
    supervised: SupervisedServer | None
    tools: Mapping[str, ToolSpec] | None = None
    lessons: int = _LESSONS
    known: set[str] = field(default_factory=set)

    @property
    def learns(self) -> bool:
        """Whether the next session is to note what it imports."""
        return (
            self.supervised is not None
            and self.supervised.isolation.mode == "fork"
            and self.lessons > 0
        )


@dataclass
class Sandbox:
    """Opens processes and connections; made by :func:`sandbox`.

    Attributes:
        root: Folder of everything that sessions hold; gone when the sandbox closes.
        notes: What whoever runs it should know: what could not be isolated, and why.
    """

    root: Path
    _group: anyio.abc.TaskGroup
    _search_url: str | None = None
    notes: list[str] = field(default_factory=list)
    _kinds: dict[str, _Kind] = field(default_factory=dict)
    _starting: anyio.Lock = field(default_factory=anyio.Lock)
    _count: int = 0

    async def start(
        self,
        spec: ServerSpec,
        *,
        rehearse: bool = True,
        env: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Start the supervisor of a server ahead of its first session; a second time is none.

        Args:
            spec: The server.
            rehearse: Open one session for nothing: it tells the server's tools, and what the
                server imports to serve, which is then there for all. For MCP servers only.
            env: Variables of that session.
            files: Files of that session.

        Raises:
            SessionOpenError: The server cannot be started.
        """
        async with self._starting:
            if spec.key in self._kinds:
                return
            root = self.root / f"{len(self._kinds)}"
            if spec.wanted_mode == "inprocess":
                root.mkdir()
                self._kinds[spec.key] = _Kind(spec, root, None)
                return
            kind = await self._supervised(spec, root)
            if rehearse:
                await self._rehearse(kind, env, files)
            self._kinds[spec.key] = kind

    async def _supervised(self, spec: ServerSpec, root: Path) -> _Kind:
        """A supervised kind, kept by a task of the sandbox until the sandbox ends."""
        outcome: list[SupervisedServer | BaseException] = []
        started = anyio.Event()

        async def keep() -> None:
            try:
                async with supervise(spec, root) as supervised, AsyncExitStack() as stack:
                    if supervised.listener is not None:
                        # Not at the top: a web server, for the few that search.
                        from outcomebox.sandbox.search import search_service  # noqa: PLC0415

                        service = search_service(supervised.listener, url=self._search_url)
                        await stack.enter_async_context(service)
                    outcome.append(supervised)
                    started.set()
                    await anyio.sleep_forever()
            except SandboxFault as error:
                if started.is_set():
                    raise
                outcome.append(error)
                started.set()

        self._group.start_soon(keep)
        await started.wait()
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        self.notes += outcome[0].notes
        return _Kind(spec, root, outcome[0])

    async def _rehearse(
        self, kind: _Kind, env: Mapping[str, str] | None, files: Mapping[str, bytes] | None
    ) -> None:
        """Open a session for nothing: it tells the tools, and what it imports to serve them."""
        async with self._session(kind, seed=0, env=env, files=files) as (connection, _, _):
            # A server that cannot bear it has told its tools before, which is what matters.
            with contextlib.suppress(ToolFault):
                await connection.call(_NO_SUCH_TOOL, {}, deadline_s=_REHEARSAL_DEADLINE_S)

    @property
    def supervisors(self) -> tuple[int, ...]:
        """Process ids of the supervisors that run."""
        found = (kind.supervised for kind in self._kinds.values())
        return tuple(each.pid for each in found if each is not None)

    def isolation(self, spec: ServerSpec) -> Isolation:
        """How sessions of a started server are kept apart.

        Raises:
            SessionOpenError: It was not started.
        """
        supervised = self._kind(spec).supervised
        return Isolation("inprocess") if supervised is None else supervised.isolation

    def tools(self, spec: ServerSpec) -> Mapping[str, ToolSpec]:
        """All tools of a started server, reserved ones included; empty until it has been asked.

        Raises:
            SessionOpenError: It was not started.
        """
        return self._kind(spec).tools or {}

    @asynccontextmanager
    async def process(
        self,
        spec: ServerSpec,
        *,
        seed: int,
        env: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        what: str = "the tool server",
    ) -> AsyncIterator[Process]:
        """A fresh process of a started server, in a folder of its own; both gone on exit.

        Args:
            spec: The server.
            seed: Its seed.
            env: More environment variables; ``{folder}`` in a value is the session's folder.
            files: Content of files in its folder, by name.
            what: What messages call it.

        Raises:
            SessionOpenError: There is no process.
        """
        kind = self._kind(spec)
        if kind.supervised is None:
            raise SessionOpenError(f"{spec.name} lives in this process and has none of its own")
        with self._folder(kind, files) as folder, ungrouped():
            variables = _placed(env, folder)
            opening = open_process(
                kind.supervised, folder, seed=seed, env=variables, cwd=spec.cwd, what=what
            )
            async with opening as process:
                yield process

    @asynccontextmanager
    async def connect(
        self,
        spec: ServerSpec,
        *,
        seed: int,
        env: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> AsyncIterator[tuple[Connection, Path, Process | None]]:
        """A fresh session of a started server: its connection, folder and process.

        Arguments as for :meth:`process`; a server in mode ``inprocess`` has no process.

        Raises:
            SessionOpenError: The session could not be brought up.
        """
        async with self._session(self._kind(spec), seed=seed, env=env, files=files) as session:
            yield session

    @asynccontextmanager
    async def _session(
        self,
        kind: _Kind,
        *,
        seed: int,
        env: Mapping[str, str] | None,
        files: Mapping[str, bytes] | None,
    ) -> AsyncIterator[tuple[Connection, Path, Process | None]]:
        with self._folder(kind, files) as folder, ungrouped():
            variables = _placed(env, folder)
            if kind.supervised is None:
                # Not at the top: the SDK's servers, which only this mode has in this process.
                from outcomebox.sandbox.inprocess import connect_in_process  # noqa: PLC0415

                opening = connect_in_process(kind.spec, variables, tools=kind.tools)
                async with opening as connection:
                    kind.tools = connection.tools
                    yield connection, folder, None
                return
            learning = kind.learns
            noted = folder / "imports.txt"
            started: AbstractAsyncContextManager[Process] = open_process(
                kind.supervised,
                folder,
                seed=seed,
                env=variables,
                cwd=kind.spec.cwd,
                note=noted if learning else None,
            )
            async with started as process, connect(process, tools=kind.tools) as connection:
                kind.tools = connection.tools
                yield connection, folder, process
            if learning and noted.exists():
                names = dict.fromkeys(noted.read_text(encoding="utf-8").split())
                new = [name for name in names if name not in kind.known]
                kind.known.update(new)
                # Two in a row that need nothing new: the rest will not either.
                kind.lessons = kind.lessons - 1 if new else min(kind.lessons, 2) - 1
                if new:
                    await kind.supervised.warm(new)

    def _kind(self, spec: ServerSpec) -> _Kind:
        try:
            return self._kinds[spec.key]
        except KeyError:
            raise SessionOpenError(f"the tool server {spec.name} was not started") from None

    @contextmanager
    def _folder(self, kind: _Kind, files: Mapping[str, bytes] | None = None) -> Iterator[Path]:
        self._count += 1
        folder = kind.root / f"s{self._count}"
        try:
            try:
                folder.mkdir()
                for name, content in (files or {}).items():
                    (folder / name).write_bytes(content)
            except OSError as error:
                raise SessionOpenError(f"no folder for a session: {error}") from error
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _placed(env: Mapping[str, str] | None, folder: Path) -> dict[str, str]:
    return {name: value.replace("{folder}", str(folder)) for name, value in (env or {}).items()}


@asynccontextmanager
async def sandbox(*, search_url: str | None = None) -> AsyncIterator[Sandbox]:
    """A sandbox with a folder of its own; on exit every process and file of it is gone.

    Args:
        search_url: A real Typesense for servers that want one; without it they get the embedded
            index.
    """
    root = Path(tempfile.mkdtemp(prefix="outcomebox-"))
    try:
        with ungrouped():
            async with anyio.create_task_group() as group:
                try:
                    yield Sandbox(root, group, search_url)
                finally:
                    group.cancel_scope.cancel()
    finally:
        shutil.rmtree(root, ignore_errors=True)
