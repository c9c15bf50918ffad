"""The tasks that the stand-in knows, and how it tells from a conversation which of them it is."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from outcomebox.reward.golden import golden_sandbox
from outcomebox.rollout.stages.native import NativeTasks
from outcomebox.rollout.users.escaping import escape
from outcomebox.sandbox import SQLITE, InputError, Task, TaskSet, ToolSpec, load_tasks


@dataclass(frozen=True)
class Known:
    """Tasks by what is said in their conversations.

    Attributes:
        tasks: The tasks.
        tools: Domain -> its tools, as its own servers list them.
    """

    tasks: tuple[Task, ...]
    tools: Mapping[str, tuple[ToolSpec, ...]]

    @cached_property
    def by_query(self) -> Mapping[str, tuple[Task, ...]]:
        """The tasks that begin with a query, by uid."""
        found: dict[str, tuple[Task, ...]] = {}
        for task in sorted(self.tasks, key=lambda each: each.uid):
            found[task.query] = (*found.get(task.query, ()), task)
        return found

    @property
    def ambiguous(self) -> tuple[str, ...]:
        """Tasks that cannot be told from another: same query, same domain. The first is taken."""
        return tuple(
            task.uid
            for tasks in self.by_query.values()
            for at, task in enumerate(tasks)
            if any(other.domain == task.domain for other in tasks[:at])
        )

    def of_agent(
        self, messages: Sequence[Mapping[str, Any]], offered: frozenset[str]
    ) -> tuple[Task, int] | None:
        """The task that an agent's conversation is about, and where its query stands.

        Args:
            messages: The conversation, as the chat API has it.
            offered: Names of the tools that the request offers; with them the same words in two
                domains are told apart.
        """
        for at, message in enumerate(messages):
            if message.get("role") != "user":
                continue
            for task in self.by_query.get(str(message.get("content")), ()):
                names = {tool.name for tool in self.tools[task.domain]}
                if not offered or offered & names:
                    return task, at
        return None

    def of_user(self, asked: str) -> Task | None:
        """The task whose user is to be played.

        Args:
            asked: The prompt: it has the task's query and its background, escaped.
        """
        for task in self.tasks:
            background = task.user_context.background
            if escape(task.query) in asked and (not background or escape(background) in asked):
                return task
        return None

    def rubric(self, asked: str) -> str | None:
        """The question of one of the tasks that a judge's prompt holds."""
        for task in self.tasks:
            for question in task.rubrics:
                if html.escape(question, quote=False) in asked:
                    return question
        return None


async def known_tasks(tasks: Sequence[str] | TaskSet = ()) -> Known:
    """What the stand-in has to know of some tasks; their servers are asked once for their tools.

    Args:
        tasks: Selectors of tasks of our own form, or such tasks; by default the bundled ones.

    Raises:
        InputError: A selector names nothing, or a file is wrong.
        SessionOpenError: A tool server cannot be started.
    """
    if isinstance(tasks, TaskSet):
        found = tasks
    else:
        found = load_tasks(tasks, backend=SQLITE) if tasks else load_tasks(backend=SQLITE)
    try:
        tools = await _tools(found, in_process=True)
    except InputError:  # servers that can only be started as programs
        tools = await _tools(found, in_process=False)
    return Known(tuple(found.tasks), tools)


async def _tools(tasks: TaskSet, *, in_process: bool) -> dict[str, tuple[ToolSpec, ...]]:
    tools: dict[str, tuple[ToolSpec, ...]] = {}
    async with golden_sandbox(tasks, in_process=in_process) as (box, here):
        native = NativeTasks(here, box)
        for domain, task in {each.domain: each for each in here.tasks}.items():
            async with native.open(task, seed=0, repetition=0) as stage:
                tools[domain] = tuple(tool.spec for tool in stage.tools)
    return tools
