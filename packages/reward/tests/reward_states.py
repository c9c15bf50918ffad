"""Terminal states made by SQL, in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from outcomebox.reward import Check, Reason
from outcomebox.sandbox.changes import TerminalState, read_state, terminal_state


def state_after(script: str, *statements: Any) -> TerminalState:
    """What statements, each SQL or (SQL, parameters), leave of what a script made."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(script)
        before = read_state(connection)
        for statement in statements:
            connection.execute(*([statement] if isinstance(statement, str) else statement))
        return terminal_state(before, read_state(connection, like=before))


def check(tables: Mapping[str, Any], **more: Any) -> Check:
    """A check in its JSON form."""
    return Check.from_json({"tables": tables, **more})


def brief(reason: Reason) -> tuple[str, str | None, tuple[Any, ...] | None, str | None]:
    """Kind, table, key values and column of a reason."""
    key = None if reason.key is None else tuple(reason.key.values())
    return (reason.kind, reason.table, key, reason.column)


class Says:
    """A judge with fixed answers; a question it does not know is a mistake of the test."""

    def __init__(self, answers: Mapping[Any, Any] | None = None) -> None:
        self.answers = answers or {}
        self.asked: list[tuple[str, str]] = []

    def ask(self, question: str, text: str) -> bool:
        self.asked.append((question, text))
        answer = self.answers.get((question, text), self.answers.get(question))
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]
