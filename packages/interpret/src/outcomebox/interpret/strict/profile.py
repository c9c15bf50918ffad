"""The `strict` profile, for every format."""

from collections.abc import Callable

from outcomebox.interpret.formats import FORMAT_NAMES
from outcomebox.interpret.formats.base import MAX_NAME, BodyKind
from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.base import Profile
from outcomebox.interpret.scanner import Marker, Scanner
from outcomebox.interpret.strict.jsonturn import read_json_turn
from outcomebox.interpret.strict.keyed import read_keyed
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.raw import RawTurn, Source
from outcomebox.interpret.strict.template import read_template
from outcomebox.interpret.strict.typed import type_strict
from outcomebox.interpret.strict.xmlturn import read_xml
from outcomebox.interpret.turn import Diagnostic, Span, ToolCall, Turn

_SURE_MARKER = 4
"""Characters that the beginning of a marker needs at a cut to be taken for one, not for HTML."""


_CALL_OPENERS = frozenset({"call_open", "section_open"})


def read_strict(output: Output) -> Turn:
    """Read an output of any format."""
    source = _source(output)
    return _turn(output, _READERS[output.format.bodies[0]](source))


def _turn(output: Output, raw: RawTurn) -> Turn:
    """Type the calls of a raw turn, and cut its texts out of the output."""
    text = output.text
    calls: list[ToolCall] = []
    diagnostics: list[Diagnostic] = list(raw.diagnostics)
    for each in raw.calls:
        call, notes = type_strict(each, output.tools)
        calls.append(call)
        diagnostics += notes
    reasoning = text[slice(*raw.reasoning)] if raw.reasoning else ""
    content = "".join(text[start:end] for start, end in raw.content)
    return Turn(
        reasoning=reasoning if reasoning.strip(WHITE_SPACE) else None,
        content=content or None,
        tool_calls=tuple(calls),
        diagnostics=tuple(sorted(diagnostics, key=_place)) if diagnostics else (),
    )


def _place(noticed: Diagnostic) -> Span:
    return noticed.span


def _source(output: Output) -> Source:
    scanner = output.scanner
    if scanner is None:
        raise AssertionError("the strict profile scans")
    end, cut_opener = _end(output, scanner)
    return Source(
        text=output.text,
        format=output.format,
        markers=_markup(output, scanner),
        end=end,
        prompt_state=output.prompt_state,
        cut=output.cut,
        cut_opener=cut_opener,
        offered=output.tools.offered,
        declared=output.tools.declared,
    )


def _markup(output: Output, scanner: Scanner) -> list[Marker]:
    """Return the markers that are markup: where a marker has a token of its own, only that token.

    The same characters written by ordinary tokens are text that only mentions the marker.
    """
    tokens = output.tokens
    if tokens is None:
        return scanner.markers
    own = {kind: tokens.vocab.get(text) for kind, text in output.format.spellings.items()}
    return [
        marker
        for marker in scanner.markers
        if (token := own[marker.kind]) is None or tokens.is_token(marker.start, marker.end, token)
    ]


def _end(output: Output, scanner: Scanner) -> tuple[int, bool]:
    """Return where the turn ends in the text, and whether a call's opener was cut there."""
    text, form, tokens = output.text, output.format, output.tokens
    held_at = scanner.held_at
    if output.cut and held_at < len(text) and _sure(output, scanner):
        # A marker that is one token is never cut in the middle.
        kinds = [
            kind
            for kind, spelling in form.spellings.items()
            if (tokens is None or spelling not in tokens.vocab)
            and scanner.could_be(kind, text[held_at:])
        ]
        if kinds:
            last = scanner.markers[-1].kind if scanner.markers else ""
            may_end = last == "call_close" and "section_close" in kinds
            return held_at, not may_end and not _CALL_OPENERS.isdisjoint(kinds)
    end = len(text)
    while True:
        bare = end
        while bare and text[bare - 1] in WHITE_SPACE:
            bare -= 1
        if not text.endswith(form.end_of_turn, 0, bare):
            return end, False
        token = next(each for each in form.end_of_turn if text.endswith(each, 0, bare))
        if not _is_special(output, token, bare):
            return end, False
        end = bare - len(token)


def _sure(output: Output, scanner: Scanner) -> bool:
    """Say whether the beginning of a marker at a cut is one: it is long, or is due there."""
    text, at = output.text, scanner.held_at
    if len(text) - at >= _SURE_MARKER:
        return True
    if output.format.bodies[0] == "xml" or not scanner.markers:
        return False
    last = scanner.markers[-1]
    between = text[last.end : at]
    if last.kind == "call_close":
        return "section_close" in output.format.spellings and not between.strip(WHITE_SPACE)
    return last.kind in _CALL_OPENERS and len(between) <= MAX_NAME and len(between.split()) <= 1


def _is_special(output: Output, token: str, end: int) -> bool:
    """Say whether the special token spelled before `end` is that token, not text that names it."""
    tokens = output.tokens
    if tokens is None or token not in tokens.vocab:
        return True
    return tokens.is_token(end - len(token), end, tokens.vocab[token])


_READERS: dict[BodyKind, Callable[[Source], RawTurn]] = {
    "xml": read_xml,
    "keyed": read_keyed,
    "json": read_json_turn,
    "headed": read_json_turn,
}

STRICT = Profile(
    name="strict",
    summary="our own reading: nothing lost, nothing executable that has more than one reading",
    readings=dict.fromkeys(FORMAT_NAMES, read_strict),
    scans=True,
    short={"qwen3_xml": read_template},
)

PROFILES = {STRICT.name: STRICT}
