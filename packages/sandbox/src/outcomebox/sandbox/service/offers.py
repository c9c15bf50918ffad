"""Which sessions can be had: worlds of the configured servers, and sessions of domains."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from outcomebox.sandbox.backends.base import Image
from outcomebox.sandbox.box import Sandbox
from outcomebox.sandbox.connection import ToolSpec
from outcomebox.sandbox.domain import Domain
from outcomebox.sandbox.errors import InputError, SandboxFault
from outcomebox.sandbox.servers import ServerSpec
from outcomebox.sandbox.service.live import DomainLive, Live
from outcomebox.sandbox.service.refusals import RefusedRequest
from outcomebox.sandbox.service.requests import SessionCreate
from outcomebox.sandbox.session import open_session, start_domains
from outcomebox.sandbox.task import Task
from outcomebox.sandbox.taskfile import TaskSet
from outcomebox.sandbox.world import open_world


class Offers:
    """Opens what a request asks for.

    Args:
        box: The sandbox that they live in.
        specs: Tool servers by name.
        tasks: Domains with their tasks, each served as a server with the domain's name.
        seed: Seed of sessions that name none.

    Raises:
        InputError: A server and a domain have the same name.
    """

    def __init__(
        self,
        box: Sandbox,
        specs: Mapping[str, ServerSpec],
        tasks: TaskSet | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self._box = box
        self._specs = specs
        self._tasks = tasks
        self._domains: Mapping[str, Domain] = {} if tasks is None else tasks.domains
        self._seed = seed
        self._seeds: dict[str, Image] = {}
        for name in self._domains:
            if name in specs:
                raise InputError(
                    "is a tool server and a domain; give one of them another name",
                    field="servers",
                    value=name,
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The servers that can be asked for."""
        return (*self._specs, *self._domains)

    async def start(self) -> list[str]:
        """Start all servers ahead of their first session.

        Returns:
            What could not be started, and why; it is tried again when it is asked for.
        """
        problems = []
        for name, spec in self._specs.items():
            try:
                await self._box.start(spec)
            except SandboxFault as error:
                problems.append(f"{name}: {error}")
        for name, domain in self._domains.items():
            try:
                await start_domains(self._box, [domain])
            except SandboxFault as error:
                problems.append(f"{name}: {error}")
        return problems

    def opening(self, order: SessionCreate) -> AbstractAsyncContextManager[Live]:
        """A fresh session, gone when the context is left.

        Raises:
            RefusedRequest: There is no such server or task.
        """
        for name in order.server_config:
            if name not in self._specs and name not in self._domains:
                raise RefusedRequest(f"Server {name} does not exist")
        seed = self._seed if order.seed is None else order.seed
        named = [name for name in order.server_config if name in self._domains]
        if not named:
            return self._world(order, seed)
        if len(order.server_config) > 1:
            raise RefusedRequest(f"A session of the domain {named[0]} can have no other server")
        return self._domain(self._domains[named[0]], order, seed)

    @asynccontextmanager
    async def _world(self, order: SessionCreate, seed: int) -> AsyncIterator[Live]:
        for name in order.server_config:
            await self._box.start(self._specs[name])
        opening = open_world(
            self._box,
            self._specs,
            order.server_config,
            list(dict.fromkeys(order.available_tools)),
            seed=seed,
            session_id=order.session_id,
        )
        async with opening as world:
            yield world

    @asynccontextmanager
    async def _domain(self, domain: Domain, order: SessionCreate, seed: int) -> AsyncIterator[Live]:
        task, image = self._start_of(domain, order.server_config[domain.name])
        await start_domains(self._box, [domain])
        async with open_session(self._box, domain, image, seed=seed) as session:
            tools = _shown(session.tools, order.available_tools)
            told = {"policy": domain.policy, "now": domain.settings.now}
            if task is not None:
                told |= {"query": task.query}
            yield DomainLive(domain.name, session, tools, told)

    def _start_of(self, domain: Domain, config: Mapping[str, Any]) -> tuple[Task | None, Image]:
        """The task that a session starts at, and its initial state; else the seed's."""
        assert self._tasks is not None  # noqa: S101 -- else there were no domains
        if unknown := sorted(config.keys() - {"task"}):
            raise RefusedRequest(f"The domain {domain.name} takes a `task`, and no {unknown[0]}")
        if "task" not in config:
            if domain.name not in self._seeds:
                self._seeds[domain.name] = self._tasks.backend.domain_image(domain)
            return None, self._seeds[domain.name]
        task = self._tasks.by_uid.get(config["task"]) if isinstance(config["task"], str) else None
        if task is None or task.domain != domain.name:
            raise RefusedRequest(f"The domain {domain.name} has no task {config['task']!r}")
        return task, self._tasks.image(task)


def _shown(tools: Sequence[ToolSpec], wanted: Sequence[str]) -> list[ToolSpec]:
    known = {tool.name: tool for tool in tools}
    for name in wanted:
        if name not in known:
            raise RefusedRequest(f"Tool {name} does not exist")
    return [known[name] for name in dict.fromkeys(wanted)]
