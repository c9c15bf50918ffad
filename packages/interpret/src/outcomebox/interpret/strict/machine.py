"""The part of the `strict` reading that is the same for every format: reasoning and content.

The rules, in the order in which they matter:

1. Nothing is executable unless it has exactly one reading. A slip whose mending leaves one reading
   is repaired; a slip beside text that looks like markup is ambiguous.
2. Markup that opens no call is text, and text is never lost.
3. Reasoning ends at its first closer, whatever was drafted before it. Only where no closer follows
   does the first call end it.
4. A call quoted inside a value belongs to the value.
"""

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.raw import RawCall, RawTurn, Source, mark
from outcomebox.interpret.turn import Diagnostic, DiagnosticCode, Span


class Thinking(NamedTuple):
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


class Machine(ABC):
    """Walks the markers once.

    Attributes:
        source: What is read.
        calls: The calls and attempts so far, in order.
        dropped: Markup that was taken out of the text.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.calls: list[RawCall] = []
        self.dropped: list[Diagnostic] = []
        self._markers = source.markers
        self._thinking = _at_start(source)
        self._reasoning: Span | None = None
        self._block: Span | None = None
        self._notes: list[Diagnostic] = []
        self._next = 0

    def run(self) -> RawTurn:
        """Read the turn. Takes time linear in the text."""
        for i, marker in enumerate(self._markers):
            if i >= self._next:
                self._take(i, marker)
        self._finish()
        diagnostics = sorted(self.dropped + self._notes, key=lambda each: each.span)
        return RawTurn(self._reasoning, self._content(), self.calls, diagnostics)

    # -- what a form of calls adds ----------------------------------------------------------------

    @abstractmethod
    def _take(self, i: int, marker: Marker) -> None:
        """Take marker `i`."""

    @abstractmethod
    def _forget_calls(self, start: int) -> bool:
        """Forget the calls that start at `start` or later; say whether there was one."""

    @abstractmethod
    def _finish_calls(self) -> None:
        """Close what the end of the output left open."""

    # -- reasoning --------------------------------------------------------------------------------

    @property
    def _reasons(self) -> bool:
        return self._thinking is not None and self._thinking.kind != "inline"

    def _think_open(self, i: int, marker: Marker) -> None:
        source = self.source
        leading = i == 0 and not source.text[: marker.start].strip(WHITE_SPACE)
        if self._thinking is None:
            kind: Literal["block", "leading", "inline"] = "inline"
            if leading:
                kind = "leading" if source.prompt_state == "think_closed" else "block"
            self._thinking = Thinking(marker.start, marker.end, kind)
        elif leading:
            self._thinking = Thinking(0, marker.end, "block")
            if source.prompt_state == "think_open":
                self._note("repeated_think_open", marker.start, marker.end)

    def _think_close(self, marker: Marker) -> None:
        thinking, self._thinking = self._thinking, None
        may_reason = self._reasoning is None and self.source.prompt_state == "assistant_start"
        if thinking is None:
            if not may_reason:
                return
            thinking = Thinking(0, 0, "block")
            self._note("missing_think_open", marker.start, marker.end)
        drafts = self._forget(thinking.start)
        if thinking.kind != "inline" or may_reason:
            self._reasoning = (thinking.text_start, marker.start)
            self._block = (thinking.start, marker.end)
        elif drafts:
            self._note("draft_call", thinking.start, marker.end)

    def _forget(self, start: int) -> bool:
        """Forget the calls and marks made since `start`; say whether there was a call."""
        while self.dropped and self.dropped[-1].span[0] >= start:
            self.dropped.pop()
        return self._forget_calls(start)

    # -- the end ----------------------------------------------------------------------------------

    def _finish(self) -> None:
        source = self.source
        size = len(source.text)
        self._finish_calls()
        in_call = bool(self.calls) and self.calls[-1].end == size
        if source.cut and source.end < size and not in_call:
            if source.cut_opener:
                self.calls.append(RawCall.attempt(source.end, size, truncated=True))
            else:
                self._note("cut_marker", source.end, size)
        thinking = self._thinking
        if thinking is None or not self._reasons or (thinking.kind == "leading" and not source.cut):
            return
        calls = [call for call in self.calls if call.start >= thinking.text_start]
        end = calls[0].start if calls else source.end
        self._reasoning, self._block = (thinking.text_start, end), (thinking.start, end)
        self.dropped[:] = [each for each in self.dropped if each.span[0] >= end]
        if source.cut:
            for call in calls:
                if call.complete:
                    call.doubts.append("it may be a draft: reasoning was cut before it ended")

    def _content(self) -> list[Span]:
        """Return the pieces of text that nothing else has taken, white space alone left out."""
        taken = [(call.start, call.end) for call in self.calls]
        taken += [each.span for each in self.dropped]
        taken += [each.span for each in self._notes if each.code == "cut_marker"]
        if self._block:
            taken.append(self._block)
        pieces: list[Span] = []
        at = 0
        for start, end in [*sorted(taken), (self.source.end, self.source.end)]:
            if start > at and self.source.text[at:start].strip(WHITE_SPACE):
                pieces.append((at, start))
            at = max(at, end)
        return pieces

    def _drop(self, code: DiagnosticCode, start: int, end: int) -> None:
        """Take markup out of the text."""
        self.dropped.append(mark(code, start, end))

    def _note(self, code: DiagnosticCode, start: int, end: int) -> None:
        self._notes.append(mark(code, start, end))


def _at_start(source: Source) -> Thinking | None:
    """Return the reasoning block that is open where the output starts."""
    if "think_close" not in source.format.spellings:
        return None  # this model has no reasoning that could be open
    reasons = source.format.always_reasons and source.prompt_state == "assistant_start"
    return Thinking(0, 0, "block") if reasons or source.prompt_state == "think_open" else None
