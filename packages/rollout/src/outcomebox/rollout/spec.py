"""A run by its settings: what another process, on another machine, makes the same worker from."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.secrets import remember
from outcomebox.reward.thinkingbox.standin import ReplayJudge
from outcomebox.rollout.episode import EpisodeSetting
from outcomebox.rollout.executors.base import Job
from outcomebox.rollout.judges import make_judge
from outcomebox.rollout.policies import make_policy
from outcomebox.rollout.policy import Policy
from outcomebox.rollout.recording import ReplayError, ReplayPolicy, recording, replaying
from outcomebox.rollout.seeds import seeder
from outcomebox.rollout.selected import selected
from outcomebox.rollout.stage import Tasks
from outcomebox.rollout.stages import ThinkingBoxSettings, open_tasks
from outcomebox.rollout.turns import check_profile
from outcomebox.rollout.users import User, make_user
from outcomebox.rollout.worker import Worker
from outcomebox.sandbox import (
    BACKEND_VARIABLE,
    BUNDLED,
    SQLITE,
    Backend,
    InputError,
    find_backend,
    load_servers,
    sandbox,
)


@dataclass(frozen=True)
class RunSpec:
    """All that decides the rows of a run, as plain values; it holds no secret.

    Keys come from environment variables that options name, the address of a database server (which
    may hold a password) from ``OUTCOMEBOX_BACKEND``; a worker elsewhere needs the same variables.

    Attributes:
        tasks: Selectors of tasks (see ``open_tasks``).
        policy: Name of the policy.
        policy_options: Its settings.
        user_options: Of the model that plays the user; none for the scripted one.
        judge: Name of the judge; None without one.
        judge_options: Its settings.
        judge_cache: File in which the judge's votes are kept.
        seed: Of the run; every episode has one of its own by it.
        profile: Interpreter profile that raw output is read with.
        limit_tasks: Only so many tasks, the first by uid; None for all.
        only: Only tasks with these uids.
        dataset: Folder of the ThinkingBox form.
        servers: Its ``servers.yaml``.
        server_python: What ``{python}`` in it stands for.
        clock: Frozen moment of its servers.
        list_file: A YAML list of its tasks.
        agent: Its agent.
        user_may_end: Whether its simulated user may end the conversation.
        record: Whether what is said to models and back is kept.
        replay: A recording that answers instead of models.
    """

    tasks: tuple[str, ...] = BUNDLED
    policy: str = "simulated"
    policy_options: Mapping[str, str] = field(default_factory=dict)
    user_options: Mapping[str, str] = field(default_factory=dict)
    judge: str | None = None
    judge_options: Mapping[str, str] = field(default_factory=dict)
    judge_cache: str | None = None
    seed: int = 0
    profile: str = "strict"
    limit_tasks: int | None = None
    only: tuple[str, ...] = ()
    dataset: str | None = None
    servers: str | None = None
    server_python: str | None = None
    clock: str | None = None
    list_file: str | None = None
    agent: str = "think"
    user_may_end: bool = False
    record: bool = False
    replay: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The settings that :meth:`to_json` gave.

        Raises:
            InputError: There is a field that is none.
        """
        known = {each.name for each in fields(cls)}
        for name in plain:
            if name not in known:
                raise InputError(
                    "is no setting of a run; it was written by another version", field=name
                )
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
        }
        return cls(**given)

    def tasks_on(self, backend: Backend[Any]) -> Tasks:
        """The tasks of the run, not started.

        Args:
            backend: Where databases of our own form are to be.

        Raises:
            InputError: One of them, or a selector, cannot be used.
        """
        servers = None
        if self.servers is not None:
            servers = load_servers(Path(self.servers), python=self.server_python, clock=self.clock)
        found = open_tasks(
            self.tasks,
            backend=backend,
            dataset=_path(self.dataset),
            servers=servers,
            list_file=_path(self.list_file),
            agent=self.agent,
            settings=ThinkingBoxSettings(user_may_end=self.user_may_end),
        )
        return selected(found, only=self.only, limit=self.limit_tasks)

    def actors(self, tasks: Tasks) -> Actors:
        """Policy, user and judge of the run.

        Args:
            tasks: Its tasks.

        Raises:
            InputError: An option is missing or of no use, or a judge is needed and there is none.
        """
        check_profile(self.profile, "qwen3_xml")
        if self.replay is not None:
            found = replaying(Path(self.replay))
            return Actors(found.policy, found.user, found.judge)
        return Actors(
            make_policy(self.policy, self.policy_options),
            make_user(self.user_options),
            make_judge(self.judge, self.judge_options, _path(self.judge_cache), tasks=tasks),
        )

    @asynccontextmanager
    async def loaded(self) -> AsyncIterator[Loaded]:
        """The run's tasks and actors, before any server is started.

        Raises:
            InputError: Something of the run cannot be used.
        """
        backend = find_backend(os.environ.get(BACKEND_VARIABLE))
        remember(os.environ.get(BACKEND_VARIABLE) if backend is not SQLITE else None)
        with closing(backend):
            tasks = self.tasks_on(backend)
            actors = self.actors(tasks)
            try:
                yield Loaded(self, tasks, actors)
            finally:
                await actors.aclose()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Worker]:
        """A worker of the run: its own sandbox, with the tasks' servers started.

        Raises:
            InputError: Something of the run cannot be used.
            SessionOpenError: A server cannot be started.
        """
        async with self.loaded() as loaded, loaded.worker() as worker:
            yield worker


@dataclass(frozen=True)
class Actors:
    """Who takes part in the episodes of a run.

    Attributes:
        policy: Who acts.
        user: Who asks.
        judge: Who answers the checks' questions; None without one.
    """

    policy: Policy
    user: User
    judge: AsyncJudge | ReplayJudge | None

    async def check(self, boundary: str | None = None) -> None:
        """See that they can answer at all.

        Args:
            boundary: ``policy``, ``user`` or ``judge``; all of them by default.

        Raises:
            InputError: One cannot, with what to mend.
        """
        for name in ("policy", "user", "judge"):
            actor = getattr(self, name)
            if actor is not None and boundary in {None, name}:
                await actor.check()

    async def aclose(self) -> None:
        """Release what they hold."""
        await self.policy.aclose()
        await self.user.aclose()
        if self.judge is not None:
            await self.judge.aclose()


@dataclass(frozen=True)
class Loaded:
    """A run whose tasks and actors are there.

    Attributes:
        spec: Its settings.
        tasks: Its tasks, not started.
        actors: Who takes part.
    """

    spec: RunSpec
    tasks: Tasks
    actors: Actors

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Worker]:
        """A worker with a sandbox of its own, the tasks' servers started.

        Raises:
            SessionOpenError: A server cannot be started.
            InputError: A server is not there.
        """
        async with sandbox() as box, self.tasks.started(box):
            setting = EpisodeSetting(
                sandbox=box,
                policy=self.actors.policy,
                user=self.actors.user,
                judge=self.actors.judge,
                profile=self.spec.profile,
                seed_of=seeder(self.spec.seed),
            )
            yield Worker(recording(setting) if self.spec.record else setting, self.tasks)

    def may_try(self, job: Job) -> bool:
        """Whether a try can be made: any can, but for those that a recording does not have.

        Args:
            job: The try.
        """
        policy = self.actors.policy
        if not isinstance(policy, ReplayPolicy):
            return True
        try:
            policy.recording.exchanges_of(job.uid, job.repetition, job.attempt)
        except ReplayError:
            return False
        return True


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
