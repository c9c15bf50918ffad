"""Messages as chat templates need them, which is not always how servers send them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.interpret.tokens.errors import TurnRefused

Message = Mapping[str, Any]
"""A chat message of the OpenAI kind; reasoning is `reasoning_content`."""


def prepared(messages: Sequence[Message], *, json_words: bool = False) -> list[dict[str, Any]]:
    """Return messages with every call's arguments as a mapping.

    Servers send arguments as a JSON string, and templates that walk over them fail on it.

    Args:
        messages: The messages; they are not changed.
        json_words: Also write `true`, `false` and `null` as text, for templates that would write
            Python's words for them.

    Raises:
        TurnRefused: `string_arguments`: a string that is no JSON object; the message says which.
    """
    return [_message(at, each, json_words=json_words) for at, each in enumerate(messages)]


def check_tools_follow(messages: Sequence[Message], first: int = 0) -> None:
    """Check that each run of tool messages from `first` on follows an assistant's turn.

    Raises:
        TurnRefused: `tool_alone`: the render of a tool message depends on the call before it.
    """
    for at in range(first, len(messages)):
        if messages[at].get("role") != "tool":
            continue
        before = messages[at - 1].get("role") if at else None
        if before not in ("assistant", "tool"):
            raise TurnRefused(
                "tool_alone",
                f"messages[{at}] is a tool result behind {before or 'nothing'}; give the "
                "conversation with the assistant's call before it",
            )


def has_user_query(messages: Sequence[Message]) -> bool:
    """Say whether a user asks something; a turn that only carries a tool's response does not."""
    return any(each.get("role") == "user" and not _is_response(each) for each in messages)


def _is_response(message: Message) -> bool:
    content = message.get("content")
    text = content.strip() if isinstance(content, str) else ""
    return text.startswith("<tool_response>") and text.endswith("</tool_response>")


def _message(at: int, message: Message, *, json_words: bool) -> dict[str, Any]:
    made = dict(message)
    calls = made.get("tool_calls")
    if calls:
        made["tool_calls"] = [
            _call(f"messages[{at}].tool_calls[{number}]", call, json_words=json_words)
            for number, call in enumerate(calls)
        ]
    return made


def _call(where: str, call: Mapping[str, Any], *, json_words: bool) -> dict[str, Any]:
    made = dict(call)
    if isinstance(made.get("function"), Mapping):
        made["function"] = _call(where, made["function"], json_words=json_words)
        return made
    arguments = _arguments(where, made.get("arguments"))
    if arguments is not None:
        if json_words:
            arguments = {
                name: json.dumps(value) if value is None or isinstance(value, bool) else value
                for name, value in arguments.items()
            }
        made["arguments"] = arguments
    return made


def _arguments(where: str, arguments: Any) -> dict[str, Any] | None:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            raise TurnRefused(
                "string_arguments",
                f"{where}.arguments {arguments!r:.80} is no JSON: {error}; give the object, or the "
                "model's own text as content",
            ) from error
    if arguments is None:
        return None
    if not isinstance(arguments, Mapping):
        raise TurnRefused(
            "string_arguments",
            f"{where}.arguments {arguments!r:.80} is no object; give the object, or the model's "
            "own text as content",
        )
    return dict(arguments)
