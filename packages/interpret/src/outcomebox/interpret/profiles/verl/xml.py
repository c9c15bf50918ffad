"""How verl 0.9 reads `qwen3_coder` calls."""

import json
from typing import Any

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.pythonic import NOT_JSON
from outcomebox.interpret.profiles.verl.schemas import Kinds, kinds
from outcomebox.interpret.profiles.verl.turns import refused_turn
from outcomebox.interpret.profiles.verl.values import convert
from outcomebox.interpret.profiles.wires import served_call
from outcomebox.interpret.profiles.xmlblocks import (
    CALL_CLOSE,
    CALL_OPEN,
    FUNCTION_CLOSE,
    FUNCTION_OPEN,
    PARAMETER_CLOSE,
    PARAMETER_OPEN,
    Block,
    blocks,
    call_span,
    unpadded,
    without_last_newline,
)
from outcomebox.interpret.turn import ToolCall, Turn


def read_xml(output: Output) -> Turn:
    """Read an output: calls from the first opener on, and the text before it.

    A value ends at the first `</parameter>`, over whatever stands between. What JSON cannot carry
    loses every call, and the whole text is content.
    """
    text, known = output.text, kinds(output.tools)
    if known.refused:
        return refused_turn(text, known.refused)
    found = [
        (wrapper, list(blocks(text, wrapper.body, _inside(text, wrapper), *_FUNCTION)))
        for wrapper in blocks(text, 0, len(text), CALL_OPEN, CALL_CLOSE)
    ]
    if not any(functions for _, functions in found):
        return Turn(None, text)
    calls: list[ToolCall] = []
    for wrapper, functions in found:
        for function in functions:
            name_end = text.find(">", function.body, function.body_end)
            if name_end < 0:
                continue
            name = text[function.body : name_end]
            wire = _arguments(text, name_end + 1, function.body_end, name, known)
            if wire is None:
                return Turn(None, text)
            span = call_span(wrapper, len(functions), function)
            calls.append(served_call(name, wire, span, output.tools))
    return Turn(None, text[: found[0][0].start], tuple(calls))


_FUNCTION = (FUNCTION_OPEN, FUNCTION_CLOSE)


def _inside(text: str, block: Block) -> int:
    """Return where the inside of a block ends: before a last newline where it is not closed."""
    if block.body_end < block.end:
        return block.body_end
    return without_last_newline(text, block.body, block.end)


def _arguments(text: str, start: int, end: int, name: str, known: Kinds) -> str | None:
    """Return the arguments between `start` and `end`; None where JSON cannot carry them."""
    types = known.of.get(name, {})
    arguments: dict[str, Any] = {}
    for each in blocks(text, start, end, PARAMETER_OPEN, PARAMETER_CLOSE):
        stop = _inside(text, each)
        name_end = text.find(">", each.body, stop)
        if name_end < 0:
            continue
        key = text[each.body : name_end]
        arguments[key] = convert(unpadded(text[name_end + 1 : stop]), types.get(key))
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except NOT_JSON:
        return None
