"""Reads a turn whose calls hold JSON: an object with name and arguments, or a header before it.

A call's JSON is decoded from where it begins; its closer is looked for behind the value's own end,
so that nothing in a string ends a call. An attempt that cannot be decoded ends at the next closer
or opener, and the calls behind it are read.
"""

from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.bodies import Body, BodyReader
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.machine import Machine
from outcomebox.interpret.strict.raw import RawCall, RawTurn, Source

_BRACKETS = "}]"
_GOES_ON = (",", ":", '"', "}", "]", "{", "[")
_CALL_MARKERS = frozenset({"call_open", "call_close", "section_open", "section_close"})


def read_json_turn(source: Source) -> RawTurn:
    """Read a turn of JSON calls. Takes time linear in the text."""
    return JsonMachine(source).run()


class JsonMachine(Machine):
    """Takes each call whole, and goes on behind it."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._form = source.format
        self._bodies = BodyReader(source)
        self._closers: list[int | None] = []  # for each marker, the next end of reasoning
        self._opens = self._openers()
        self._section: int | None = None  # where the open section starts
        self._fresh = False  # whether no call of the section has been met yet
        self._closes = "call_close" in self._form.spellings
        self._faults: list[int] = []  # where attempts without a reading start
        self._strays: list[int] = []  # where closers stand that close nothing

    def run(self) -> RawTurn:
        """Read the turn. Takes time linear in the text."""
        if self._form.bare:
            self._bare(0, 0)
        return super().run()

    # -- markers ----------------------------------------------------------------------------------

    def _take(self, i: int, marker: Marker) -> None:
        kind = marker.kind
        self._next = i + 1
        if kind == "think_open":
            self._think_open(i, marker)
        elif kind == "think_close":
            self._think_close(marker)
        elif kind == "call_open":
            self._call_open(i, marker)
        elif kind == "section_open":
            self._section_open(i, marker)
        elif kind == "call_close":
            self._stray(i, marker)
        elif kind == "section_close":
            self._section_close(i, marker)
        if self._form.bare:
            read_to = self.calls[-1].end if self.calls else 0
            self._bare(max(marker.end, read_to), self._next)

    def _call_open(self, i: int, marker: Marker) -> None:
        after = self._after(i)
        if self._opens[i]:
            if after == "call_open":
                self._drop("doubled_opener", marker.start, marker.end)
            else:
                self._call(i, self._start(marker.start), self._bodies.read(i))
        elif after == "call_close":
            self._drop("empty_call", marker.start, self._markers[i + 1].end)
            self._next = i + 2
        elif after == "end" and self.source.cut:
            self._attempt(self._start(marker.start), len(self.source.text), truncated=True)
        elif after == "text" and self._bodies.foreign(i):
            self._refuse(i, self._start(marker.start), Body(fault=self._bodies.wanted))

    def _section_open(self, i: int, marker: Marker) -> None:
        after = self._after(i)
        if self._opens[i] and after == "section_open":
            self._drop("doubled_opener", marker.start, marker.end)
        elif self._opens[i]:
            self._leave_section()
            self._section, self._fresh = marker.start, True
        elif after == "section_close":
            self._drop("empty_call", marker.start, self._markers[i + 1].end)
            self._next = i + 2
        elif after == "end" and self.source.cut:
            self._attempt(marker.start, len(self.source.text), truncated=True)

    def _section_close(self, i: int, marker: Marker) -> None:
        if self._section is None or not self.calls:
            self._stray(i, marker)
            return
        self._section = None
        last = self.calls[-1]
        if self._blank(last.end, marker.start):
            last.end = marker.end
        else:
            self._drop("stray_marker", marker.start, marker.end)

    def _stray(self, i: int, marker: Marker) -> None:
        """Take a closer that closes nothing: left out directly behind a call, else text."""
        ends = [self.calls[-1].end] if self.calls else []
        ends += [self.dropped[-1].span[1]] if self.dropped else []
        before = max(ends, default=-1)
        near = i > 0 and self._markers[i - 1].end <= before
        if near and self._blank(before, marker.start):
            self._drop("stray_marker", marker.start, marker.end)
        else:
            self._strays.append(marker.start)

    # -- calls ------------------------------------------------------------------------------------

    def _start(self, opener: int) -> int:
        """Return where the markup of a call starts, the opener of a section included."""
        if self._section is not None and self._fresh:
            self._fresh = False
            return self._section
        return opener

    def _call(self, i: int, start: int, body: Body) -> None:
        """Record the calls of the body behind opener `i`, or before marker `i` if it has none."""
        if not body.calls:
            self._refuse(i, start, body)
            return
        calls, first = body.calls, body.calls[0]
        first.start = start
        if self._form.write("section_open") and self._section is None:
            first.repairs.append(f"it stands outside {self._form.write('section_open')}")
        self._skip(calls[-1].end)
        self.calls += calls
        if self._reasons and self._ends_reasoning(i, calls):
            return
        if body.fault:
            self._refuse(self._next - 1, body.start, body)
        else:
            self._close(calls[-1], body.end)

    def _close(self, last: RawCall, end: int) -> None:
        """Take what closes the call whose JSON ends at `end`, or miss it."""
        source = self.source
        last.end = end
        if self._form.bare:
            self._close_line(last)
            return
        following = self._markers[self._next] if self._next < len(self._markers) else None
        gap = source.text[end : following.start if following else source.end]
        rest = gap.strip(WHITE_SPACE)
        if rest.strip(_BRACKETS + WHITE_SPACE) == "" and rest:
            last.repairs.append("a bracket too many stands behind its JSON")
            last.end = end + len(gap.rstrip(WHITE_SPACE))
            rest = ""
        elif rest.startswith(_GOES_ON):
            last.doubts.append("its JSON seems to go on behind its end")
        if following and following.kind == "call_close":
            self._next += 1
            if rest:
                last.repairs.append(f"text stands before its {self._form.write('call_close')}")
                self._drop("stray_marker", following.start, following.end)
            else:
                last.end = following.end
        elif source.cut and not following and self._form.write("call_close").startswith(rest):
            last.truncated, last.end = True, len(source.text)
        elif self._closes:
            last.repairs.append(f"it has no {self._form.write('call_close')}")

    def _close_line(self, last: RawCall) -> None:
        """Take the end of a call's line for its closer: behind text, it may be an example."""
        source, end = self.source, last.end
        line_end = source.text.find("\n", end, source.end)
        rest = source.text[end : line_end if line_end >= 0 else source.end].strip(WHITE_SPACE)
        if rest and not rest.strip(_BRACKETS):
            last.repairs.append("a bracket too many stands behind its JSON")
            last.end = source.text.index(rest, end) + len(rest)
        elif rest:
            last.doubts.append("text goes on behind its end")
        elif source.cut and self._bodies.skip(end) == source.end:
            last.truncated, last.end = True, len(source.text)

    def _ends_reasoning(self, i: int, calls: tuple[RawCall, ...]) -> bool:
        """Say whether the end of reasoning stands inside a call, which is then in doubt."""
        inside = [m for m in self._markers[i : self._next] if m.kind == "think_close"]
        if not inside or self._thinking is None:
            return False
        thinking, self._thinking = self._thinking, None
        start = calls[0].start
        self.calls[-len(calls) :] = []
        self._forget(thinking.start)
        self.calls += calls
        self._reasoning, self._block = (thinking.text_start, start), (thinking.start, start)
        for call in calls:
            call.doubts.append("the end of reasoning stands inside it")
        self._close(calls[-1], calls[-1].end)
        return True

    def _refuse(self, i: int, start: int, body: Body) -> None:
        """Record an attempt behind marker `i` that has no reading, or was cut."""
        source = self.source
        close = self._closers[i] if self._reasons and i >= 0 else None
        if body.unfinished and source.cut and close is None:
            self._cut_off(start, body.name)
            return
        end, after = source.end, len(self._markers)
        for n in range(i + 1, len(self._markers)):
            marker = self._markers[n]
            if marker.kind in _CALL_MARKERS or n == close:
                closed = marker.kind == "call_close"
                end, after = (marker.end, n + 1) if closed else (marker.start, n)
                break
        self._attempt(start, end, name=body.name, fault=body.fault)
        self._faults.append(start)
        self._next = after

    def _cut_off(self, start: int, name: str) -> None:
        """Record a call that the end of the output cut."""
        self._attempt(start, len(self.source.text), name=name, truncated=True)
        self._next = len(self._markers)

    def _attempt(
        self, start: int, end: int, *, name: str = "", fault: str = "", truncated: bool = False
    ) -> None:
        call = RawCall.attempt(start, end, name=name, fault=fault, truncated=truncated)
        call.values = {}
        self.calls.append(call)

    def _bare(self, at: int, following: int) -> None:
        """Take calls that stand without an opener between `at` and marker `following`."""
        end = self._markers[following].start if following < len(self._markers) else self.source.end
        while body := self._bodies.bare(at, end):
            self._next = following
            if body.calls:
                self._call(following, body.calls[0].start, body)
                at = self.calls[-1].end
            elif body.unfinished and self.source.cut:
                self._cut_off(body.start, body.name)
            else:
                # Nothing says where it ends: it takes all that could be a call without an opener.
                self._attempt(body.start, end, name=body.name, fault=body.fault)
                self._faults.append(body.start)
                return
            if self._next > following or self.calls[-1].truncated:
                return

    # -- the end ----------------------------------------------------------------------------------

    def _forget_calls(self, start: int) -> bool:
        forgotten = False
        while self.calls and self.calls[-1].start >= start:
            self.calls.pop()
            forgotten = True
        for places in (self._faults, self._strays):
            while places and places[-1] >= start:
                places.pop()
        if self._section is not None and self._section >= start:
            self._section = None
        return forgotten

    def _finish_calls(self) -> None:
        if not self.source.cut:
            self._leave_section()
        # What follows an attempt without a reading may stand in it, up to a closer left over.
        last = len(self.source.text) if self.source.cut else max(self._strays, default=-1)
        for call in self.calls:
            if self._faults and self._faults[0] < call.start < last and call.complete:
                call.doubts.append("it may stand in the malformed call before")

    def _leave_section(self) -> None:
        if self._section is not None and self.calls and not self._fresh:
            self.calls[-1].repairs.append(f"it has no {self._form.write('section_close')}")
        self._section = None

    # -- places -----------------------------------------------------------------------------------

    def _openers(self) -> list[bool]:
        """Return for each marker whether it opens a call, itself or as one of several."""
        opens = [False] * len(self._markers)
        closer: int | None = None
        self._closers = [None] * len(self._markers)
        for i in range(len(self._markers) - 1, -1, -1):
            kind = self._markers[i].kind
            self._closers[i] = closer
            if kind == "think_close":
                closer = i
            if kind == "call_open":
                after = self._after(i)
                opens[i] = opens[i + 1] if after == "call_open" else self._bodies.begins(i)
            elif kind == "section_open":
                opens[i] = self._after(i) in ("call_open", "section_open") and opens[i + 1]
        return opens

    def _after(self, i: int) -> str:
        """Return what follows marker `i` when white space is skipped."""
        at = self._markers[i].end
        if i + 1 < len(self._markers):
            following = self._markers[i + 1]
            return following.kind if self._blank(at, following.start) else "text"
        return "end" if self._blank(at, self.source.end) else "text"

    def _blank(self, start: int, end: int) -> bool:
        return not self.source.text[start:end].strip(WHITE_SPACE)

    def _skip(self, end: int) -> None:
        """Leave out the markers that stand before `end`, in a value."""
        while self._next < len(self._markers) and self._markers[self._next].start < end:
            self._next += 1
