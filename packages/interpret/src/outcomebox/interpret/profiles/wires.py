"""Calls as servers send them: a name and a string of arguments that need not be JSON."""

import json
from typing import Any

from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import EXECUTABLE, Span, Status, ToolCall


def served_call(name: str, wire: str, span: Span, tools: Toolbox) -> ToolCall:
    """Make the call that a client gets when a server sends this name and these arguments."""
    arguments = json_object(wire)
    status: Status = "ok"
    message = ""
    if arguments is None:
        status = "malformed"
        message = "the arguments are no JSON object"
    elif tools.offered(name) is False:
        status = "unknown_tool"
        message = f"no tool named {name!r} is offered"
    return ToolCall(
        name=name,
        arguments=arguments or {},
        status=status,
        executable=status in EXECUTABLE,
        span=span,
        message=message,
        wire=wire,
    )


def json_object(text: str) -> dict[str, Any] | None:
    """Read a JSON object as Python's `json` does, `NaN` included; None where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
