"""How sglang 0.5's `qwen3` reasoning parser splits an output.

The model is taken to think unless the request disabled it. A whole answer is searched for the first
`</think>`; a stream ends reasoning at the first `</think>` or `<tool_call>` to arrive, and begins
it anew at the first `<think>`, wherever that stands.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.sglang.arrival import Delta

_OPEN = "<think>"
_CLOSE = "</think>"
_CALL = "<tool_call>"
_MARKERS = (_OPEN, _CLOSE, _CALL)


class Split(NamedTuple):
    """A whole answer.

    Attributes:
        reasoning: The reasoning; empty where there is none.
        content: What the tool parser gets to read.
        start: Where `content` stands in the text.
    """

    reasoning: str
    content: str
    start: int


class Step(NamedTuple):
    """What one delta gives.

    Attributes:
        reasoning: Sent to the client.
        content: Handed to the tool parser.
        start: Where `content` stands in the output.
    """

    reasoning: str
    content: str
    start: int


def thinks(output: Output) -> bool:
    """Say whether the server takes the model to begin with reasoning."""
    return output.prompt_state != "think_closed"


def split_whole(text: str, *, forced: bool) -> Split:
    """Split a whole answer; `forced`: it begins with reasoning."""
    if not forced and _OPEN not in text:
        return Split("", text, 0)
    start = 0
    while text.startswith(_OPEN, start):
        start += len(_OPEN)
    close = text.find(_CLOSE, start)
    if close >= 0:
        after = close + len(_CLOSE)
        return Split(text[start:close], text[after:], after)
    call = text.find(_CALL, start)
    if call < 0:
        return Split(text[start:], "", len(text))
    return Split(text[start:call], text[call:], call)


def split_stream(steps: Sequence[Delta], *, forced: bool, flushed: bool) -> Iterator[Step]:
    """Split a stream, one step for each delta.

    Args:
        steps: The deltas.
        forced: It begins with reasoning.
        flushed: The last step hands out what was held back; not after an abort.
    """
    held = ""
    inside = forced
    opened = False
    last = len(steps) - 1
    for number, (text, end) in enumerate(steps):
        current = held + text
        reasoning = content = ""
        if any(len(current) < len(each) and each.startswith(current) for each in _MARKERS):
            held = current
        else:
            if not opened and _OPEN in current:
                current = current.replace(_OPEN, "", 1)
                opened = inside = True
            reasoning, content, held = (
                _inside(current, opened=opened) if inside else ("", current, "")
            )
            inside = inside and not _closes(current)
        if number == last and flushed:
            if inside:
                reasoning += held
            else:
                content += held
        yield Step(reasoning, content, end - len(content))


def _closes(current: str) -> bool:
    return _CLOSE in current or _CALL in current


def _inside(current: str, *, opened: bool) -> tuple[str, str, str]:
    """Return the reasoning, what follows it, and what is held back."""
    close = current.find(_CLOSE)
    if close >= 0:
        return current[:close], current[close + len(_CLOSE) :], ""
    call = current.find(_CALL)
    if call >= 0:
        return current[:call], current[call:], ""
    markers = _MARKERS[1:] if opened else _MARKERS
    keep = len(current) - max(_unfinished(current, each) for each in markers)
    return current[:keep], "", current[keep:]


def _unfinished(text: str, marker: str) -> int:
    """Return how many characters at the end of a text may begin a marker."""
    at = text.rfind("<", max(0, len(text) - len(marker) + 1))
    return len(text) - at if at >= 0 and marker.startswith(text[at:]) else 0
