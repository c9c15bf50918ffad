"""The kinds of rows, and where each keeps what a turn needs."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

RAW_MESSAGES = "raw_messages"
"""Where ThinkingBox keeps what the model wrote; there a message's `content` is the raw output."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    "messages": (RAW_MESSAGES, "messages"),
    "output": ("raw", "output", "text", "raw_output", "completion", "response"),
    "ids": ("ids", "output_ids", "token_ids", "response_ids"),
    "tools": ("tools", "task.tools", "metadata.tools", "request.tools"),
    "domain": ("domain", "task.domain"),
    "prompt_state": ("prompt_state", "metadata.prompt_state"),
    "finish_reason": ("finish_reason", "finish", "metadata.finish_reason"),
    "format": ("format", "versions.format", "metadata.format"),
}
"""What is meant -> the dotted fields it is looked for in, the first that is there wins."""

_TAKEN_APART = ("tool_calls", "reasoning_content", "reasoning")
"""What a message has whose content an endpoint has already parsed."""

_MESSAGE_FIELDS = ("output", "ids", "tools", "prompt_state", "finish_reason", "format")


class RawTurn(NamedTuple):
    """One turn as a row holds it, nothing checked yet.

    Attributes:
        output: The raw output; None where the row holds none.
        ids: Its token ids.
        tools: The offered tools.
        domain: The domain of the row, by which tools may be looked up.
        prompt_state: Where the prompt left the model.
        finish_reason: Why generation of this turn ended.
        format: How the model writes calls.
        place: Its place in the row; empty where the row is the turn.
    """

    output: Any
    ids: Any
    tools: Any
    domain: Any
    prompt_state: Any
    finish_reason: Any
    format: Any
    place: str


def raw_turns(row: Mapping[str, Any], fields: Mapping[str, str]) -> Iterator[RawTurn]:
    """Yield the turns of a row: of an episode each assistant message, of a plain row itself.

    Args:
        row: The row.
        fields: More names of fields, as `FIELDS`; they are looked for first.
    """
    name, messages = _found(row, "messages", fields)
    # A plain row may carry the conversation before its output.
    plain = (
        _found(row, "output", fields)[1] is not None or _found(row, "ids", fields)[1] is not None
    )
    if plain or not isinstance(messages, list):
        yield _raw_turn(row, row, fields, "")
        return
    for index, message in enumerate(messages):
        if isinstance(message, Mapping) and _is_assistant(message):
            yield _raw_turn(row, message, fields, f"{name}[{index}]")


def _is_assistant(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant"


def _raw_turn(
    row: Mapping[str, Any], holder: Mapping[str, Any], fields: Mapping[str, str], place: str
) -> RawTurn:
    values = {name: _found(holder, name, fields)[1] for name in _MESSAGE_FIELDS}
    if holder is not row:
        # What a message does not say of itself may hold for the whole row; its finish reason does
        # not: that of an episode says how the episode ended.
        for name in ("tools", "prompt_state", "format"):
            if values[name] is None:
                values[name] = _found(row, name, fields)[1]
    output = values["output"] if values["output"] is not None else values["ids"]
    if output is None and place.startswith(RAW_MESSAGES):
        parsed = any(holder.get(name) for name in _TAKEN_APART)
        output = None if parsed else holder.get("content")
    domain = _found(row, "domain", fields)[1]
    return RawTurn(
        output=output,
        ids=values["ids"],
        tools=values["tools"],
        domain=domain,
        prompt_state=values["prompt_state"],
        finish_reason=values["finish_reason"],
        format=values["format"],
        place=place,
    )


def _found(holder: Mapping[str, Any], name: str, fields: Mapping[str, str]) -> tuple[str, Any]:
    more = (fields[name],) if name in fields else ()
    for dotted in (*more, *FIELDS[name]):
        value = _dotted(holder, dotted)
        if value is not None:
            return dotted, value
    return FIELDS[name][0], None


def _dotted(holder: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        if not isinstance(holder, Mapping):
            return None
        holder = holder.get(part)
    return holder
