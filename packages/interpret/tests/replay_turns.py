"""Turns and readings for the tests of the parity replay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from outcomebox.interpret import PromptState, Toolbox
from outcomebox.interpret.replay import Call, Reading, RecordedTurn
from outcomebox.interpret.replay.jsonvalues import read_arguments

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "note",
            "description": "Leaves a note.",
            "parameters": {
                "type": "object",
                "properties": {
                    "order": {"type": "string", "description": "Its number."},
                    "text": {"type": "string"},
                    "notify": {"type": "boolean"},
                    "cents": {"type": "number"},
                    "tags": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["order"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Looks an order up.",
            "parameters": {"type": "object", "properties": {"order": {"type": "string"}}},
        },
    },
]
TOOLBOX = Toolbox(TOOLS)


def xml(name: str, **arguments: str) -> str:
    """A call in the Qwen3 XML form, its values written as they are."""
    lines = [f"<tool_call>\n<function={name}>"]
    for key, value in arguments.items():
        lines.append(f"<parameter={key}>\n{value}\n</parameter>")
    return "\n".join([*lines, "</function>\n</tool_call>"])


def turn(
    text: str,
    *,
    prompt_state: PromptState = "think_closed",
    finish_reason: str = "stop",
    tools: Sequence[Any] | None = TOOLS,
    form: str = "qwen3_xml",
) -> RecordedTurn:
    """A recorded turn."""
    box = TOOLBOX if tools is TOOLS else Toolbox(tools)
    return RecordedTurn(
        text,
        None,
        tools,
        box,
        form,
        prompt_state,
        finish_reason,
        "rows.jsonl",
        1,
    )


def call(
    name: str, wire: str | dict[str, Any], *, executable: bool = True, status: str = "ok"
) -> Call:
    """A call as a reader returns it."""
    text = wire if isinstance(wire, str) else json.dumps(wire)
    arguments = read_arguments(text)
    return Call(name, text, arguments, executable and arguments is not None, status)


def reading(
    *calls: Call, reasoning: str | None = None, content: str | None = None, error: str = ""
) -> Reading:
    """A reading."""
    return Reading(reasoning, content, calls, error)
