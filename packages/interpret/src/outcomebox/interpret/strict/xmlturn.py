"""The `strict` reading: our own, meant to be right rather than like somebody's engine.

The rules, in the order in which they matter:

1. Nothing is executable unless it has exactly one reading. A slip whose mending leaves one reading
   is repaired; a slip beside text that looks like markup is ambiguous.
2. Markup that opens no call is text, and text is never lost.
3. Reasoning ends at its first closer, whatever was drafted before it. Only where no closer follows
   does the first call end it.
4. A call quoted inside a value belongs to the value.
"""

from typing import Literal, NamedTuple

from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.layout import WHITE_SPACE, Layout
from outcomebox.interpret.strict.raw import RawCall, RawTurn, Source, mark
from outcomebox.interpret.strict.xmlcalls import CallReader, foreign_body
from outcomebox.interpret.turn import Diagnostic, DiagnosticCode, Span


class _Thinking(NamedTuple):
    """A reasoning block that is open.

    Attributes:
        start: Where its markup starts.
        text_start: Where its text starts.
        kind: `block`: certain. `leading`: the prompt had closed reasoning and the output opens it
            again, which counts once it is closed, or cut. `inline`: opened after other text.
    """

    start: int
    text_start: int
    kind: Literal["block", "leading", "inline"]


def read_strict(source: Source) -> RawTurn:
    """Read a turn of XML calls. Takes time linear in the text."""
    return _Machine(source).run()


