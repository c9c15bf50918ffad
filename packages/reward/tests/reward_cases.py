"""Plays the cases of ``cases/state.jsonl`` on real SQLite files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from outcomebox.reward import JudgeError
from outcomebox.sandbox.changes import Change, TerminalState, read_state, terminal_state
from outcomebox.sandbox.database import DatabaseState

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "state.jsonl")
    .read_text(encoding="utf-8")
    .split("\n")
    if line
]


def cases_of(*kinds: str) -> list[Any]:
    """The cases of some kinds, as pytest parameters named after them."""
    import pytest

    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] in kinds]


def value(data: Any) -> Any:
    """A SQLite parameter of a case."""
    if isinstance(data, dict) and "$blob" in data:
        return bytes.fromhex(data["$blob"])
    return float("nan") if isinstance(data, dict) and "$nan" in data else data


def seed(path: Path, schema: str, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> DatabaseState:
    """A database file with these rows, loaded without triggers and foreign key checks."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(schema)
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f'DROP TRIGGER "{name}"')
        for table, listed in rows.items():
            for row in listed:
                columns = ", ".join(f'"{column}"' for column in row)
                marks = ", ".join("?" for _ in row)
                connection.execute(
                    f'INSERT INTO "{table}" ({columns}) VALUES ({marks})',
                    [value(cell) for cell in row.values()],
                )
        for _, sql in triggers:
            connection.execute(sql)
    return read_state(path)


def play(path: Path, statements: Iterable[Any]) -> None:
    """Run statements as a case's agent does; every connection closes without commit."""
    with ExitStack() as stack:
        connections: dict[str, sqlite3.Connection] = {}
        for statement in statements:
            step = statement if isinstance(statement, dict) else {"sql": statement}
            name = step.get("conn", "a")
            if name not in connections:
                connection = sqlite3.connect(path, isolation_level=None)
                stack.enter_context(closing(connection))
                connection.execute("PRAGMA foreign_keys = ON")
                connections[name] = connection
            params = [value(cell) for cell in step.get("params", [])]
            failed = False
            try:
                connections[name].execute(step["sql"], params)
            except sqlite3.Error:
                failed = True
            assert failed == step.get("fails", False), f"{step['sql']}: fails is {failed}"


def end_of(case: Mapping[str, Any], folder: Path, statements: Sequence[Any]) -> TerminalState:
    """The terminal state that statements leave on the case's seed."""
    path = folder / "database.sqlite"
    initial = seed(path, case["schema"], case["seed"])
    play(path, statements)
    return terminal_state(initial, read_state(path))


class CaseJudge:
    """Answers as the case says."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []

    def ask(self, question: str, text: str) -> bool:
        self.asked.append((question, text))
        answer = self.answers[question]
        if answer == "error":
            raise JudgeError("no readable answer")
        return answer == "yes"


def plain(change: Change) -> dict[str, Any]:
    """A change in the form of the cases' ``changes``."""
    base: dict[str, Any] = {"op": change.op, "table": change.table}
    if change.key is None:
        row = change.new if change.op == "insert" else change.old
        return {**base, "row": dict(row or {})}
    if change.op == "update":
        return {**base, "key": dict(change.key), "columns": sorted(change.columns)}
    return {**base, "key": dict(change.key)}


def bag(items: Iterable[Any]) -> list[str]:
    """Things that can be compared in any order; 1 and 1.0 stay apart."""
    return sorted(json.dumps(item, sort_keys=True) for item in items)
