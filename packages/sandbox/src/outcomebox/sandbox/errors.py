"""The errors of the sandbox, each named after the boundary that a failure crossed.

Two families, and nothing else leaves this package on purpose:

* :class:`InputError`: what a person wrote is wrong (a task file, a domain, a selector). The message
  names the file, the field, the value and the mend; commands print it and end with status 2.
* :class:`SandboxFault`: infrastructure failed. It carries the ``phase`` it happened in; the episode
  becomes a ``system_error``, never a failure of the agent.

A tool that answers with an error is neither: that is a normal result, which the agent reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError


class InputError(ValueError):
    """Something a person wrote cannot be used as it is.

    Args:
        message: What is wrong and how to mend it.
        file: Where it stands.
        task: The task's uid, where one is concerned.
        field: Dotted path of the field, where one is concerned.
        value: The offending value; shown shortened.
    """

    def __init__(
        self,
        message: str,
        *,
        file: Path | str | None = None,
        task: str | None = None,
        field: str | None = None,
        value: object = None,
    ) -> None:
        where = [str(part) for part in (file, task, field) if part]
        shown = "" if value is None else f" (found {_short(value)})"
        super().__init__(": ".join([*where, f"{message}{shown}"]))
        self.file = file
        self.task = task
        self.field = field
        self.value = value


class SandboxFault(Exception):
    """Infrastructure failed; whoever runs the episode turns it into a ``system_error``.

    Attributes:
        phase: Where it happened: ``open``, ``tool``, ``close`` or ``read``.
    """

    phase = "sandbox"


class SessionOpenError(SandboxFault):
    """A session could not be brought up (the server ended or did not answer, no database)."""

    phase = "open"


class ToolFault(SandboxFault):
    """A tool call got no answer; the session is of no further use."""

    phase = "tool"

    def __init__(self, message: str, *, tool: str) -> None:
        super().__init__(message)
        self.tool = tool


class ToolDeadline(ToolFault):
    """A tool call passed its deadline."""


class ServerDied(ToolFault):
    """The tool server ended during a call."""


class StateUnreadable(SandboxFault):
    """The terminal state could not be read: there is nothing to grade."""

    phase = "read"


def input_error(
    error: ValidationError,
    *,
    file: Path | str,
    data: Any = None,
    task: str | None = None,
    within: str = "",
) -> InputError:
    """The first problem of a pydantic error, as an :class:`InputError` with its place and value."""
    problem = error.errors(include_url=False)[0]
    location = [*problem["loc"]]
    if task is None and len(location) > 1 and location[0] == "tasks" and isinstance(data, dict):
        try:
            uid = data["tasks"][location[1]]["uid"]
        except (KeyError, IndexError, TypeError):
            uid = None
        if isinstance(uid, str):
            task = uid
    field = ".".join(str(part) for part in ([within, *location] if within else location))
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        message = "unknown field; take it out or mend its spelling"
    elif problem["type"] == "missing":
        message = "is missing; add it"
    more = error.error_count() - 1
    if more:
        message += f" [and {more} more]"
    value = None if problem["type"] == "missing" else problem.get("input")
    return InputError(message, file=file, task=task, field=field or None, value=value)


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
