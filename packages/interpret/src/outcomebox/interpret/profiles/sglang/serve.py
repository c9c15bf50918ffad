"""How sglang 0.5's chat endpoint puts its parsers together."""

from collections.abc import Callable, Sequence
from functools import partial

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.base import Reading as ProfileReading
from outcomebox.interpret.profiles.sglang.arrival import calls_wanted, deltas, whole_text
from outcomebox.interpret.profiles.sglang.places import Places
from outcomebox.interpret.profiles.sglang.reasoning import split_stream, split_whole, thinks
from outcomebox.interpret.profiles.sglang.xml_whole import Reading
from outcomebox.interpret.profiles.wires import served_call
from outcomebox.interpret.profiles.xmlblocks import CALL_OPEN
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Diagnostic, Turn

WholeReader = Callable[[str, Toolbox], Reading]
"""Reads the calls in the text behind the reasoning."""

StreamReader = Callable[[Sequence[str], Toolbox], tuple[Reading, int | None]]
"""The same for a stream's steps; the number is the step that breaks the stream."""


def whole(read: WholeReader) -> ProfileReading:
    """Return the reading of a whole answer."""
    return partial(_whole, read=read)


def stream(read: StreamReader) -> ProfileReading:
    """Return the reading of a stream."""
    return partial(_stream, read=read)


def _whole(output: Output, *, read: WholeReader) -> Turn:
    split = split_whole(whole_text(output), forced=thinks(output))
    reasoning = split.reasoning or None
    if not calls_wanted(output) or CALL_OPEN not in split.content:
        return Turn(reasoning, split.content)
    content, calls = read(split.content, output.tools)
    tool_calls = tuple(
        served_call(
            each.name,
            each.wire,
            (each.span[0] + split.start, each.span[1] + split.start),
            output.tools,
        )
        for each in calls
    )
    return Turn(reasoning, content, tool_calls)


def _stream(output: Output, *, read: StreamReader) -> Turn:
    flushed = output.finish_reason != "abort"
    steps = list(split_stream(deltas(output), forced=thinks(output), flushed=flushed))
    if not calls_wanted(output):
        content = "".join(each.content for each in steps)
        return Turn("".join(each.reasoning for each in steps) or None, content or None)
    reading, broken = read([each.content for each in steps], output.tools)
    diagnostics: tuple[Diagnostic, ...] = ()
    places = Places(steps)
    if broken is not None:
        start = steps[broken].start
        message = "a value that JSON cannot carry: the server ends the stream with an error here"
        diagnostics = (Diagnostic("stream_broken", message, (start, len(output.text))),)
        steps = steps[: broken + 1]
    return Turn(
        "".join(each.reasoning for each in steps) or None,
        reading.content or None,
        tuple(
            served_call(each.name, each.wire, places.of(each.span), output.tools)
            for each in reading.calls
        ),
        diagnostics,
    )
