"""The short way through an output that is written as the template writes it.

Most outputs hold no markup but that of one reasoning block and of well-formed calls. There the
sequence of the markers leaves no choice, and what the machine would find is read off it. Every
other output is left to the machine; on those read here, both agree, which tests hold.
"""

import re

from outcomebox.interpret.formats.base import MarkerKind
from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.raw import RawCall, RawTurn, Source
from outcomebox.interpret.turn import Span

_LETTERS: dict[MarkerKind, str] = {
    "think_open": "T",
    "think_close": "t",
    "call_open": "C",
    "function_open": "F",
    "parameter_open": "P",
    "parameter_close": "p",
    "function_close": "f",
    "call_close": "c",
}
_CALLS = r"(?:CF(?:Pp)*fc)*"
_CANONICAL = {
    "think_open": re.compile("t" + _CALLS),
    "think_closed": re.compile(_CALLS),
    "assistant_start": re.compile("(?:Tt)?" + _CALLS),
}


def read_canonical(source: Source) -> RawTurn | None:
    """Return the turn of an output of XML calls that is canonical, else None."""
    markers = source.markers
    if source.cut or source.format.always_reasons:
        return None
    kinds = "".join([_LETTERS[marker.kind] for marker in markers])
    if not _CANONICAL[source.prompt_state].fullmatch(kinds):
        return None
    text = source.text
    reasoning: Span | None = None
    at = first = 0
    if source.prompt_state == "think_open":
        reasoning, at, first = (0, markers[0].start), markers[0].end, 1
    elif kinds[:1] == "T":
        if text[: markers[0].start].strip(WHITE_SPACE):
            return None
        reasoning, at, first = (markers[0].end, markers[1].start), markers[1].end, 2
    calls: list[RawCall] = []
    content: list[Span] = []
    while first < len(markers):
        last = kinds.index("c", first)
        call = _call(source, markers[first : last + 1])
        if call is None:
            return None
        calls.append(call)
        if text[at : call.start].strip(WHITE_SPACE):
            content.append((at, call.start))
        at, first = call.end, last + 1
    if text[at : source.end].strip(WHITE_SPACE):
        content.append((at, source.end))
    return RawTurn(reasoning, content, calls, [])


def _call(source: Source, markers: list[Marker]) -> RawCall | None:
    """Read a call's markers; None if text stands between them or a parameter is given twice."""
    text, padded = source.text, source.format.padded
    opener, function = markers[0], markers[1]
    call = RawCall(function.name, opener.start)
    parameters = call.parameters
    outside = text[opener.end : function.start]
    at = function.end
    for i in range(2, len(markers) - 2, 2):
        _, name, start, value_start = markers[i]
        _, _, value_end, end = markers[i + 1]
        if name in parameters:
            return None
        outside += text[at:start]
        value = text[value_start:value_end]
        parameters[name] = value.removeprefix("\n").removesuffix("\n") if padded else value
        at = end
    function_close, close = markers[-2:]
    outside += text[at : function_close.start] + text[function_close.end : close.start]
    call.end = close.end
    return None if outside.strip(WHITE_SPACE) else call
