"""What vLLM answers to DeepSeek-R1 when it is not asked to stream.

That is its `deepseek_r1` reasoning parser with its `deepseek_v3` tool parser, as its recipe for
DeepSeek-R1 starts them; both are the same in both releases.
"""

from typing import NamedTuple

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.vllm.answer import call_of, served
from outcomebox.interpret.profiles.vllm.hermes_whole import RawCall
from outcomebox.interpret.turn import Turn

THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"
CALLS_OPEN = "<\uff5ctool\u2581calls\u2581begin\uff5c>"
CALLS_CLOSE = "<\uff5ctool\u2581calls\u2581end\uff5c>"
CALL_OPEN = "<\uff5ctool\u2581call\u2581begin\uff5c>"
CALL_CLOSE = "<\uff5ctool\u2581call\u2581end\uff5c>"
SEPARATOR = "<\uff5ctool\u2581sep\uff5c>"
FENCE_OPEN = "```json\n"
FENCE_CLOSE = "\n```"


class _Calls(NamedTuple):
    """The calls of a content; `refused` where one of them makes the server send it all as text."""

    calls: list[RawCall]
    refused: bool


def read_whole(output: Output) -> Turn:
    """Read an output as the server answers it in one piece, wherever the prompt left the model.

    Text before an opener of reasoning is lost, and without a closer everything is reasoning.
    """
    text = served(output).text
    opener = text.find(THINK_OPEN)
    begin = opener + len(THINK_OPEN) if opener >= 0 else 0
    close = text.find(THINK_CLOSE, begin)
    if close < 0:
        return Turn(text[begin:], None)
    reasoning, start = text[begin:close], close + len(THINK_CLOSE)
    section = text.find(CALLS_OPEN, start)
    if section < 0 or output.tools.none_offered:
        return Turn(reasoning, text[start:] or None)
    calls, refused = _calls(text, start)
    if refused:
        return Turn(reasoning, text[start:])
    before = text[start:section]
    return Turn(
        reasoning,
        before if before.strip() else None,
        tuple(call_of(name, wire, (at, end), output.tools) for name, wire, at, end in calls),
    )


def _calls(text: str, start: int) -> _Calls:
    """Read the calls from `start` on, inside the section or not; a bad one is passed over."""
    calls: list[RawCall] = []
    at = text.find(CALL_OPEN, start)
    while at >= 0:
        begin = at + len(CALL_OPEN)
        line_end = text.find("\n", begin)
        if line_end < 0:
            break
        done = line_end
        separator = text.rfind(SEPARATOR, begin, line_end)
        if separator >= 0 and (end := _body_end(text, line_end + 1)) >= 0:
            if text[begin:separator] != "function":
                return _Calls([], refused=True)
            done = end + len(FENCE_CLOSE) + len(CALL_CLOSE)
            name = text[separator + len(SEPARATOR) : line_end]
            wire = text[line_end + 1 + len(FENCE_OPEN) : end]
            calls.append(RawCall(name, wire, at, done))
        at = text.find(CALL_OPEN, done)
    return _Calls(calls, refused=False)


def _body_end(text: str, start: int) -> int:
    """Return where the arguments in a fence at `start` end; -1 unless they are one line."""
    if not text.startswith(FENCE_OPEN, start):
        return -1
    end = text.find("\n", start + len(FENCE_OPEN))
    return end if end >= 0 and text.startswith(FENCE_CLOSE + CALL_CLOSE, end) else -1