class _Machine:
    """Walks the markers once; stands at the root wherever its call reader has nothing open."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._markers = source.markers
        self._layout = Layout(source.text, source.markers, source.end, cut=source.cut)
        self._dropped: list[Diagnostic] = []
        self._reader = CallReader(source, self._layout, self._dropped)
        self._thinking: _Thinking | None = None
        if source.prompt_state == "think_open":
            self._thinking = _Thinking(0, 0, "block")
        self._reasoning: Span | None = None
        self._block: Span | None = None
        self._abandoned: RawCall | None = None
        self._notes: list[Diagnostic] = []
        self._next = 0

    def run(self) -> RawTurn:
        reader = self._reader
        for i, marker in enumerate(self._markers):
            if i < self._next:
                continue
            if reader.open and marker.kind == "think_close" and self._reasons:
                self._abandoned = reader.abandon()
                self._think_close(marker)
            elif not reader.take(i, marker):
                self._root(i, marker)
        self._finish()
        diagnostics = sorted(self._dropped + self._notes, key=lambda each: each.span)
        return RawTurn(self._reasoning, self._content(), reader.calls, diagnostics)

    @property
    def _reasons(self) -> bool:
        return self._thinking is not None and self._thinking.kind != "inline"

    # -- calls ------------------------------------------------------------------------------------

    def _root(self, i: int, marker: Marker) -> None:
        kind = marker.kind
        if kind == "think_open":
            self._think_open(i, marker)
        elif kind == "think_close":
            self._think_close(marker)
        elif kind == "call_open":
            self._call_open(i, marker)
        elif kind == "call_close":
            self._call_close(i, marker)
        elif kind == "function_open":
            self._function_open(i, marker)
        elif kind != "parameter_open":
            self._stray_closer(i)

    def _call_open(self, i: int, marker: Marker) -> None:
        after = self._layout.follows[i]
        if self._layout.opens_call[i]:
            if after == "call_open":
                self._drop("doubled_opener", marker.start, marker.end)
            else:
                self._reader.open_wrapper(marker)
        elif after == "call_close":
            self._drop("empty_call", marker.start, self._markers[i + 1].end)
            self._next = i + 2
        elif after == "parameter_open" or (
            after == "text" and foreign_body(self._source, marker.end)
        ):
            self._reader.open_foreign(marker)
        elif after == "end" and self._source.cut:
            self._reader.attempt(marker.start, len(self._source.text), truncated=True)

    def _function_open(self, i: int, marker: Marker) -> None:
        """Open a call without a wrapper: at the start of a line, for a tool that is offered."""
        layout = self._layout
        if layout.line_start[i] and layout.begins_call(i) and self._source.offered(marker.name):
            self._reader.open_bare(marker)

    def _call_close(self, i: int, marker: Marker) -> None:
        """Take a call closer with no call open: a bare call's, or a stray one, or text."""
        if i == 0 or not self._layout.blank_before[i]:
            return
        before = self._markers[i - 1].end
        last = self._reader.calls[-1] if self._reader.calls else None
        after_call = last is not None and last.end == before
        if last and after_call and last.bare:
            last.end = marker.end
            last.bare = False
        elif after_call or (self._dropped and self._dropped[-1].span[1] == before):
            self._drop("stray_marker", marker.start, marker.end)

    def _stray_closer(self, i: int) -> None:
        """Take the end of a call with none open: what was read as a call's end may not be it."""
        calls, abandoned = self._reader.calls, self._abandoned
        goes_on = abandoned and (not calls or calls[-1].start < abandoned.start)
        if not goes_on and self._reader.first_valued is None:
            return
        run = self._layout.stray_run(i)
        if run is None:
            return
        if abandoned and goes_on:
            # The end of reasoning stood inside a value, and the call goes on behind it.
            calls.append(abandoned)
            abandoned.doubts.append("the end of reasoning stands inside it")
            if self._block and self._reasoning:
                self._block = (self._block[0], abandoned.start)
                self._reasoning = (self._reasoning[0], abandoned.start)
        start = self._markers[i].start
        self._reader.strays.append(start)
        self._reader.adrift = start if self._layout.follows[run] == "parameter_open" else None
        calls[-1].end = self._markers[run].end
        self._next = run + 1

    # -- reasoning --------------------------------------------------------------------------------

    def _think_open(self, i: int, marker: Marker) -> None:
        leading = i == 0 and self._layout.blank_before[0]
        if self._thinking is None:
            kind: Literal["block", "leading", "inline"] = "inline"
            if leading:
                kind = "leading" if self._source.prompt_state == "think_closed" else "block"
            self._thinking = _Thinking(marker.start, marker.end, kind)
        elif leading:
            self._thinking = _Thinking(0, marker.end, "block")
            self._note("repeated_think_open", marker.start, marker.end)

    def _think_close(self, marker: Marker) -> None:
        thinking, self._thinking = self._thinking, None
        may_reason = self._reasoning is None and self._source.prompt_state == "assistant_start"
        if thinking is None:
            if not may_reason:
                return
            thinking = _Thinking(0, 0, "block")
            self._note("missing_think_open", marker.start, marker.end)
        drafts = self._forget(thinking.start)
        if thinking.kind != "inline" or may_reason:
            self._reasoning = (thinking.text_start, marker.start)
            self._block = (thinking.start, marker.end)
        elif drafts:
            self._note("draft_call", thinking.start, marker.end)

    def _forget(self, start: int) -> bool:
        """Forget the calls and marks made since `start`; say whether there was a call."""
        while self._dropped and self._dropped[-1].span[0] >= start:
            self._dropped.pop()
        return self._reader.forget(start)

    # -- the end ----------------------------------------------------------------------------------

    def _finish(self) -> None:
        source, reader = self._source, self._reader
        size = len(source.text)
        reader.finish()
        in_call = bool(reader.calls) and reader.calls[-1].end == size
        if source.cut and source.end < size and not in_call:
            if source.cut_opener:
                reader.attempt(source.end, size, truncated=True)
            else:
                self._note("cut_marker", source.end, size)
        thinking = self._thinking
        if thinking is None or not self._reasons or (thinking.kind == "leading" and not source.cut):
            return
        calls = [call for call in reader.calls if call.start >= thinking.text_start]
        end = calls[0].start if calls else source.end
        self._reasoning, self._block = (thinking.text_start, end), (thinking.start, end)
        self._dropped[:] = [each for each in self._dropped if each.span[0] >= end]
        if source.cut:
            for call in calls:
                if call.complete:
                    call.doubts.append("it may be a draft: reasoning was cut before it ended")

    def _content(self) -> list[Span]:
        """Return the pieces of text that nothing else has taken, white space alone left out."""
        taken = [(call.start, call.end) for call in self._reader.calls]
        taken += [each.span for each in self._dropped]
        taken += [each.span for each in self._notes if each.code == "cut_marker"]
        if self._block:
            taken.append(self._block)
        pieces: list[Span] = []
        at = 0
        for start, end in [*sorted(taken), (self._source.end, self._source.end)]:
            if start > at and self._source.text[at:start].strip(WHITE_SPACE):
                pieces.append((at, start))
            at = max(at, end)
        return pieces

    def _drop(self, code: DiagnosticCode, start: int, end: int) -> None:
        """Take markup out of the text."""
        self._dropped.append(mark(code, start, end))

    def _note(self, code: DiagnosticCode, start: int, end: int) -> None:
        self._notes.append(mark(code, start, end))
