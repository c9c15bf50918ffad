"""What the interpreter hands out: one turn of a model, with everything that was done to read it.

All types are immutable named tuples of plain values: cheap to import, to compare and to record.
Positions are half-open character ranges `(start, end)` into the raw output.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Span = tuple[int, int]

Status = Literal[
    "ok",
    "coerced",
    "repaired",
    "coercion_failed",
    "unknown_tool",
    "ambiguous",
    "malformed",
    "truncated",
]
"""How a tool call was read; see `ToolCall.status`."""

EXECUTABLE: frozenset[Status] = frozenset(
    {"ok", "coerced", "repaired", "coercion_failed", "unknown_tool"}
)
"""Statuses with exactly one reading. The tool, or whoever calls it, answers for what is wrong."""

DiagnosticCode = Literal[
    "cut_marker",
    "doubled_opener",
    "draft_call",
    "empty_call",
    "missing_think_open",
    "repeated_think_open",
    "stray_marker",
    "stream_broken",
    "tools_refused",
    "unknown_parameter",
    "unresolved_ref",
]


class Coercion(NamedTuple):
    """One value that was not taken as the output wrote it.

    Attributes:
        parameter: The parameter, with a path inside it: `items[1].price`.
        text: What the output wrote.
        value: What it was read as.
        why: The reason, in words.
    """

    parameter: str
    text: str
    value: Any
    why: str


class Diagnostic(NamedTuple):
    """Something noticed while reading that belongs to no call's status.

    Attributes:
        code: What was noticed, for programs.
        message: What was noticed and what became of it, for people.
        span: Where.
    """

    code: DiagnosticCode
    message: str
    span: Span


class ToolCall(NamedTuple):
    """One tool call, or an attempt at one.

    Attributes:
        name: The tool's name; empty where an attempt has none.
        arguments: The typed arguments, ready to be sent when `executable`. For an attempt that is
            not executable, what was read of it before any typing: the raw text of the parameters
            that were closed, or JSON values as they were written.
        status: The gravest thing that is true of the call, one of `Status`:
            `ok`: every value stands as written. `coerced`: a value was converted with nothing
            lost. `repaired`: a slip with one reading was mended (a missing closer, a Python
            literal). `coercion_failed`: a value does not fit its schema and was left as written.
            `unknown_tool`: no tool of that name is offered. `ambiguous`: more than one reading.
            `malformed`: no reading. `truncated`: cut by the token limit.
        executable: Whether the call may be sent. True for the first five statuses.
        span: The markup of the call in the raw output.
        changes: Every value that was coerced or repaired.
        message: What is wrong or was changed, for the model and for people; empty when `ok`.
        wire: Under a server's profile, `function.arguments` exactly as that server sends it, which
            need not be JSON; None under `strict`, whose arguments are the JSON of `arguments`.
    """

    name: str
    arguments: dict[str, Any]
    status: Status
    executable: bool
    span: Span
    changes: tuple[Coercion, ...] = ()
    message: str = ""
    wire: str | None = None

    def arguments_json(self) -> str:
        """Return the arguments as a server sends them: `wire`, else the JSON of `arguments`."""
        if self.wire is not None:
            return self.wire
        return json.dumps(self.arguments, ensure_ascii=False)


class Turn(NamedTuple):
    """One model turn.

    Attributes:
        reasoning: The text of the reasoning block, verbatim; None when there is none or only
            white space.
        content: The text outside reasoning and calls, verbatim and in order; pieces of white space
            between or around calls are separators and left out. None when nothing is left.
        tool_calls: All calls and attempts, in order.
        diagnostics: What else was noticed, in order.
    """

    reasoning: str | None
    content: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


Tool = Mapping[str, Any]
"""An OpenAI tool object, with or without the `function` wrapper."""
