"""A generated turn before it is damaged: a list of chunks that know what part they play."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from oracle_draw import Draw, chance, pick, some
from oracle_values import as_json, value_for
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.turn import Tool

Chunks = list["Chunk"]

STATES: tuple[PromptState, ...] = ("think_open", "assistant_start", "think_closed")

_THOUGHTS = (
    "It is late.", "\nRefund it.\n", "Check O-17 first, then pay.\n", "", "\n", "a < b and b > c",
    "Dana's order, 12 % off\n\n", "Use the tool <b>now</b>.", "Ok\t", "é 🙂 漢字",
)  # fmt: skip
_SENTENCES = (
    "Done.", "I will refund it.", "Here:\n", "  ", "One moment, please", "x", "1 < 2",
    "see <b>this</b>", "Größe: 3 €", "{}", '{"a": 1}', "\n",
)  # fmt: skip


class Chunk(NamedTuple):
    """A stretch of the output.

    Attributes:
        role: What it is: `think_open`, `reasoning`, `think_close`, `text`, `space`, `call_open`,
            `function_open`, `parameter_open`, `value`, `parameter_close`, `function_close`,
            `body`, `call_close`, `special` or `end`.
        text: How it is written.
        spelled: Whether ordinary tokens spell what markup it holds.
        about: The schema of a value; the name and arguments of a body.
    """

    role: str
    text: str
    spelled: bool = False
    about: Any = None


def sentence(draw: Draw) -> str:
    """Draw a text that stands outside reasoning and calls."""
    return pick(draw, _SENTENCES)


def at(chunks: Chunks, *roles: str) -> list[int]:
    """Return where chunks of these roles are."""
    return [index for index, chunk in enumerate(chunks) if chunk.role in roles]


def thinking(draw: Draw, state: PromptState) -> Chunks:
    """Draw the reasoning that fits where the prompt left the model."""
    opens = state == "assistant_start" and chance(draw, 80)
    if not opens and state != "think_open":
        return []
    chunks = [Chunk("think_open", "<think>")] if opens else []
    return [*chunks, Chunk("reasoning", pick(draw, _THOUGHTS)), Chunk("think_close", "</think>")]


def arguments_for(draw: Draw, tool: Tool) -> list[tuple[str, str, Any]]:
    """Draw the name, text and schema of each argument of a call."""
    schema: Mapping[str, Any] = tool["function"].get("parameters", {})
    properties: Mapping[str, Any] = schema.get("properties", {})
    chosen = some(draw, list(properties), min(1, len(properties)), len(properties))
    return [(key, value_for(draw, properties[key]), properties[key]) for key in chosen]


def call_chunks(draw: Draw, format_name: str, tool: Tool, name: str | None = None) -> Chunks:
    """Draw a call of a tool, under another name where one is given."""
    called: str = tool["function"]["name"] if name is None else name
    arguments = arguments_for(draw, tool)
    between = "" if chance(draw, 15) else "\n"
    if format_name == "hermes":
        values = {key: as_json(draw, text) for key, text, _ in arguments}
        inner = [Chunk("body", written(called, values), about=(called, values))]
    else:
        inner = list(_function(called, arguments, between))
    space = [Chunk("space", between)] if between else []
    return [
        Chunk("call_open", "<tool_call>"),
        *space,
        *inner,
        *space,
        Chunk("call_close", "</tool_call>"),
    ]


def function_chunks(draw: Draw, tool: Tool) -> Chunks:
    """Draw a function of the XML form without its wrapper."""
    return list(_function(tool["function"]["name"], arguments_for(draw, tool), "\n"))


def written(name: Any, arguments: Any) -> str:
    """Return a body as the template writes it."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _function(name: str, arguments: Iterable[tuple[str, str, Any]], between: str) -> Chunks:
    space = [Chunk("space", between)] if between else []
    chunks = [Chunk("function_open", f"<function={name}>"), *space]
    for key, text, schema in arguments:
        chunks += [
            Chunk("parameter_open", f"<parameter={key}>"),
            *space,
            Chunk("value", text, about=schema),
            *space,
            Chunk("parameter_close", "</parameter>"),
            *space,
        ]
    return [*chunks, Chunk("function_close", "</function>")]
