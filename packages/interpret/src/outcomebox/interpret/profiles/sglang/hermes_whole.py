"""How sglang 0.5 reads `hermes` calls in a whole answer."""

import json
from collections.abc import Iterator
from typing import Any

from outcomebox.interpret.profiles.sglang.xml_whole import Reading, Sent
from outcomebox.interpret.profiles.xmlblocks import CALL_CLOSE, CALL_OPEN, Block, blocks
from outcomebox.interpret.tools import Toolbox


def read_whole(text: str, tools: Toolbox) -> Reading:
    """Read the calls of a text; one that cannot be read makes the whole text content.

    A call ends at the first closer, even inside a string, and need not have one. Calls of tools
    that are not offered are dropped.
    """
    first = text.find(CALL_OPEN)
    if first < 0:
        return Reading(text, [])
    calls: list[Sent] = []
    try:
        for each in blocks(text, first, len(text), CALL_OPEN, CALL_CLOSE):
            body = text[each.body : each.body_end]
            if body:
                calls += _calls(json.loads(body.strip()), each, tools)
    except (ValueError, TypeError, RecursionError):
        return Reading(text, [])
    return Reading(text[:first].strip(), calls)


def _calls(value: Any, block: Block, tools: Toolbox) -> Iterator[Sent]:
    """Yield the calls of an object or of a list of them.

    Raises:
        TypeError: There is something else.
    """
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict):
            raise TypeError("a call must be an object")
        name = each.get("name")
        if isinstance(name, list | dict) and name:
            raise TypeError("a name must be a text")
        if not isinstance(name, str) or tools.offered(name) is False:
            continue
        arguments = each.get("parameters") or each.get("arguments", {})
        wire = json.dumps(arguments, ensure_ascii=False)
        yield Sent(name, wire, (block.start, block.end))
