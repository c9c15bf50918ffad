"""Reads a turn whose calls are functions with parameters between markers: `xml` and `keyed`."""

from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.canonical import read_canonical
from outcomebox.interpret.strict.layout import Layout
from outcomebox.interpret.strict.machine import Machine
from outcomebox.interpret.strict.raw import RawCall, RawTurn, Source
from outcomebox.interpret.strict.words import foreign_body
from outcomebox.interpret.strict.xmlcalls import CallReader


def read_xml(source: Source) -> RawTurn:
    """Read a turn of XML calls. Takes time linear in the text."""
    return read_canonical(source) or XmlMachine(source).run()


class XmlMachine(Machine):
    """Stands at the root wherever its call reader has nothing open."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._layout = Layout(source)
        self._reader = CallReader(source, self._layout, self.calls, self.dropped)
        self._abandoned: RawCall | None = None

    def _take(self, i: int, marker: Marker) -> None:
        reader = self._reader
        if reader.open and marker.kind == "think_close" and self._reasons:
            self._abandoned = reader.abandon()
            self._think_close(marker)
        elif not reader.take(i, marker):
            self._root(i, marker)

    def _forget_calls(self, start: int) -> bool:
        return self._reader.forget(start)

    def _finish_calls(self) -> None:
        self._reader.finish()

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
            after == "text" and foreign_body(self.source, marker.end)
        ):
            self._reader.open_foreign(marker)
        elif after == "end" and self.source.cut:
            self._reader.attempt(marker.start, len(self.source.text), truncated=True)

    def _function_open(self, i: int, marker: Marker) -> None:
        """Open a call without a wrapper: at the start of a line, for a tool that is offered."""
        layout = self._layout
        if layout.line_start[i] and layout.begins_call(i) and self.source.offered(marker.name):
            self._reader.open_bare(marker)

    def _call_close(self, i: int, marker: Marker) -> None:
        """Take a call closer with no call open: a bare call's, or a stray one, or text."""
        if i == 0 or not self._layout.blank_before[i]:
            return
        before = self._markers[i - 1].end
        last = self.calls[-1] if self.calls else None
        after_call = last is not None and last.end == before
        if last and after_call and last.bare:
            last.end = marker.end
            last.bare = False
        elif after_call or (self.dropped and self.dropped[-1].span[1] == before):
            self._drop("stray_marker", marker.start, marker.end)

    def _stray_closer(self, i: int) -> None:
        """Take the end of a call with none open: what was read as a call's end may not be it."""
        calls, abandoned = self.calls, self._abandoned
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
        end = self._markers[run].end
        if self._block and calls[-1].end <= self._block[0] and start >= self._block[1]:
            self._drop("stray_marker", start, end)  # reasoning stands between them
        else:
            calls[-1].end = end
        self._next = run + 1
