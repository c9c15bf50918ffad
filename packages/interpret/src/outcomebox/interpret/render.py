"""Writes a turn as the model would: the inverse of `interpret`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.interpret.coercion.literals import read_json
from outcomebox.interpret.formats.qwen3_xml import FORMAT as QWEN3_XML
from outcomebox.interpret.interpreter import interpret
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.scanner import Scanner
from outcomebox.interpret.turn import Tool

_write = QWEN3_XML.write


def render(
    *,
    reasoning: str | None,
    content: str | None,
    tool_calls: Sequence[tuple[str, Mapping[str, object]]],
    prompt_state: PromptState = "think_closed",
    tools: Sequence[Tool] | None = None,
) -> str:
    """Return the raw output in the Qwen3 XML form that reads back as these parts.

    Text is written verbatim, content before calls. A string argument is written raw, any other
    value as JSON. An empty string is the same as None for reasoning and content.

    Args:
        reasoning: The text of the reasoning block.
        content: The visible text.
        tool_calls: Name and arguments of each call.
        prompt_state: Where the prompt left the model; a block that it opened is only closed.
        tools: The offered tools. With them, each value is also proved to keep its type; without,
            only the raw text of each value is.

    Returns:
        The output, proved by reading it.

    Raises:
        ValueError: The format cannot carry a part, so that the output would read back otherwise.
    """
    calls = [(name, {k: _text(name, k, v) for k, v in a.items()}) for name, a in tool_calls]
    text = ""
    if prompt_state == "think_open":
        text = (reasoning or "") + _write("think_close")
    elif reasoning:
        text = _write("think_open") + reasoning + _write("think_close")
    text += content or ("\n\n" if calls and text else "")
    text += "\n".join(_call(name, values) for name, values in calls)
    _prove(text, reasoning, content, calls, prompt_state)
    if tools is not None:
        _prove_types(text, tool_calls, prompt_state, tools)
    return text


def _text(call: str, parameter: str, value: object) -> str:
    if isinstance(value, str):
        return value
    where = f"call {call!r}, parameter {parameter!r}"
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        same = _identical(read_json(text), value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{where}: this {type(value).__name__} cannot be written as JSON: {error}"
        ) from error
    if not same:
        raise ValueError(
            f"{where}: {text:.80} reads back as another value than was given; use plain values"
        )
    return text


def _identical(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_identical(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    return bool(left == right)


def _call(name: str, values: Mapping[str, str]) -> str:
    lines = [_write("call_open"), _write("function_open", name)]
    for parameter, text in values.items():
        lines += [_write("parameter_open", parameter), text, _write("parameter_close")]
    return "\n".join([*lines, _write("function_close"), _write("call_close")])


def _prove(
    text: str,
    reasoning: str | None,
    content: str | None,
    calls: list[tuple[str, dict[str, str]]],
    prompt_state: PromptState,
) -> None:
    """Read the output with every value as text, and compare."""
    # Every name that stands in the output counts as offered, so that nothing passes as prose.
    scanner = Scanner(QWEN3_XML)
    scanner.feed(text)
    names = {marker.name for marker in scanner.markers if marker.kind == "function_open"}
    turn = interpret(text, tools=[{"name": name} for name in names], prompt_state=prompt_state)
    found = [(call.name, call.arguments) for call in turn.tool_calls]
    if turn.reasoning != (reasoning or None):
        raise ValueError(f"reasoning reads back as {turn.reasoning!r:.80}: {_HINT}")
    if turn.content != (content or None):
        raise ValueError(f"content reads back as {turn.content!r:.80}: {_HINT}")
    for index, (wanted, call) in enumerate(zip(calls, turn.tool_calls, strict=False)):
        if call.status != "ok" or (call.name, call.arguments) != wanted:
            raise ValueError(
                f"call {index} ({wanted[0]!r}) reads back as {call.status} {call.name!r}: "
                f"{call.message or _HINT}"
            )
    if len(found) != len(calls):
        raise ValueError(f"{len(calls)} calls read back as {len(found)}: {_HINT}")


def _prove_types(
    text: str,
    calls: Sequence[tuple[str, Mapping[str, object]]],
    prompt_state: PromptState,
    tools: Sequence[Tool],
) -> None:
    turn = interpret(text, tools=tools, prompt_state=prompt_state)
    for (name, arguments), call in zip(calls, turn.tool_calls, strict=True):
        for parameter, value in arguments.items():
            if not _identical(call.arguments[parameter], value):
                raise ValueError(
                    f"call {name!r}, parameter {parameter!r}: {value!r:.80} reads back as "
                    f"{call.arguments[parameter]!r:.80} under the tool's schema"
                )


_HINT = "it holds markup of the format, ends in its special tokens or is white space alone"
