"""Verdicts and their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

Outcome: TypeAlias = Literal["passed", "failed", "system_error"]

Kind: TypeAlias = Literal[
    "missing_insert",
    "extra_insert",
    "missing_update",
    "extra_update",
    "wrong_value",
    "missing_delete",
    "extra_delete",
    "missing_row",
    "schema_changed",
    "rubric_failed",
    "wrong_answer",
    "assertion_failed",
    "tool_crash",
]
"""What a reason is about.

``missing_row``: a row to update or delete is in neither state. ``assertion_failed``: a custom check
raised AssertionError. ``tool_crash``: a tool call crashed its server twice in the same way.
"""

Phase: TypeAlias = Literal["read", "check", "judge"]
"""Where grading broke off: reading the terminal state, the check itself, or the judge."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that is wrong with a terminal state, or with the answer.

    Attributes:
        kind: What is wrong.
        table: The table concerned; None for the answer and the conversation.
        key: The primary key of the row concerned by column, as JSON; None where there is no row or
            it has no identity.
        column: The column concerned; None for a whole row.
        expected: What the check accepts, as JSON: a value, a matcher or a row.
        found: What is there, as JSON: a value or a row.
        message: One line for people.
        calls: The tool calls that wrote what is wrong, counted from 0; empty where not known.
    """

    kind: Kind
    table: str | None = None
    key: Mapping[str, Any] | None = None
    column: str | None = None
    expected: Any = None
    found: Any = None
    message: str = ""
    calls: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The reason as plain JSON."""
        return {
            "kind": self.kind,
            "table": self.table,
            "key": None if self.key is None else dict(self.key),
            "column": self.column,
            "expected": self.expected,
            "found": self.found,
            "message": self.message,
            "calls": list(self.calls),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reason:
        """The reason that :meth:`to_json` wrote; older ones have no ``calls``.

        Raises:
            ValueError: The kind is not known.
            TypeError: A field is not known, or the kind is missing.
        """
        reason = cls(**{**data, "calls": tuple(data.get("calls", ()))})
        if reason.kind not in get_args(Kind):
            raise ValueError(f"no such kind of reason: {reason.kind!r}")
        return reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one episode is worth.

    Attributes:
        outcome: ``passed``, ``failed``, or ``system_error``: no verdict, never counted as failed.
        score: 1.0 or 0.0, or the number that a custom check returned; None without a verdict.
        reasons: Why it failed; never empty for ``failed``, empty otherwise.
        details: More, as JSON: which alternative was compared, whether a search was cut short, what
            the judge said; for a ``system_error``, ``error`` with ``type``, ``message``, ``phase``.
    """

    outcome: Outcome
    score: float | None
    reasons: tuple[Reason, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.outcome not in get_args(Outcome):
            raise ValueError(f"no such outcome: {self.outcome!r}")
        if (self.outcome == "failed") != bool(self.reasons):
            raise ValueError(f"a verdict {self.outcome} with {len(self.reasons)} reasons")
        if (self.outcome == "system_error") != (self.score is None):
            raise ValueError(f"a verdict {self.outcome} with the score {self.score}")
        if self.score is not None and not 0 <= self.score <= 1:
            raise ValueError(f"a score is a number from 0 to 1, not {self.score}")
        if (self.outcome == "system_error") != ("error" in self.details):
            raise ValueError("details have an `error` if and only if there is no verdict")

    @property
    def reward(self) -> float | None:
        """1.0 if passed, 0.0 if failed; None without a verdict: leave the episode out."""
        return {"passed": 1.0, "failed": 0.0, "system_error": None}[self.outcome]

    @property
    def error(self) -> Mapping[str, str] | None:
        """``type``, ``message`` and ``phase`` of what broke, or None."""
        return self.details.get("error")

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain JSON, for records."""
        return {
            "outcome": self.outcome,
            "score": self.score,
            "reasons": [reason.to_json() for reason in self.reasons],
            "details": dict(self.details),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """The verdict that :meth:`to_json` wrote.

        Raises:
            ValueError: It is none of them.
            KeyError: A field is missing.
        """
        return cls(
            data["outcome"],
            data["score"],
            tuple(Reason.from_json(reason) for reason in data["reasons"]),
            data["details"],
        )


def passed(details: Mapping[str, Any] | None = None, *, score: float = 1.0) -> Verdict:
    """A verdict ``passed``."""
    return Verdict("passed", score, (), details or {})


def failed(*reasons: Reason, details: Mapping[str, Any] | None = None) -> Verdict:
    """A verdict ``failed``; it takes at least one reason."""
    return Verdict("failed", 0.0, reasons, details or {})


def system_error(error: BaseException, phase: Phase) -> Verdict:
    """A verdict ``system_error``: nothing is known about the episode."""
    return Verdict(
        "system_error",
        None,
        (),
        {"error": {"type": type(error).__name__, "message": error_text(error), "phase": phase}},
    )


def error_text(error: BaseException) -> str:
    """What an exception says; of one that breaks when it is asked, that it does."""
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 -- an exception's words must not cost its verdict
        return f"its message cannot be read: {type(second).__name__}"
