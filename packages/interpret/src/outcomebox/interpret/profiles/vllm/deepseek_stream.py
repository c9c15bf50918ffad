"""What a client of vLLM joins from a stream of DeepSeek-R1, one token a delta.

The parsers are those of `deepseek_whole`, the same in both releases. In a stream they count the
markers' tokens, and are inside a call as long as more are opened than closed.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.vllm.answer import call_of, served
from outcomebox.interpret.profiles.vllm.deepseek_calls import CallStream
from outcomebox.interpret.profiles.vllm.deepseek_whole import (
    CALL_CLOSE,
    CALL_OPEN,
    CALLS_CLOSE,
    CALLS_OPEN,
    THINK_CLOSE,
    THINK_OPEN,
)
from outcomebox.interpret.turn import Turn

_MARKERS = (THINK_OPEN, THINK_CLOSE, CALLS_OPEN, CALLS_CLOSE, CALL_OPEN, CALL_CLOSE)
_CUT = re.compile(rf"{'|'.join(map(re.escape, _MARKERS))}| ?\w+|\s+|[^\w\s]")
"""How text is cut where its tokens are not known: markers, words, blanks and signs."""


class _Delta(NamedTuple):
    """One token: the marker that it is, if any, and where its text stands."""

    marker: str
    start: int
    end: int


def read_stream(output: Output) -> Turn:
    """Read an output as a client joins it."""
    output = served(output)
    deltas = list(_deltas(output))
    reasoning, first = _reasoning(output, deltas)
    if first < 0:
        return Turn(reasoning, None)
    rest = deltas[first:]
    start = rest[0].start if rest else len(output.text)
    if output.tools.none_offered:
        return Turn(reasoning, output.text[start:] or None)
    stream = CallStream(output.text, start)
    for delta in rest:
        stream.take(*delta)
    if output.cut:
        stream.close()
    return Turn(
        reasoning,
        "".join(stream.content) or None,
        tuple(
            call_of(call.name, call.wire, (call.start, call.end), output.tools)
            for call in stream.calls()
        ),
    )


def _deltas(output: Output) -> Iterator[_Delta]:
    """Yield the tokens; where they are not known, markers are those that are spelled."""
    tokens = output.tokens
    if tokens is None or any(marker not in tokens.vocab for marker in _MARKERS):
        for match in _CUT.finditer(output.text):
            yield _Delta(match[0] if match[0] in _MARKERS else "", *match.span())
        return
    own = {tokens.vocab[marker]: marker for marker in _MARKERS}
    start = 0
    for token, end in zip(tokens.ids, tokens.ends, strict=True):
        yield _Delta(own.get(token, ""), start, end)
        start = end


def _reasoning(output: Output, deltas: list[_Delta]) -> tuple[str | None, int]:
    """Return the reasoning and the number of the first delta behind it; -1 if it never ends."""
    if output.prompt_state == "think_closed":
        return None, 0
    parts: list[str] = []
    for number, (marker, start, end) in enumerate(deltas):
        if marker == THINK_CLOSE:
            return "".join(parts) or None, number + 1
        if marker != THINK_OPEN:
            parts.append(output.text[start:end])
    return "".join(parts) or None, -1
