"""Turns as OpenAI's APIs write them, and back: plain dicts, or any object with `model_dump`.

    message = to_message(interpret(output, tools=tools))
    turn = from_response(client.chat.completions.create(...))

A server sends a call's arguments as a string. `ToolCall.wire` is that string, on the way in and on
the way out, so that what a client gets is never written anew.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn
from uuid import uuid4

from outcomebox.interpret.output import CUT_REASONS
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Status, Tool, ToolCall, Turn

CallId = Callable[[int], str]
"""Gives the id of the call with that index."""


def random_call_id(index: int) -> str:
    """Return a new id, as servers make them."""
    del index
    return f"call_{uuid4().hex}"


def sent_calls(turn: Turn) -> tuple[ToolCall, ...]:
    """Return the calls that a client gets: the executable, and all of a server's profile.

    A server sends a call whose arguments are no JSON as well: the client has to answer it.
    """
    return tuple(call for call in turn.tool_calls if call.executable or call.wire is not None)


# -- chat completions -----------------------------------------------------------------------------


def to_message(
    turn: Turn, *, call_id: CallId = random_call_id, reasoning_field: str = "reasoning"
) -> dict[str, Any]:
    """Return a turn as the assistant's message of a chat completion.

    Args:
        turn: The turn. Attempts at calls that are not executable are left out.
        call_id: Gives the calls' ids.
        reasoning_field: What the reasoning is called: `reasoning` (vLLM) or `reasoning_content`.

    Returns:
        `role` and `content`, with reasoning and `tool_calls` where there are any.
    """
    message: dict[str, Any] = {"role": "assistant", "content": turn.content}
    if turn.reasoning is not None:
        message[reasoning_field] = turn.reasoning
    calls = [
        {
            "id": call_id(index),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments_json()},
        }
        for index, call in enumerate(sent_calls(turn))
    ]
    if calls:
        message["tool_calls"] = calls
    return message


def to_response(
    turn: Turn,
    *,
    model: str,
    finish_reason: str = "stop",
    response_id: str | None = None,
    created: int | None = None,
    usage: Mapping[str, int] | None = None,
    call_id: CallId = random_call_id,
    reasoning_field: str = "reasoning",
) -> dict[str, Any]:
    """Return a turn as a chat completion with one choice.

    Args:
        turn: The turn.
        model: The name of the model.
        finish_reason: Why generation ended. Where it ended by itself and there are calls, the
            response says `tool_calls`.
        response_id: The response's id; default: a new one.
        created: Seconds since 1970; default: now.
        usage: Token counts, where they are known.
        call_id: Gives the calls' ids.
        reasoning_field: What the reasoning is called in the message.
    """
    message = to_message(turn, call_id=call_id, reasoning_field=reasoning_field)
    ended = "tool_calls" if finish_reason not in CUT_REASONS and "tool_calls" in message else None
    response: dict[str, Any] = {
        "id": response_id or f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()) if created is None else created,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": ended or finish_reason,
                "logprobs": None,
            }
        ],
    }
    if usage is not None:
        response["usage"] = dict(usage)
    return response


def from_message(message: Any, *, tools: Sequence[Tool] | Toolbox | None = None) -> Turn:
    """Return an assistant's message as the turn that its server read.

    Args:
        message: A dict, or an object with `model_dump`.
        tools: The offered tools, where calls of others are to be told: status `unknown_tool`.

    Returns:
        Reasoning, content and calls exactly as they stand there (`None` and `""` are kept apart).
        Each call has its `wire`; its status is `ok` where that is a JSON object, and `malformed`
        (not executable) where it is not. There is no raw output, so spans are `(0, 0)`.

    Raises:
        ValueError: It is no assistant's message; the error names the field.
    """
    fields = _fields("message", message)
    if fields.get("role", "assistant") != "assistant":
        _refuse("message.role", fields["role"], "'assistant'")
    box = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    calls = [
        _chat_call(f"message.tool_calls[{index}]", call, box)
        for index, call in enumerate(fields.get("tool_calls") or ())
    ]
    reasoning = fields.get("reasoning")
    if reasoning is None:
        reasoning = fields.get("reasoning_content")
    return Turn(
        reasoning=_text("message.reasoning", reasoning),
        content=_text("message.content", fields.get("content")),
        tool_calls=tuple(calls),
    )


def from_response(
    response: Any, *, choice: int = 0, tools: Sequence[Tool] | Toolbox | None = None
) -> Turn:
    """Return a choice of a chat completion as a turn; see `from_message`.

    Raises:
        ValueError: It is no chat completion, or has no such choice; the error names the field.
    """
    choices = _fields("response", response).get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str):
        _refuse("response.choices", choices, "a list")
    if not 0 <= choice < len(choices):
        raise ValueError(f"response.choices has {len(choices)} entries; there is no [{choice}]")
    where = f"response.choices[{choice}]"
    return from_message(_fields(where, choices[choice]).get("message"), tools=tools)


def _chat_call(where: str, call: Any, tools: Toolbox) -> ToolCall:
    fields = _fields(where, call)
    if fields.get("type", "function") != "function":
        _refuse(f"{where}.type", fields["type"], "'function'")
    function = _fields(f"{where}.function", fields.get("function"))
    return _call(f"{where}.function", function, tools)


# -- responses ------------------------------------------------------------------------------------


def to_output_items(turn: Turn, *, call_id: CallId = random_call_id) -> list[dict[str, Any]]:
    """Return a turn as the `output` of OpenAI's Responses API: reasoning, message, calls."""
    items: list[dict[str, Any]] = []
    if turn.reasoning is not None:
        items.append(
            {
                "type": "reasoning",
                "id": f"rs_{uuid4().hex}",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": turn.reasoning}],
                "status": "completed",
            }
        )
    if turn.content is not None:
        items.append(
            {
                "type": "message",
                "id": f"msg_{uuid4().hex}",
                "role": "assistant",
                "content": [{"type": "output_text", "text": turn.content, "annotations": []}],
                "status": "completed",
            }
        )
    items += (
        {
            "type": "function_call",
            "id": f"fc_{uuid4().hex}",
            "call_id": call_id(index),
            "name": call.name,
            "arguments": call.arguments_json(),
            "status": "completed",
        }
        for index, call in enumerate(sent_calls(turn))
    )
    return items


