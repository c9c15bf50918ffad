"""What became of one row: its verdict now beside the recorded one, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Cause: TypeAlias = Literal[
    "no_state",
    "tool_crash",
    "needs_judge",
    "initial_differs",
    "schema_unknown",
    "no_task",
    "custom_check",
]
"""Why a row is not graded again; see :data:`CAUSES`."""

CAUSES: Mapping[Cause, str] = {
    "no_state": "broke before there was a terminal state: stays a system error",
    "tool_crash": "a call broke its server twice: stays failed, whatever the check says",
    "needs_judge": "needs a judge's answer that is not recorded: name one with --judge",
    "initial_differs": "the initial state has changed since, so the recorded changes do not apply",
    "schema_unknown": "the schema was changed, and the record does not tell how",
    "no_task": "no such task among those given: add it with --tasks",
    "custom_check": "was graded by code over its servers' effects: make the replay again",
}

HOLDS: frozenset[Cause] = frozenset({"no_state", "tool_crash"})
"""The recorded verdict holds under any check."""
APART: frozenset[Cause] = frozenset({"no_task", "custom_check"})
"""The row is not of these tasks: nothing is said about it."""

_COMPARED = ("kind", "table", "key", "column", "expected", "found")
_SHOWN = ("kind", "table", "key", "column", "message")


@dataclass(frozen=True, slots=True)
class Left:
    """Why a row was not graded again.

    Attributes:
        cause: The cause.
        message: What in particular.
    """

    cause: Cause
    message: str


@dataclass(frozen=True, slots=True)
class Regraded:
    """One row.

    Attributes:
        uid: Its task.
        repetition: Index of the attempt, from 0.
        attempt: Index of the try at this attempt, from 0.
        line: Its line in the file, from 1.
        was: The recorded verdict, as JSON.
        now: The verdict of the present check, as JSON; None if there is none.
        left: Why there is none; None if there is one.
        why: What has changed since: ``task``, ``domain``, ``initial``, ``grader``, ``judge``.
        doubtful: Whether its initial state may have been another one where it did not write.
    """

    uid: str
    repetition: int
    attempt: int
    line: int
    was: Mapping[str, Any]
    now: Mapping[str, Any] | None
    left: Left | None
    why: tuple[str, ...]
    doubtful: bool = False

    @property
    def outcome(self) -> str | None:
        """The outcome that stands under the present check; None where that is not known."""
        if self.now is not None:
            return str(self.now["outcome"])
        held = self.left is not None and self.left.cause in HOLDS
        return str(self.was["outcome"]) if held else None

    @property
    def moved(self) -> bool:
        """Whether the verdict is another one."""
        return self.now is not None and self.now["outcome"] != self.was["outcome"]

    @property
    def explained_otherwise(self) -> bool:
        """Whether the verdict is the same, for other reasons. Wording does not count."""
        return self.now is not None and not self.moved and reasons(self.now) != reasons(self.was)

    def to_json(self) -> dict[str, Any]:
        """As the report holds it."""
        return {
            "uid": self.uid,
            "repetition": self.repetition,
            "try": self.attempt,
            "line": self.line,
            "was": _shown(self.was),
            "now": None if self.now is None else _shown(self.now),
            "why": list(self.why),
        }


def reasons(verdict: Mapping[str, Any]) -> list[str]:
    """A verdict's reasons, comparable: in no order, messages left out."""
    return sorted(
        json.dumps([reason.get(name) for name in _COMPARED], sort_keys=True)
        for reason in verdict["reasons"]
    )


def _shown(verdict: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        "outcome": verdict["outcome"],
        "reasons": [{name: each.get(name) for name in _SHOWN} for each in verdict["reasons"]],
    }
    error = (verdict.get("details") or {}).get("error")
    return shown | ({"error": error} if error else {})
