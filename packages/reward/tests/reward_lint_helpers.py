"""Linting of checks whose golden is SQL, as the cases have it, and of bundled tasks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio

from outcomebox.reward.golden import golden_sandbox
from outcomebox.reward.lint import (
    Evidence,
    Finding,
    LintedTask,
    LintSettings,
    lint_check,
    lint_task,
    statement_evidence,
)
from outcomebox.reward.lint.driver import Replays
from outcomebox.sandbox import Task, TaskSet, load_tasks

_LINES = (Path(__file__).parent / "cases" / "state.jsonl").read_text(encoding="utf-8").split("\n")
LINT_CASES: list[dict[str, Any]] = [
    case for line in _LINES if line and (case := json.loads(line))["kind"] == "lint"
]


def lint_sql(
    schema: str,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    golden: Sequence[str],
    check: Mapping[str, Any],
    *,
    seed: int = 0,
) -> LintedTask:
    """Lint a check against golden statements on a seed, loaded without its triggers."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(schema)
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f'DROP TRIGGER "{name}"')
        for table, listed in rows.items():
            for row in listed:
                names = ", ".join(f'"{name}"' for name in row)
                marks = ", ".join("?" for _ in row)
                sql = f'INSERT INTO "{table}" ({names}) VALUES ({marks})'
                connection.execute(sql, list(row.values()))
        for _, sql in triggers:
            connection.execute(sql)
        evidence = statement_evidence(connection, golden)
    return lint_check("case", check, evidence, seed=seed)


def codes(linted: LintedTask) -> set[str]:
    """The codes of its findings."""
    return {found.code for found in linted.findings}


def found(linted: LintedTask, code: str) -> list[Finding]:
    """Its findings with a code."""
    return [each for each in linted.findings if each.code == code]


TASKS = (
    "retail/cancel-order/two-payments",
    "retail/exchange/moss-for-navy",
    "retail/late-delivery/half-of-it-is-here",
    "retail/lost-parcel/lost-express",
    "travel/multi-booking/cancel-one-upgrade-one",
    "travel/payment-capture/ticket-and-seven-days",
)
"""Bundled tasks with updates, inserts, texts and reorderings, and without explanations."""


@cache
def bundled() -> tuple[dict[str, Task], dict[str, Evidence]]:
    """Some bundled tasks and what replays of them showed, by uid; replayed once a process."""
    known = load_tasks()
    tasks = replace(known, tasks=tuple(known.by_uid[uid] for uid in TASKS))
    return known.by_uid, anyio.run(replays, tasks)


async def replays(tasks: TaskSet) -> dict[str, Evidence]:
    """What replays of some tasks show, without the wait for the real clock."""
    async with golden_sandbox(tasks, in_process=True) as (box, here):
        settings = LintSettings(tasks, in_process=True, tick_s=0)
        done = Replays(box, here, settings)
        for task in here.tasks:
            await done.take(task)
    assert not done.broken
    return done.found


def seeded(uid: str, **changed: Any) -> Task:
    """A bundled task with other fields."""
    task = bundled()[0][uid]
    return Task.model_validate({**task.model_dump(mode="json"), **changed})


def plain(uid: str) -> Any:
    """A bundled task's ``expect`` as plain JSON, free to be changed."""
    return bundled()[0][uid].model_dump(mode="json")["expect"]


def lint_seeded(task: Task) -> LintedTask:
    """Lint a task against what replays of the bundled one showed."""
    return lint_task(task, bundled()[1][task.uid])
