"""What vLLM's `hermes` tool parser reads in a whole answer."""

import json
from typing import Any, NamedTuple

CALL_OPEN = "<tool_call>"
CALL_CLOSE = "</tool_call>"


class RawCall(NamedTuple):
    """A call as the server sends it.

    Attributes:
        name: The function's name.
        wire: The string of its arguments.
        start: Where its opener begins in the text that was read.
        end: Where its markup ends there.
    """

    name: str
    wire: str
    start: int
    end: int


def read_whole(text: str) -> list[RawCall] | None:
    """Read the calls of a text; None where it has none, or one of them cannot be read.

    A call ends at the first closer, even inside a string; a call without one takes the rest.
    """
    calls: list[RawCall] = []
    start = text.find(CALL_OPEN)
    while start >= 0:
        body = start + len(CALL_OPEN)
        close = text.find(CALL_CLOSE, body)
        end = len(text) if close < 0 else close + len(CALL_CLOSE)
        call = _read(text[body : end if close < 0 else close])
        if call is None:
            return None
        calls.append(RawCall(*call, start, end))
        start = text.find(CALL_OPEN, end)
    return calls or None


def _read(body: str) -> tuple[str, str] | None:
    """Return the name and the arguments of one call's body; None where the server refuses it."""
    try:
        value: Any = json.loads(body)
        if not isinstance(value, dict):
            return None
        name, wire = value["name"], json.dumps(value["arguments"], ensure_ascii=False)
    except (ValueError, KeyError, RecursionError):
        return None
    return (name, wire) if isinstance(name, str) else None