def from_output_items(
    items: Iterable[Any], *, tools: Sequence[Tool] | Toolbox | None = None
) -> Turn:
    """Return the `output` of OpenAI's Responses API as a turn; see `from_message`.

    Texts of one kind are joined. Items of other kinds (searches, computer calls ...) belong to the
    server and are passed over.

    Raises:
        ValueError: An item is not as the API writes it; the error names the field.
    """
    box = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    texts: dict[str, list[str]] = {"reasoning": [], "message": []}
    calls: list[ToolCall] = []
    for index, item in enumerate(items):
        where = f"output[{index}]"
        fields = _fields(where, item)
        kind = fields.get("type")
        if kind == "function_call":
            calls.append(_call(where, fields, box))
        elif kind in texts:
            text = _text(f"{where}.content", fields.get("content"))
            if text is not None:
                texts[kind].append(text)
    reasoning, content = ("".join(found) if found else None for found in texts.values())
    return Turn(reasoning, content, tuple(calls))


# -- fields ---------------------------------------------------------------------------------------


def _call(where: str, function: Mapping[str, Any], tools: Toolbox) -> ToolCall:
    name, wire = function.get("name"), function.get("arguments")
    if not isinstance(name, str):
        _refuse(f"{where}.name", name, "a string")
    if not isinstance(wire, str):
        _refuse(f"{where}.arguments", wire, "a string")
    arguments = _json_object(wire)
    status: Status = "ok"
    message = ""
    if arguments is None:
        status, message = "malformed", "its arguments are no JSON object"
    elif tools.offered(name) is False:
        status, message = "unknown_tool", f"no tool {name!r} is offered"
    return ToolCall(
        name=name,
        arguments=arguments or {},
        status=status,
        executable=arguments is not None,
        span=(0, 0),
        message=message,
        wire=wire,
    )


def _json_object(text: str) -> dict[str, Any] | None:
    """Return what a client's JSON reader makes of the text; None where that is no object."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _text(where: str, value: Any) -> str | None:
    """Return a text, or the joined texts of a list of parts."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Sequence):
        _refuse(where, value, "a string, a list of parts, or null")
    parts = (_fields(f"{where}[{index}]", part).get("text") for index, part in enumerate(value))
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else None


def _fields(where: str, value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    dump = getattr(value, "model_dump", None)
    if dump is None:
        _refuse(where, value, "an object of OpenAI's API, as a dict or with `model_dump`")
    dumped: Mapping[str, Any] = dump()
    return dumped


def _refuse(where: str, value: Any, wanted: str) -> NoReturn:
    raise ValueError(f"{where}: {wanted} is wanted; got {value!r:.200}")
