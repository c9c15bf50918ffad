"""Writes a turn as the model would: the inverse of `interpret`."""

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.interpret.coercion.literals import read_json
from outcomebox.interpret.formats import format_named
from outcomebox.interpret.formats.base import Format
from outcomebox.interpret.formats.writing import as_json, write_calls
from outcomebox.interpret.interpreter import interpret
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Tool, Turn

_TEXTUAL = ("xml", "keyed")
"""Bodies that write a value as text, whose type only the tool's schema tells."""


def render(
    *,
    reasoning: str | None,
    content: str | None,
    tool_calls: Sequence[tuple[str, Mapping[str, object]]],
    format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
    prompt_state: PromptState = "think_closed",
    tools: Sequence[Tool] | None = None,
) -> str:
    """Return the raw output in a format that reads back as these parts.

    Text is written verbatim, content before calls. Where the format writes values as text, a string
    argument is written raw and any other value as JSON. An empty string is the same as None for
    reasoning and content.

    Args:
        reasoning: The text of the reasoning block.
        content: The visible text.
        tool_calls: Name and arguments of each call.
        format: How the model writes calls.
        prompt_state: Where the prompt left the model; a block that it opened is only closed.
        tools: The offered tools. With them, each value is also proved to keep its type; without,
            only what each value is written as.

    Returns:
        The output, proved by reading it.

    Raises:
        ValueError: An unknown format, or one that cannot carry a part, so that the output would
            read back otherwise.
    """
    form = format_named(format)
    textual = form.bodies[0] in _TEXTUAL
    calls = [(name, _checked(name, arguments, textual)) for name, arguments in tool_calls]
    text = _reasoning(form, reasoning, prompt_state)
    text += content or ("\n\n" if calls and text and form.joiner.isspace() else "")
    text += write_calls(form, calls, after=text)
    turn = interpret(text, tools=_AnyTool(), format=form.name, prompt_state=prompt_state)
    _prove(turn, reasoning, content, calls)
    if tools is not None:
        turn = interpret(text, tools=tools, format=form.name, prompt_state=prompt_state)
        _prove_types(turn, tool_calls)
    return text


def _reasoning(form: Format, reasoning: str | None, prompt_state: PromptState) -> str:
    if "think_close" not in form.spellings:
        if reasoning:
            raise ValueError(
                f"reasoning cannot be written: format {form.name!r} has no marks for it"
            )
        return ""
    if prompt_state == "think_open":
        return (reasoning or "") + form.write("think_close")
    if reasoning or (form.always_reasons and prompt_state == "assistant_start"):
        return form.write("think_open") + (reasoning or "") + form.write("think_close")
    return ""


def _checked(call: str, arguments: Mapping[str, object], textual: bool) -> dict[str, Any]:
    """Return the arguments as they are to be written, each known to survive JSON."""
    found: dict[str, Any] = {}
    for parameter, value in arguments.items():
        where = f"call {call!r}, parameter {parameter!r}"
        if not isinstance(parameter, str):
            raise ValueError(f"{where}: a parameter's name must be a string")  # noqa: TRY004 - as all refusals
        text = value if isinstance(value, str) else _json(where, value)
        found[parameter] = text if textual else value
    return found


def _json(where: str, value: object) -> str:
    try:
        text = as_json(value)
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


class _AnyTool(Toolbox):
    """Offers every tool, so that nothing passes as prose, and leaves every value as it is."""

    def __init__(self) -> None:
        super().__init__(())

    def offered(self, name: str) -> bool:  # noqa: ARG002 - any name is
        return True


def _prove(
    turn: Turn,
    reasoning: str | None,
    content: str | None,
    calls: list[tuple[str, dict[str, Any]]],
) -> None:
    """Compare with what was read, every value as it is written."""
    if turn.reasoning != (reasoning or None):
        raise ValueError(f"reasoning reads back as {turn.reasoning!r:.80}: {_HINT}")
    if turn.content != (content or None):
        raise ValueError(f"content reads back as {turn.content!r:.80}: {_HINT}")
    for index, (wanted, call) in enumerate(zip(calls, turn.tool_calls, strict=False)):
        same = call.name == wanted[0] and _identical(call.arguments, wanted[1])
        if call.status != "ok" or not same:
            raise ValueError(
                f"call {index} ({wanted[0]!r}) reads back as {call.status} {call.name!r}: "
                f"{call.message or _HINT}"
            )
    if len(turn.tool_calls) != len(calls):
        raise ValueError(f"{len(calls)} calls read back as {len(turn.tool_calls)}: {_HINT}")


def _prove_types(turn: Turn, calls: Sequence[tuple[str, Mapping[str, object]]]) -> None:
    for (name, arguments), call in zip(calls, turn.tool_calls, strict=True):
        for parameter, value in arguments.items():
            if not _identical(call.arguments[parameter], value):
                raise ValueError(
                    f"call {name!r}, parameter {parameter!r}: {value!r:.80} reads back as "
                    f"{call.arguments[parameter]!r:.80} under the tool's schema"
                )


_HINT = "it holds markup of the format, ends in its special tokens or is white space alone"
