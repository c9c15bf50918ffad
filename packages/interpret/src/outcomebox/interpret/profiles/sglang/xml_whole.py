"""How sglang 0.5 reads `qwen3_coder` calls in a whole answer."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from outcomebox.interpret.profiles.pythonic import NOT_JSON
from outcomebox.interpret.profiles.sglang.schemas import Kinds
from outcomebox.interpret.profiles.sglang.values import convert
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
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Span

_VALUE_END = re.compile(f"{PARAMETER_CLOSE}|{PARAMETER_OPEN}")


class Sent(NamedTuple):
    """A call as the server sends it, and the place of its markup in the text that was read."""

    name: str
    wire: str
    span: Span


class Reading(NamedTuple):
    """What the server sends of a text that may hold calls."""

    content: str
    calls: list[Sent]


def read_whole(text: str, tools: Toolbox) -> Reading:
    """Read the calls of closed wrappers, or of the whole text where no wrapper is closed.

    A value ends at `</parameter>` or at the next parameter. What JSON cannot carry loses every
    call, and the whole text is content.
    """
    first = text.find(CALL_OPEN)
    if first < 0:
        return Reading(text, [])
    wrappers = [
        each
        for each in blocks(text, first, len(text), CALL_OPEN, CALL_CLOSE)
        if each.body_end < each.end
    ]
    if not wrappers:
        wrappers = [Block(first, 0, len(text), len(text))]
    calls: list[Sent] = []
    for wrapper in wrappers:
        within = (wrapper.body, wrapper.body_end)
        functions = list(blocks(text, *within, FUNCTION_OPEN, FUNCTION_CLOSE))
        for each in functions:
            name_end = text.find(">", each.body, each.body_end)
            if name_end < 0:
                continue
            name = text[each.body : name_end]
            wire = _arguments(text, name_end + 1, each.body_end, Kinds(tools, name))
            if wire is None:
                return Reading(text, [])
            calls.append(Sent(name, wire, call_span(wrapper, len(functions), each)))
    return Reading(text[:first], calls)


def _arguments(text: str, start: int, end: int, kinds: Kinds) -> str | None:
    """Return the arguments between `start` and `end`; None where JSON cannot carry them."""
    arguments: dict[str, Any] = {}
    for body in _parameters(text, start, end):
        key, found, value = body.partition(">")
        if found:
            arguments[key] = convert(unpadded(value), kinds.of(key))
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except NOT_JSON:
        return None


def _parameters(text: str, start: int, end: int) -> Iterator[str]:
    at = text.find(PARAMETER_OPEN, start, end)
    while at >= 0:
        body = at + len(PARAMETER_OPEN)
        close = _VALUE_END.search(text, body, end)
        if close is None:
            yield text[body : without_last_newline(text, body, end)]
            return
        yield text[body : close.start()]
        at = text.find(PARAMETER_OPEN, close.start(), end)
