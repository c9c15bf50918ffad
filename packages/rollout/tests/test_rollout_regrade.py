"""Grading real rows again: with the same tasks nothing moves, whoever acted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from outcomebox.reward.golden import golden_sandbox
from outcomebox.reward.regrade import Order, Report, open_run, regrade
from outcomebox.reward.rows import seal
from outcomebox.rollout import (
    EpisodeSetting,
    EpisodeStore,
    make_policy,
    make_user,
    read_rows,
    run_all,
    seeder,
)
from outcomebox.sandbox import BUNDLED, TaskSet, load_tasks

TASKS_A_DOMAIN = 4
ATTEMPTS = {"golden": 1, "noop": 1, "simulated": 2}


@pytest.fixture(scope="module")
def tasks() -> TaskSet:
    """Some tasks of each bundled domain, of as many families."""
    every = load_tasks(BUNDLED)
    kept = []
    for name in BUNDLED:
        first = {task.family: task for task in reversed(every.tasks) if task.domain == name}
        kept += [first[family] for family in sorted(first)[:TASKS_A_DOMAIN]]
    return TaskSet(tuple(sorted(kept, key=lambda task: task.uid)), every.domains)


@pytest.fixture(scope="module")
def run(tasks: TaskSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows of all policies on all tasks, repetitions counted on from policy to policy."""
    folder = tmp_path_factory.mktemp("run")

    async def probe() -> None:
        async with golden_sandbox(tasks, in_process=True) as (box, here):
            for name, attempts in ATTEMPTS.items():
                policy, user = make_policy(name, {}), make_user({})
                setting = EpisodeSetting(box, policy, user, seeder(0))
                with EpisodeStore(folder / f"{name}.jsonl") as store:
                    await run_all(setting, here, store, attempts=attempts, concurrency=1)

    anyio.run(probe)
    rows = [
        row | {"repetition": 10 * place + row["repetition"]}
        for place, name in enumerate(ATTEMPTS)
        for row in read_rows(folder / f"{name}.jsonl")
    ]
    path = folder / "episodes.jsonl"
    path.write_bytes(b"".join(map(seal, rows)))
    return path


def again(path: Path, tasks: TaskSet, **more: Any) -> Report:
    """The report of grading a file again."""
    return anyio.run(regrade, Order(open_run(path), tasks, **more))


def test_the_same_checks_say_the_same_for_the_same_reasons(run: Path, tasks: TaskSet) -> None:
    report = again(run, tasks)
    assert report.regraded == report.rows == len(tasks.tasks) * sum(ATTEMPTS.values())
    assert (report.moved, report.explained_otherwise, dict(report.since)) == ([], [], {})
    assert report.verdicts["passed", "passed"] >= len(tasks.tasks)
    assert report.verdicts["failed", "failed"] >= len(tasks.tasks) / 2


def test_messages_name_the_same_calls_as_they_did(
    run: Path, tasks: TaskSet, tmp_path: Path
) -> None:
    again(run, tasks, write=tmp_path / "new.jsonl")
    for old, new in zip(read_rows(run), read_rows(tmp_path / "new.jsonl"), strict=True):
        assert new["verdict"] == old["verdict"]
