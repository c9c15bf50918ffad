"""Runs against a stand-in endpoint, their sessions in this process."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from outcomebox.reward.golden import golden_sandbox
from outcomebox.reward.rows import read_rows
from outcomebox.rollout import EpisodeSetting, EpisodeStore, Policy, make_policy, make_user, run_all
from outcomebox.rollout.seeds import episode_seed
from outcomebox.rollout.standin import StandIn
from outcomebox.rollout.standin.known import Known, known_tasks
from outcomebox.sandbox import Sandbox, TaskSet, load_tasks

Key = tuple[str, int]
_OF_THE_TRY = {"try", "timing", "traffic", "checksum", "policy"}


@dataclass(frozen=True)
class Desk:
    """Some tasks of the bundled shop, and what a stand-in knows of them."""

    box: Sandbox
    tasks: TaskSet
    known: Known

    async def run(self, policy: Policy, *, attempts: int = 1) -> dict[Key, dict[str, Any]]:
        """The last row of each attempt, after all tries; fails if an attempt has two verdicts."""
        setting = EpisodeSetting(self.box, policy, make_user(None), seed_of=_seed)
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "episodes.jsonl"
                with EpisodeStore(path) as store:
                    await run_all(setting, self.tasks, store, attempts=attempts, concurrency=8)
                return _last(path)
        finally:
            await policy.aclose()

    async def against(
        self, endpoint: StandIn, *, attempts: int = 1, **options: str
    ) -> dict[Key, dict[str, Any]]:
        """The same with the model behind an endpoint."""
        given = {"base_url": endpoint.address, "model": "stand-in", "timeout_s": "20", **options}
        return await self.run(make_policy("openai", given), attempts=attempts)


@asynccontextmanager
async def desk(tasks: int, wanted: Callable[[Any], bool] = lambda _: True) -> AsyncIterator[Desk]:
    """The first so many tasks that are wanted."""
    whole = load_tasks(["retail"])
    some = [task for task in whole.tasks if wanted(task)][:tasks]
    chosen = replace(whole, tasks=tuple(some))
    async with golden_sandbox(chosen, in_process=True) as (box, here):
        yield Desk(box, here, await known_tasks(here))


def found(rows: Mapping[Key, Mapping[str, Any]]) -> dict[Key, dict[str, Any]]:
    """What rows say of the episodes, without what is of the try, the clock or the address."""
    return {
        key: {name: value for name, value in row.items() if name not in _OF_THE_TRY}
        for key, row in rows.items()
    }


def outcomes(rows: Mapping[Key, Mapping[str, Any]]) -> dict[Key, str]:
    """The outcome of each attempt."""
    return {key: row["verdict"]["outcome"] for key, row in rows.items()}


def calls(rows: Mapping[Key, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All calls of all assistant turns."""
    return [
        call
        for row in rows.values()
        for message in row["messages"]
        for call in message.get("tool_calls", ())
    ]


def _seed(uid: str, repetition: int) -> int:
    return episode_seed(7, uid, repetition) & 0x7FFFFFFF  # what an endpoint is sent


def _last(path: Path) -> dict[Key, dict[str, Any]]:
    last: dict[Key, dict[str, Any]] = {}
    for row in read_rows(path):
        key = (row["uid"], row["repetition"])
        before = last.get(key)
        assert before is None or before["verdict"]["outcome"] == "system_error", key
        last[key] = dict(row)
    return last
