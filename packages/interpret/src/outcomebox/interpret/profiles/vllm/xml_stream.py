"""What a client holds of XML calls when vLLM's chat endpoint has streamed them token by token.

In a stream a marker that has a token of its own is markup only where that token was sampled. What
the server sends depends on where the tokens end: white space that is a token of its own is left out
behind a call, and the arguments of a call are compared token by token (`xml_sent`).
"""

from bisect import bisect_left
from itertools import accumulate

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.qwen import ENDS, SPECIAL
from outcomebox.interpret.profiles.vllm.answer import call_of, nameless, served
from outcomebox.interpret.profiles.vllm.deltas import Delta, deltas_of
from outcomebox.interpret.profiles.vllm.releases import Release
from outcomebox.interpret.profiles.vllm.xml_arguments import Arguments
from outcomebox.interpret.profiles.vllm.xml_calls import Attempt, CallReader
from outcomebox.interpret.profiles.vllm.xml_lexer import DROPPED, Lexer, Piece
from outcomebox.interpret.profiles.vllm.xml_parameters import name_in_json
from outcomebox.interpret.profiles.vllm.xml_sent import sent
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Diagnostic, ToolCall, Turn


def read_stream(output: Output, release: Release) -> Turn:
    """Read an output as a client joins it from the server's deltas."""
    output = served(output)
    deltas = deltas_of(output, SPECIAL if release.drops_special else ENDS)
    client = _Client(release)
    reasoning: list[str] = []
    if output.prompt_state != "think_closed":
        for delta in deltas:
            reasoning.append(delta.text)
            if delta.kind == "call_close":
                reasoning.append(delta.marker)
            elif delta.kind == "call_open":
                client.take(delta.without_text())
                break
            elif delta.kind == "think_close":
                break
    for delta in deltas:
        client.take(delta)
    client.finish(len(output.text))
    calls, notes = client.calls(output.tools)
    return Turn("".join(reasoning) or None, client.content(), calls, notes)


class _Client:
    """Joins what it is sent behind the reasoning."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._lexer = Lexer(SPECIAL if release.drops_special else frozenset())
        self._reader = CallReader()
        self._content: list[str] = []
        self._blank: list[str] = []
        self._speaks = False
        self._pieces_of_open: int | None = None

    def take(self, delta: Delta) -> None:
        """Take one delta."""
        before = len(self._reader.attempts)
        self._read(self._lexer.feed(delta.text, delta.start))
        if delta.marker and (delta.kind != DROPPED or self._release.drops_special):
            self._read(self._lexer.flush())
            self._reader.read(Piece(delta.kind, delta.marker, delta.start + len(delta.text)))
        if self._reader.texts or self._blank:
            self._say(self._reader.attempts[before:])

    def finish(self, end: int) -> None:
        """Take the end of the stream."""
        if self._reader.open:
            self._pieces_of_open = len(self._reader.attempts[-1].pieces)
        self._read(self._lexer.flush())
        self._reader.finish(end)
        self._say([])
        self._content += self._blank

    def content(self) -> str | None:
        """Return the content."""
        return "".join(self._content) or None

    def calls(self, tools: Toolbox) -> tuple[tuple[ToolCall, ...], tuple[Diagnostic, ...]]:
        """Return the calls, and a note for each attempt that was none."""
        calls: list[ToolCall] = []
        notes: list[Diagnostic] = []
        offers = not tools.none_offered
        for attempt in self._reader.attempts:
            span = (attempt.start, attempt.end)
            if not attempt.name:
                notes.append(nameless(span))
                continue
            name, wire = attempt.name, self._wire(attempt, tools)
            if not offers:
                name, wire = self._leaked(attempt, wire, tools)
            if name or wire:
                calls.append(call_of(name, wire, span, tools))
        return tuple(calls), tuple(notes)

    def _read(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            self._reader.read(piece)

    def _say(self, begun: list[Attempt]) -> None:
        """Send the content that one delta brought; `begun` are the attempts that it began.

        White space waits until text follows it. Once there was an attempt it does not wait, but is
        left out, until there was text.
        """
        text = "".join(self._reader.texts)
        self._reader.texts.clear()
        if self._speaks:
            self._content.append(text)
        elif text.strip():
            self._speaks = True
            named = any(each.is_named for each in begun)
            self._content += [text, *self._blank] if named else [*self._blank, text]
            self._blank.clear()
        elif self._reader.attempts:
            self._blank.clear()
        else:
            self._blank.append(text)

    def _wire(self, attempt: Attempt, tools: Toolbox) -> str:
        arguments = Arguments(tools, attempt.name, self._release)
        return sent(attempt.pieces, _named(attempt), arguments, closed=True)

    def _leaked(self, attempt: Attempt, wire: str, tools: Toolbox) -> tuple[str, str]:
        """Return what a client gets of a call where no tool is offered.

        The server leaves calls out, but forgets to where the end of the stream ends an open one.
        """
        pieces = self._pieces_of_open
        if pieces is None or attempt is not self._reader.attempts[-1]:
            return "", ""
        named = _named(attempt)
        if pieces <= named:
            return attempt.name, wire
        arguments = Arguments(tools, attempt.name, self._release)
        before = sent(attempt.pieces[:pieces], named, arguments, closed=False)
        return "", wire[len(before) :]


def _named(attempt: Attempt) -> int:
    """Return the index of the piece of arguments at which the call's name is known."""
    if attempt.names:
        return 0
    found = name_in_json(attempt.body)
    if found is None:
        return len(attempt.pieces)
    return bisect_left(list(accumulate(map(len, attempt.pieces))), found.known)
