"""The tasks of the till for these tests: a small dataset in the ThinkingBox form."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from outcomebox.rollout import Completion, Episode, EpisodeSetting, ScriptedUser, seeder
from outcomebox.rollout.episode import run_episode
from outcomebox.rollout.errors import classify
from outcomebox.rollout.record import episode_row
from outcomebox.rollout.stages import ThinkingBoxSettings, ThinkingBoxTasks
from outcomebox.sandbox import Sandbox, load_servers, sandbox
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask, load_thinkingbox
from scripted_policy import Says, call

TILL = Path(__file__).parent / "till"
DEADLINE_S = 60.0
"""Longer than an honest call takes on any machine."""
HUNG_S = 5.0
"""Seconds after which a call that hangs for good is given up here."""
PAY = call("pay", account="a", amount=5)


def task_named(name: str, **changes: Any) -> ThinkingBoxTask:
    """A task of the till, some of its fields others."""
    (task,) = load_thinkingbox(TILL, [f"till.py:{name}"])
    config: Mapping[str, Any] = changes.pop("till", {})
    init = {**task.init, "till": {**task.init.get("till", {}), **config}}
    plain = {**task.model_dump(mode="json"), "init": init, **changes}
    plain["scenario"]["name"] = task.scenario.name
    return ThinkingBoxTask.model_validate(plain)


class Till:
    """A sandbox in which the till's server is live."""

    def __init__(self, box: Sandbox, tasks: ThinkingBoxTasks) -> None:
        self.box = box
        self._tasks = tasks

    def tasks(self, task: ThinkingBoxTask, **settings: Any) -> ThinkingBoxTasks:
        """The tasks of a run with one task."""
        settings = {"tool_deadline_s": DEADLINE_S, **settings}
        tasks = ThinkingBoxTasks([task], self._tasks.specs, ThinkingBoxSettings(**settings))
        tasks._live = self._tasks._live
        return tasks

    async def row(
        self, task: ThinkingBoxTask, *turns: Completion | str | BaseException, **more: Any
    ) -> dict[str, Any]:
        """The row of an episode in which the policy writes these turns."""
        _, row = await self.played(task, Says(*turns), **more)
        return row

    async def played(
        self,
        task: ThinkingBoxTask,
        policy: Any,
        *,
        settings: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> tuple[Episode, dict[str, Any]]:
        """An episode and its row; what raises becomes its error, as in a run."""
        tasks = self.tasks(task, **(settings or {}))
        setting = EpisodeSetting(
            **{
                "sandbox": self.box,
                "policy": policy,
                "user": ScriptedUser(),
                "seed_of": seeder(0),
                **more,
            }
        )
        episode, error = Episode(), None
        try:
            await run_episode(setting, tasks, task, 0, into=episode)
        except Exception as failure:  # noqa: BLE001 -- as the worker of a run does
            error = classify(failure)
        row = episode_row(
            setting, tasks, task, repetition=0, attempt=0, episode=episode, error=error
        )
        return episode, row


@asynccontextmanager
async def till() -> AsyncIterator[Till]:
    """A live till."""
    specs = load_servers(TILL / "servers.yaml")
    tasks = ThinkingBoxTasks([task_named("pays")], specs)
    async with sandbox() as box, tasks.started(box):
        yield Till(box, tasks)
