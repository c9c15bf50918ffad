"""One task, opened for somebody who tries it by hand."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from outcomebox.sandbox.box import Sandbox
from outcomebox.sandbox.domain import BUNDLED, domain_names
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.servers import load_servers
from outcomebox.sandbox.session import Session, open_session, start_domains
from outcomebox.sandbox.task import Task
from outcomebox.sandbox.taskfile import TaskSet, load_tasks
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask, load_thinkingbox, prompts
from outcomebox.sandbox.world import World, open_world, replay_history

_NAMESPACE = uuid.UUID("7b0f8a52-53d6-4f0e-8f6a-0b1d8c5f3e21")


@dataclass(frozen=True)
class NativeChoice:
    """A task of our own form."""

    tasks: TaskSet
    task: Task


@dataclass(frozen=True)
class ThinkingBoxChoice:
    """A task of the ThinkingBox form, with the file that configures its servers."""

    task: ThinkingBoxTask
    servers: Path
    python: Path | None = None


Choice = NativeChoice | ThinkingBoxChoice


@dataclass(frozen=True)
class Trial:
    """An open task.

    Attributes:
        uid: The task.
        policy: What the agent is told.
        query: The user's first message.
        context: What only the user knows: for whoever plays the user, never for the agent.
        now: The session's frozen clock, where there is one.
        session: The live session, or world.
        deadline_s: Seconds a tool call may take.
        warnings: What went wrong on the way there.
    """

    uid: str
    policy: str
    query: str
    context: str
    now: str | None
    session: Session | World
    deadline_s: float
    warnings: Sequence[str] = ()

    @property
    def instructions(self) -> str:
        """Policy, clock and query in one text, as somebody is told who acts as the agent."""
        clock = "" if self.now is None else f"The current time is {self.now}.\n\n"
        return f"{clock}{self.policy.strip()}\n\nThe user says:\n{self.query.strip()}\n"


def choose_task(
    name: str,
    *,
    tasks: Sequence[str] | None = None,
    dataset: Path | None = None,
    servers: Path | None = None,
    python: Path | None = None,
    agent: str = "think",
) -> Choice:
    """The task of a name.

    Args:
        name: A uid; or ``file.py:test``, where there is a dataset.
        tasks: Where to look: domains, task files and folders. None: the domain that the uid
            begins with, else the bundled ones.
        dataset: A dataset in the ThinkingBox form.
        servers: Its ``servers.yaml``; the one in the dataset's folder without it.
        python: What ``{python}`` in that stands for.
        agent: The dataset's agent.

    Raises:
        InputError: There is no such task, or a file is wrong.
    """
    if dataset is not None:
        if tasks:
            raise InputError("is for tasks of our own form; leave it out", field="--tasks")
        found = load_thinkingbox(dataset, [name], agent=agent)
        if len(found) != 1:
            raise InputError(
                f"names {len(found)} tasks; name one, file.py:test", field="TASK", value=name
            )
        return ThinkingBoxChoice(found[0], servers or dataset / "servers.yaml", python)
    if servers is not None:
        raise InputError("is for a dataset; add --dataset", field="--servers", value=str(servers))
    first = name.partition("/")[0]
    loaded = load_tasks(tasks or ([first] if first in domain_names() else BUNDLED))
    if name not in loaded.by_uid:
        some = ", ".join(uid for uid in list(loaded.by_uid)[:3])
        raise InputError(
            f"there is no such task among {len(loaded.tasks)}, such as {some}; "
            "--tasks says where to look",
            field="TASK",
            value=name,
        )
    return NativeChoice(loaded, loaded.by_uid[name])


@asynccontextmanager
async def open_trial(box: Sandbox, choice: Choice, *, seed: int = 0) -> AsyncIterator[Trial]:
    """A fresh session of a task, its history made again; gone on exit.

    Args:
        box: A sandbox; what the task needs is started in it.
        choice: The task.
        seed: The session's seed.

    Raises:
        SessionOpenError: It could not be brought up.
        InputError: The servers of a dataset lack one, or a text cannot be filled in.
    """
    if isinstance(choice, NativeChoice):
        async with _native(box, choice, seed) as trial:
            yield trial
    else:
        async with _thinkingbox(box, choice, seed) as trial:
            yield trial


@asynccontextmanager
async def _native(box: Sandbox, choice: NativeChoice, seed: int) -> AsyncIterator[Trial]:
    task, domain = choice.task, choice.tasks.domain(choice.task)
    await start_domains(box, [domain], backend=choice.tasks.backend)
    async with open_session(box, domain, choice.tasks.image(task), seed=seed) as session:
        yield Trial(
            task.uid,
            domain.policy,
            task.query,
            task.user_context.background,
            domain.settings.now,
            session,
            task.limits.tool_deadline_s,
        )


@asynccontextmanager
async def _thinkingbox(box: Sandbox, choice: ThinkingBoxChoice, seed: int) -> AsyncIterator[Trial]:
    task = choice.task
    specs = load_servers(choice.servers, python=choice.python)
    for name in task.servers:
        if name not in specs:
            raise InputError(
                f"lacks the tool server {name}, which the task needs; it has {', '.join(specs)}",
                file=choice.servers,
                task=task.uid,
                field="servers",
            )
        await box.start(specs[name])
    tools = [tool.name for tool in task.tools]
    builtin = {tool.name for tool in task.agent.builtin_tools}
    session_id = str(uuid.uuid5(_NAMESPACE, f"{task.uid}\n{seed}"))
    opening = open_world(box, specs, task.servers, tools, seed=seed, session_id=session_id)
    async with opening as world:
        texts = prompts(task, world.init_result)
        warnings = await replay_history(world, task.history or (), builtin=builtin)
        said = [task.agent.system_instructions, texts.bot_instructions or ""]
        yield Trial(
            task.uid,
            "\n\n".join(part.strip() for part in said if part.strip()),
            texts.query,
            texts.user_context or "",
            None,
            world,
            60.0,
            warnings,
        )
