"""How vLLM reads `hermes` calls behind its `qwen3` reasoning parser, as the chat endpoint does.

The tool parser is the same in both releases. What differs is which special tokens the reasoning
parser takes out.
"""

from functools import partial

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.qwen import ENDS, SPECIAL
from outcomebox.interpret.profiles.vllm.answer import call_of, served
from outcomebox.interpret.profiles.vllm.hermes_reasoning import split_stream, split_whole
from outcomebox.interpret.profiles.vllm.hermes_stream import read_stream
from outcomebox.interpret.profiles.vllm.hermes_whole import read_whole
from outcomebox.interpret.turn import Turn


def _read_whole(output: Output, *, dropped: frozenset[str]) -> Turn:
    reasoning, content = split_whole(served(output), dropped)
    if content is None:
        return Turn(reasoning, None)
    calls = read_whole(content.text) if not output.tools.none_offered else None
    if calls is None:
        return Turn(reasoning, content.text)
    before = content.text[: calls[0].start]
    return Turn(
        reasoning,
        before if before.strip() else None,
        tuple(
            call_of(name, wire, content.place(start, end), output.tools)
            for name, wire, start, end in calls
        ),
    )


def _read_stream(output: Output, *, dropped: frozenset[str]) -> Turn:
    reasoning, deltas = split_stream(served(output), dropped)
    if deltas is None:
        return Turn(reasoning, None)
    if output.tools.none_offered:
        return Turn(reasoning, deltas.text or None)
    content, calls = read_stream(deltas)
    return Turn(
        reasoning,
        content,
        tuple(
            call_of(name, wire, (deltas.start + start, deltas.start + end), output.tools)
            for name, wire, start, end in calls
        ),
    )


read_hermes_024 = partial(_read_whole, dropped=frozenset())
read_hermes_024_stream = partial(_read_stream, dropped=ENDS)
read_hermes_032 = partial(_read_whole, dropped=SPECIAL)
read_hermes_032_stream = partial(_read_stream, dropped=SPECIAL)
