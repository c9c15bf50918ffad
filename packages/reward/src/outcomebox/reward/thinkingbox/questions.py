"""What a check may ask the runner, and who answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """What a check asks a judge model.

    Attributes:
        system: The system text.
        user: The user's text.
        reads: How the check will read the reply: ``legacy`` or ``motivation``; None for a prompt of
            the check's own, whose reply it reads itself.
    """

    system: str
    user: str
    reads: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a judge replies.

    Attributes:
        text: For the check to read.
        record: How it came about, as JSON; empty where there is nothing to tell.
    """

    text: str
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """A tool of the session that a check wants called after the episode, reserved ones included."""

    server: str
    tool: str
    arguments: Mapping[str, Any]


Question: TypeAlias = JudgeQuestion | ToolQuestion

Ask: TypeAlias = Callable[[Question], Awaitable[str]]
"""Answers a check's questions: the judge model's reply, or the text that the tool gave.

It raises :class:`ToolRefusedError` where the check itself may deal with the answer (there is no
such tool). Any other exception says that something is broken: there will be no verdict unless the
same question is answered later, whatever the check makes of it.
"""


class ToolRefusedError(Exception):
    """A tool cannot be called, and the check may know what to do about it."""
