"""What vLLM's chat endpoint answers to XML calls when it is not asked to stream.

It reads the text twice, ids or not: once for the reasoning, and what that leaves once more for the
calls.
"""

import json
from bisect import bisect_right
from typing import Any

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.qwen import SPECIAL
from outcomebox.interpret.profiles.vllm.answer import call_of, nameless, served
from outcomebox.interpret.profiles.vllm.releases import Release
from outcomebox.interpret.profiles.vllm.xml_arguments import Arguments
from outcomebox.interpret.profiles.vllm.xml_calls import Attempt, CallReader
from outcomebox.interpret.profiles.vllm.xml_lexer import DROPPED, TEXT, markers_in, pieces_of
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Diagnostic, Span, ToolCall, Turn

_ENDS_REASONING = frozenset({"think_open", "think_close", "call_open"})


class _RequestFailedError(Exception):
    """The server answers the request with an error."""


class _Kept:
    """Text of which parts were taken out, and where what is left stood."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._offsets: list[int] = []
        self._starts: list[int] = []
        self._length = 0

    def keep(self, text: str, start: int) -> None:
        """Keep a part that stood at `start`."""
        self._parts.append(text)
        self._offsets.append(self._length)
        self._starts.append(start)
        self._length += len(text)

    def text(self) -> str:
        """Return what was kept."""
        return "".join(self._parts)

    def place(self, start: int, end: int) -> Span:
        """Return where a stretch of the kept text stood; it is not empty."""
        first = bisect_right(self._offsets, start) - 1
        last = bisect_right(self._offsets, end - 1) - 1
        return (
            self._starts[first] + start - self._offsets[first],
            self._starts[last] + end - self._offsets[last],
        )


def read_whole(output: Output, release: Release) -> Turn:
    """Read an output as the server answers it in one piece."""
    output = served(output)
    special = SPECIAL if release.drops_special else frozenset()
    reasoning, rest = _without_reasoning(output, special)
    left = rest.text()
    # An answer that is empty and was never reasoning is sent as such.
    content = left or ("" if output.prompt_state == "think_closed" else None)
    offers = not output.tools.none_offered
    if release.keeps_markup and not offers:
        return Turn(reasoning, content)
    reader, early = _read_calls(left, special)
    try:
        calls, notes = _calls(reader.attempts, output.tools, rest, release)
    except _RequestFailedError:
        return Turn(None, None)
    if not calls and release.keeps_markup:
        return Turn(reasoning, content, (), notes)
    shown = _shown(reader, early, release)
    if calls and shown is not None:
        shown = shown.strip() or None
    return Turn(reasoning, shown, calls if offers else (), notes)


def _without_reasoning(output: Output, special: frozenset[str]) -> tuple[str | None, _Kept]:
    """Take the reasoning off."""
    rest = _Kept()
    if output.prompt_state == "think_closed":
        rest.keep(output.text, 0)
        return None, rest
    reasoning: list[str] = []
    inside = True
    for kind, text, start in pieces_of(output.text, markers_in(special, _ENDS_REASONING)):
        if inside:
            if kind in ("think_close", "call_open"):
                inside = False
            elif kind == TEXT:
                reasoning.append(text)
        if not inside and kind not in ("think_close", DROPPED):
            rest.keep(text, start)
    return "".join(reasoning) or None, rest


def _read_calls(text: str, special: frozenset[str]) -> tuple[CallReader, int]:
    """Read the calls; return with the reader how many pieces of content come before the first."""
    reader = CallReader()
    early: int | None = None
    for piece in pieces_of(text, markers_in(special)):
        reader.read(piece)
        if early is None and reader.attempts:
            early = len(reader.texts)
    reader.finish(len(text))
    return reader, len(reader.texts) if early is None else early


def _shown(reader: CallReader, early: int, release: Release) -> str | None:
    """Return the content that the reader of calls leaves.

    Text behind the first attempt is lost, unless all attempts came to nothing.
    """
    before, behind = "".join(reader.texts[:early]), "".join(reader.texts[early:])
    content = before
    if not any(attempt.name for attempt in reader.attempts):
        content = behind + before if release.late_first else before + behind
    if reader.attempts and not content.strip():
        return None
    return content or None


def _calls(
    attempts: list[Attempt], tools: Toolbox, rest: _Kept, release: Release
) -> tuple[tuple[ToolCall, ...], tuple[Diagnostic, ...]]:
    calls: list[ToolCall] = []
    notes: list[Diagnostic] = []
    for attempt in attempts:
        span = rest.place(attempt.start, attempt.end)
        sent = _sent(attempt, tools, release)
        if sent is None:
            notes.append(nameless(span))
        else:
            calls.append(call_of(*sent, span, tools))
    return tuple(calls), tuple(notes)


def _sent(attempt: Attempt, tools: Toolbox, release: Release) -> tuple[str, str] | None:
    """Return the name and the arguments that are sent of an attempt; None if nothing is."""
    name = attempt.name.strip()
    if name:
        wire = Arguments(tools, name, release).object(attempt.body)
    else:
        named = _json_call(attempt.body)
        if named is None:
            return None
        name, wire = named
        try:
            wire = Arguments(tools, name, release).retyped(wire)
        except RecursionError:
            raise _RequestFailedError from None
    return name, wire


def _json_call(body: str) -> tuple[str, str] | None:
    """Read the call that a JSON object between nameless markup describes.

    Raises:
        _RequestFailedError: The name is no string.
    """
    try:
        value: Any = json.loads(body.strip())
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError):
        raise _RequestFailedError from None
    name = value.get("name", "") if isinstance(value, dict) else ""
    if not name:
        return None
    if not isinstance(name, str):
        raise _RequestFailedError
    for key in ("arguments", "parameters"):
        if key in value:
            given = value[key]
            break
    else:
        given = {key: member for key, member in value.items() if key != "name"}
    return name, given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
