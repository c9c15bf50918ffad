"""Tasks of the ThinkingBox form: servers of the dataset's own, and test code that judges."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

from outcomebox.reward.thinkingbox import CheckGrader, check_grader
from outcomebox.reward.thinkingbox.grader import DEFAULT_AHEAD
from outcomebox.reward.thinkingbox.replaying import check_servers
from outcomebox.rollout.backend import Backend
from outcomebox.rollout.stage import NO_ENV, AnyTask
from outcomebox.rollout.stages.thinkingbox_stage import ThinkingBoxStage
from outcomebox.sandbox import Sandbox, ServerSpec, World, open_world
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask, prompts
from outcomebox.sandbox.world import replay_history

_NAMESPACE = uuid.UUID("0f9f3b0a-6c3e-4d2b-8a55-2f6f0d1f7c40")


@dataclass(frozen=True, slots=True)
class ThinkingBoxSettings:
    """What the form leaves to whoever runs it.

    Attributes:
        user_may_end: Whether the simulated user may end the conversation, which gives it one reply
            more.
        turns: Answers of the policy, at most: a task of the form has no such limit by itself.
        tool_deadline_s: Seconds a tool call may take.
        ahead: Processes of checks that are forked ahead.
    """

    user_may_end: bool = False
    turns: int = 200
    tool_deadline_s: float = 60.0
    ahead: int = DEFAULT_AHEAD


class ThinkingBoxTasks:
    """Tasks of a dataset in the ThinkingBox form.

    Args:
        tasks: The tasks.
        specs: The tool servers by name.
        settings: What the form leaves open.

    Raises:
        InputError: A task needs a server that is not there.
    """

    def __init__(
        self,
        tasks: Sequence[ThinkingBoxTask],
        specs: Mapping[str, ServerSpec],
        settings: ThinkingBoxSettings | None = None,
    ) -> None:
        check_servers(tasks, specs)
        self.specs = specs
        self.settings = settings or ThinkingBoxSettings()
        self._tasks = tuple(sorted(tasks, key=lambda task: task.uid))
        self._live: tuple[Sandbox, CheckGrader] | None = None

    @property
    def tasks(self) -> Sequence[ThinkingBoxTask]:
        """All tasks, sorted by uid."""
        return self._tasks

    @cached_property
    def by_uid(self) -> Mapping[str, ThinkingBoxTask]:
        """The tasks by uid."""
        return {task.uid: task for task in self._tasks}

    @asynccontextmanager
    async def started(self, box: Sandbox) -> AsyncIterator[None]:
        """Start the servers that the tasks use, and the parent of the checks' processes.

        Raises:
            SessionOpenError: A server cannot be started.
        """
        used = {server for task in self._tasks for server in task.servers}
        async with check_grader(box, ahead=self.settings.ahead) as grader:
            for name, spec in self.specs.items():
                if name in used:
                    await box.start(spec)
            self._live = box, grader
            try:
                yield
            finally:
                self._live = None

    @asynccontextmanager
    async def open(
        self,
        task: AnyTask,
        *,
        seed: int,
        repetition: int,  # noqa: ARG002 -- of no use here: the seed tells the repetitions apart
        attempt: int = 0,  # noqa: ARG002 -- likewise: a try is to be like the one before
        session_env: Mapping[str, str] = NO_ENV,
    ) -> AsyncIterator[ThinkingBoxStage]:
        """A fresh session of a task, its history made again.

        Raises:
            SessionOpenError: A server could not be brought up or initialised.
            ToolFault: A server broke in the history.
            InputError: A text of the task cannot be filled in.
        """
        if self._live is None:
            raise RuntimeError("the tasks have not been started in a sandbox")
        box, grader = self._live
        own = self.by_uid[task.uid]
        tools = [tool.name for tool in own.tools]
        builtin = {tool.name for tool in own.agent.builtin_tools}
        warnings: list[str] = []
        # Named after the episode: a server that puts the name in its state does so in each try.
        session_id = str(uuid.uuid5(_NAMESPACE, f"{own.uid}\n{seed}"))

        @asynccontextmanager
        async def fresh(told: list[str] | None = None) -> AsyncIterator[World]:
            opening = open_world(
                box,
                self.specs,
                own.servers,
                tools,
                seed=seed,
                session_id=session_id,
                env=session_env,
            )
            async with opening as world:
                said = await replay_history(world, own.history or (), builtin=builtin)
                if told is not None:
                    told += said
                yield world

        async with fresh(warnings) as world:
            backend = Backend(
                world,
                fresh,
                self.settings.tool_deadline_s,
                server_of=lambda tool: world.server_of(tool) or "",
            )
            yield ThinkingBoxStage(
                own,
                prompts(own, world.init_result),
                world,
                backend,
                grader,
                turns=self.settings.turns,
                user_may_end=self.settings.user_may_end,
                warnings=warnings,
            )

    def versions(self, task: AnyTask) -> Mapping[str, str]:
        """Digests of the task, of what it asks, and of its servers as they are configured."""
        own = self.by_uid[task.uid]
        return {"task": own.hash, "content": own.content_hash, "servers": self._servers(own)}

    def tags(self, task: AnyTask) -> Sequence[str]:
        """The task's tags, as files write them."""
        tags = self.by_uid[task.uid].tags
        return (
            *([] if tags.domain is None else [f"domain:{tags.domain}"]),
            *([] if tags.eval_type is None else [f"eval:{tags.eval_type}"]),
            *(f"category:{category}" for category in tags.category),
            *tags.labels,
        )

    def needs_judge(self) -> str | None:
        """The first task whose test code may ask a judge, and how many do; None where none does."""
        needing = [task.uid for task in self._tasks if task.uses_judge]
        if not needing:
            return None
        more = f", and {len(needing) - 1} more tasks," if len(needing) > 1 else ""
        return f"{needing[0]} asks a judge in its test code{more}"

    def _servers(self, task: ThinkingBoxTask) -> str:
        """SHA-256 of how a task's servers are configured, alike on every machine.

        Values of environment variables are left out (they may be secret), and so is where an
        interpreter lies.
        """
        told = [_configured(self.specs[name]) for name in task.servers]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _configured(spec: ServerSpec) -> dict[str, object]:
    program, *arguments = spec.command
    name = program.rpartition("/")[2]
    return {
        "name": spec.name,
        "program": "python" if name.startswith("python") else name,
        "arguments": arguments,
        "env": sorted(spec.env),
        "clock": spec.clock,
        "network": spec.network,
    }
