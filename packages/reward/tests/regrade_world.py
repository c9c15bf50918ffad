"""A small domain with tasks, and rows of episodes on it, made by SQL instead of sessions."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from outcomebox.reward import Check, Judge, Verdict, grade_safely
from outcomebox.reward.regrade.again import GRADERS, version
from outcomebox.reward.rows import seal
from outcomebox.sandbox import Task, TaskSet, change_to_json, load_domain, terminal_state
from outcomebox.sandbox.changes import read_state
from outcomebox.sandbox.recorded import initial_hash

SCHEMA = """
CREATE TABLE orders(order_id TEXT PRIMARY KEY, status TEXT NOT NULL, quantity INTEGER, note TEXT);
CREATE TABLE refunds(refund_id INTEGER PRIMARY KEY, order_id TEXT REFERENCES orders, cents INTEGER);
"""
SEED = """
INSERT INTO orders VALUES ('O-1', 'lost', 1, ''), ('O-2', 'sent', 2, ''), ('O-3', 'sent', 3, '');
"""
RESEND = {"orders": {"update": [{"key": {"order_id": "O-1"}, "set": {"status": "resent"}}]}}


def domain_folder(folder: Path, *, schema: str = SCHEMA, seed: str = SEED) -> Path:
    """A domain's folder, without tasks; its server is never started."""
    folder.mkdir(exist_ok=True)
    files = {
        "domain.yaml": "name: shop\ntitle: Shop\nnow: '2026-03-02T09:00:00Z'\n"
        "server: {file: server.py}\n",
        "schema.sql": schema,
        "seed.sql": seed,
        "policy.md": "Be kind.\n",
        "server.py": "",
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def task(uid: str = "shop/resend/1", expect: Any = None, **more: Any) -> Task:
    """A task of the domain."""
    given = {"uid": uid, "domain": "shop", "family": "resend", "query": "Where is it?"}
    return Task.model_validate(
        {**given, "expect": RESEND if expect is None else expect, **copy.deepcopy(more)}
    )


def task_set(folder: Path, *tasks: Task) -> TaskSet:
    """Tasks of the domain in a folder."""
    return TaskSet(tuple(sorted(tasks, key=lambda each: each.uid)), {"shop": load_domain(folder)})


def row_of(
    tasks: TaskSet,
    task: Task,
    statements: Sequence[str],
    *,
    repetition: int = 0,
    messages: Sequence[Mapping[str, Any]] = (),
    judge: Judge | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The row of an episode in which some statements were all that happened."""
    image: Any = tasks.image(task)  # SQLite's own: it has the bytes of its file
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(image.data)
        for statement in statements:
            connection.execute(statement)
        state = terminal_state(image.state, read_state(connection, like=image.state))
    verdict = grade_safely(Check.from_task(task), state, judge=judge, transcript=messages)
    return {
        "uid": task.uid,
        "repetition": repetition,
        "try": 0,
        "domain": task.domain,
        "family": task.family,
        "tags": list(task.tags),
        "verdict": verdict.to_json(),
        "finish_reason": "done",
        "messages": list(messages),
        "changes": [change_to_json(change) for change in state.changes],
        "schema_changes": list(state.schema_changes),
        "effects": None,
        "timing": {"grade": 0.001},
        "error": None if verdict.error is None else dict(verdict.error),
        "versions": {
            "packages": {name: version(name) for name in GRADERS},
            "task": task.hash,
            "content": task.content_hash,
            "domain": tasks.domain(task).hash,
            "initial": initial_hash(tasks.domain(task), task),
        },
        **more,
    }


def broken_row(tasks: TaskSet, task: Task, phase: str = "policy") -> dict[str, Any]:
    """The row of an episode that infrastructure broke."""
    error = {"type": "PolicyError", "message": "HTTP 503", "phase": phase}
    verdict = Verdict("system_error", None, (), {"error": error}).to_json()
    return row_of(tasks, task, ()) | {"verdict": verdict, "error": error, "finish_reason": None}


def write(path: Path, *rows: Mapping[str, Any]) -> Path:
    """A file of rows."""
    path.write_bytes(b"".join(map(seal, rows)))
    return path


def written(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, checksums and all."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
