"""Rows to be shown: a small real run of a bundled domain, with an endpoint that breaks at times."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import anyio

from outcomebox.reward.rows import Row, read_rows, seal
from outcomebox.rollout import (
    Completion,
    EpisodeContext,
    EpisodeSetting,
    EpisodeStore,
    Message,
    Policy,
    PolicyEpisode,
    PolicyError,
    ScriptedUser,
    make_policy,
    run_all,
    seeder,
)
from outcomebox.sandbox import TaskSet, load_tasks, sandbox, start_domains

TASKS = 4
ATTEMPTS = 3


class Breaking:
    """The simulated policy behind an endpoint that is down for some attempts, after two turns."""

    name = "simulated"
    simulated = True
    format = "qwen3_xml"

    def __init__(self, broken: Mapping[tuple[str, int], int]) -> None:
        self.inner: Policy = make_policy("simulated")
        self.broken = Counter(broken)

    def describe(self) -> Mapping[str, Any]:
        """As the policy inside."""
        return self.inner.describe()

    async def check(self) -> None:
        """Nothing to see."""

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """An episode that breaks as often as it is to."""
        inner = self.inner.start(context)
        key = (context.task.uid, context.repetition)
        if not self.broken[key]:
            return inner
        self.broken[key] -= 1
        return _Broken(inner)

    async def aclose(self) -> None:
        """Nothing to release."""


class _Broken:
    def __init__(self, inner: PolicyEpisode) -> None:
        self.inner = inner
        self.turns = 0

    async def complete(self, messages: Sequence[Message]) -> Completion:
        if self.turns == 2:
            raise PolicyError("the endpoint answered 503 (Service Unavailable) five times")
        self.turns += 1
        return await self.inner.complete(messages)


@cache
def real_rows() -> tuple[Row, ...]:
    """Rows with passes, failures, an attempt that stayed broken, and one that was made again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "episodes.jsonl"
        anyio.run(_run, path)
        return tuple(read_rows(path))


async def _run(path: Path) -> None:
    found = load_tasks(["travel"])
    tasks = TaskSet(found.tasks[:TASKS], found.domains)
    first, second = (task.uid for task in tasks.tasks[:2])
    async with sandbox() as box:
        await start_domains(box, [found.domains["travel"]])
        setting = EpisodeSetting(
            sandbox=box,
            policy=Breaking({(first, 1): 1, (second, 0): 99}),
            user=ScriptedUser(),
            seed_of=seeder(0),
        )
        with EpisodeStore(path) as store:
            await run_all(setting, tasks, store, attempts=ATTEMPTS, concurrency=2, tries=2)


def write_run(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A run's folder with these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "episodes.jsonl").write_bytes(b"".join(seal(row) for row in rows))
    return folder


def first_of(rows: Sequence[Row], outcome: str) -> Row:
    """The first row of an outcome."""
    return next(row for row in rows if row["verdict"]["outcome"] == outcome)
