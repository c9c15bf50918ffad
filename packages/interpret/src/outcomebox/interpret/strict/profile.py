"""The `strict` profile, for every format."""

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.base import Profile
from outcomebox.interpret.scanner import Marker, Scanner
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.raw import RawTurn, Source
from outcomebox.interpret.strict.typed import type_strict
from outcomebox.interpret.strict.xmlturn import read_strict
from outcomebox.interpret.turn import Diagnostic, ToolCall, Turn

_SURE_MARKER = 4
"""Characters that the beginning of a marker needs at a cut to be taken for one, not for HTML."""


def read_xml(output: Output) -> Turn:
    """Read an output of the Qwen3 XML form."""
    source = _source(output)
    return _turn(output, read_strict(source))


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
        diagnostics=tuple(sorted(diagnostics, key=lambda each: each.span)),
    )


def _source(output: Output) -> Source:
    scanner = output.scanner
    if scanner is None:
        raise AssertionError("the strict profile scans")
    end, cut_opener = _end(output, scanner)
    return Source(
        text=output.text,
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
    if output.cut and len(text) - held_at >= _SURE_MARKER:
        # A marker that is one token is never cut in the middle.
        kinds = [
            kind
            for kind, spelling in form.spellings.items()
            if (tokens is None or spelling not in tokens.vocab)
            and scanner.could_be(kind, text[held_at:])
        ]
        if kinds:
            return held_at, "call_open" in kinds
    end = len(text)
    while True:
        bare = end
        while bare and text[bare - 1] in WHITE_SPACE:
            bare -= 1
        token = next((each for each in form.end_of_turn if text.endswith(each, 0, bare)), None)
        if token is None or not _is_special(output, token, bare):
            return end, False
        end = bare - len(token)


def _is_special(output: Output, token: str, end: int) -> bool:
    """Say whether the special token spelled before `end` is that token, not text that names it."""
    tokens = output.tokens
    if tokens is None or token not in tokens.vocab:
        return True
    return tokens.is_token(end - len(token), end, tokens.vocab[token])


STRICT = Profile(
    name="strict",
    summary="our own reading: nothing lost, nothing executable that has more than one reading",
    readings={"qwen3_xml": read_xml},
    scans=True,
)

PROFILES = {STRICT.name: STRICT}
