"""Reads XML calls, marker by marker, from the opener of one to its end.

A call takes the reader through *wrapper* (between functions), *function* (between parameters) and
*value*. A wrapper whose body is not XML takes it to *foreign*.
"""

from collections.abc import Callable

from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.layout import Layout
from outcomebox.interpret.strict.quoting import Quotation
from outcomebox.interpret.strict.raw import RawCall, Source, mark
from outcomebox.interpret.strict.words import words_of
from outcomebox.interpret.turn import Diagnostic


class _Value:
    """A parameter's value being read.

    Attributes:
        opener: The parameter's opener.
        quotation: The quoted calls that are open in it.
        openers: Parameter openers at the start of a line that were taken as text.
        closers: Parameter closers that were taken as text.
        quoted: Whether it quotes a call.
    """

    __slots__ = ("closers", "opener", "openers", "quotation", "quoted")

    def __init__(self, opener: Marker) -> None:
        self.opener = opener
        self.quotation = Quotation()
        self.openers = 0
        self.closers = 0
        self.quoted = False


class CallReader:
    """Collects calls. A marker that `take` refuses belongs to the text around calls.

    Attributes:
        calls: The calls and attempts so far, the open one included.
        strays: Where closers stand with no value open: signs that one was ended too soon.
        adrift: Where a stray closer stood before a parameter, if no stray call closer came since:
            the calls that follow may stand in a value of the call before.
        first_valued: Where the first call with a value starts; None while there is none.
    """

    def __init__(
        self,
        source: Source,
        layout: Layout,
        calls: list[RawCall],
        dropped: list[Diagnostic],
    ) -> None:
        """Start at the root. Markup that is taken out of the text is added to `dropped`."""
        self.calls = calls
        self.strays: list[int] = []
        self.adrift: int | None = None
        self.first_valued: int | None = None
        self._dropped = dropped
        self._source = source
        self._words = words_of(source.format)
        self._layout = layout
        self._handle: Callable[[int, Marker], bool] | None = None
        self._call: RawCall | None = None
        self._value: _Value | None = None
        self._junk = False
        self._opener = 0  # where the wrapper starts, for the call or attempt that gets its markup
        self._fresh = False  # whether no function of the wrapper has been met yet

    @property
    def open(self) -> bool:
        """Whether a call, a wrapper or an attempt is open."""
        return self._handle is not None

    def take(self, i: int, marker: Marker) -> bool:
        """Take marker `i`; False if it does not belong to what was open, which is then closed."""
        return self._handle is not None and self._handle(i, marker)

    def open_wrapper(self, marker: Marker) -> None:
        """Open a call wrapper, known to be followed by a function."""
        self._opener, self._fresh = marker.start, True
        self._handle = self._in_wrapper

    def open_bare(self, marker: Marker) -> None:
        """Open a function that stands outside a wrapper."""
        self._open_call(RawCall(marker.name, marker.start, bare=True))
        self.calls[-1].repairs.append(f"it stands outside {self._words.call_open}")

    def open_foreign(self, marker: Marker) -> None:
        """Open a wrapper whose body is not XML."""
        self._opener = marker.start
        self._handle = self._in_foreign

    def attempt(self, start: int, end: int, *, fault: str = "", truncated: bool = False) -> None:
        """Record an attempt that has no name."""
        self.calls.append(RawCall.attempt(start, end, fault=fault, truncated=truncated))
        self._handle = None

    def abandon(self) -> RawCall | None:
        """Leave whatever is open; return the call that was open."""
        call, self._call = self._call, None
        self._value = self._handle = None
        return call

    def finish(self) -> None:
        """Close what the end of the output left open."""
        source = self._source
        end = len(source.text) if source.cut else source.end
        call, value = self._call, self._value
        if call is None:
            if self._handle == self._in_foreign:
                fault = "" if source.cut else self._words.foreign
                self.attempt(self._opener, end, fault=fault, truncated=source.cut)
            elif self._handle == self._in_wrapper:
                self._miss(self.calls[-1], self._words.call_close)
        elif source.cut:
            call.end, call.truncated = end, True
        elif value and (value.quoted or value.closers):
            call.end = end
            call.doubts.append("a value holds markup, and not every opener has its closer")
        else:
            self._leave_call(end)
        if self.strays and self.first_valued is not None:
            for each in self.calls:
                if self.first_valued <= each.start < self.strays[-1]:
                    each.doubts.append("a value may go on after what looks like the call's end")
        if source.cut:
            self._doubt_unclosed()

    def forget(self, start: int) -> bool:
        """Forget the calls that start at `start` or later; say whether there was one."""
        forgotten = False
        while self.calls and self.calls[-1].start >= start:
            self.calls.pop()
            forgotten = True
        while self.strays and self.strays[-1] >= start:
            self.strays.pop()
        if self.adrift is not None and self.adrift >= start:
            self.adrift = None
        if self.first_valued is not None and self.first_valued >= start:
            self.first_valued = None
        return forgotten

    def _doubt_unclosed(self) -> None:
        """Trust no call whose closer might have come, nor any after it, in an output that was cut.

        What looks like such a call's end, and the calls after it, are perhaps only quoted in it.
        """
        doubtful = False
        for call in self.calls:
            if call.open_end or call.bare:
                call.truncated = doubtful = True
            elif doubtful and call.complete:
                call.doubts.append("a call before it has no end, and the output was cut")

    # -- states -----------------------------------------------------------------------------------

    def _in_wrapper(self, i: int, marker: Marker) -> bool:
        if marker.kind == "function_open" and (self._fresh or self._layout.blank_before[i]):
            start = self._opener if self._fresh else marker.start
            self._fresh = False
            self._open_call(RawCall(marker.name, start))
            return True
        self._handle = None
        last = self.calls[-1]
        if marker.kind != "call_close":
            self._miss(last, self._words.call_close)
            return False
        if self._layout.blank_before[i]:
            last.end = marker.end
        else:
            last.repairs.append(f"text stands before its {self._words.call_close}")
            self._dropped.append(mark("stray_marker", marker.start, marker.end))
        return True

    def _in_function(self, i: int, marker: Marker) -> bool:
        call, kind = self._current, marker.kind
        self._junk = self._junk or not self._layout.blank_before[i]
        if kind == "parameter_open":
            self._open_value(marker)
        elif kind == "function_close":
            self._close_call(marker)
        elif kind == "call_close":
            self._close_call(marker)
            self._miss(call, self._words.function_close)
            self._handle = None
        elif kind == "function_open" or self._layout.opens_call[i]:
            attempt = self._leave_call(marker.start)
            if not attempt or call.bare or kind == "call_open":
                return False
            self._open_call(RawCall(marker.name, marker.start))
        else:
            self._junk = True
            if kind == "parameter_close":
                self.strays.append(marker.start)
        return True

    def _in_value(self, i: int, marker: Marker) -> bool:
        call, value = self._current, self._current_value
        kind, layout = marker.kind, self._layout
        if value.quotation:
            value.quotation.follow(i, marker, layout)
        elif kind == "parameter_close":
            if not layout.closes_value(i, bare=call.bare):
                value.closers += 1
                return True
            if value.openers > value.closers:
                call.doubts.append(self._words.opener_in_value)
            self._close_value(marker.start)
        elif kind == "parameter_open":
            if layout.line_start[i]:
                self._parameter_in_value(marker)
        elif kind == "function_close":
            if layout.closes_open_value(i):
                self._close_value(marker.start, missing_closer=True)
                self._close_call(marker)
        elif value.quotation.opens(i, marker, layout):
            value.quoted = True
        return True

    def _in_foreign(self, _: int, marker: Marker) -> bool:
        closed = marker.kind == "call_close"
        if closed or marker.kind == "call_open":
            end = marker.end if closed else marker.start
            self.attempt(self._opener, end, fault=self._words.foreign)
        return closed or self.open

    # -- steps ------------------------------------------------------------------------------------

    @property
    def _current(self) -> RawCall:
        if self._call is None:
            raise AssertionError("no call is open")
        return self._call

    @property
    def _current_value(self) -> _Value:
        if self._value is None:
            raise AssertionError("no value is open")
        return self._value

    def _open_call(self, call: RawCall) -> None:
        if self.adrift is not None:
            call.doubts.append("it may stand in a value of the call before")
        self.calls.append(call)
        self._call = call
        self._junk = False
        self._handle = self._in_function

    def _close_call(self, marker: Marker) -> None:
        """Close the open call, unless it was prose about the format, with a made-up name."""
        call = self._current
        call.end = marker.end
        self._call = None
        self._handle = None if call.bare else self._in_wrapper
        if self._junk and self._source.offered(call.name) is False:
            self.forget(call.start)
            self._handle = None
        elif self._junk:
            call.faults.append("text stands outside its parameters")

    def _leave_call(self, end: int) -> bool:
        """Give up the open call, which has no closer; False if it was prose about the format."""
        call = self._current
        call.end = end
        self.abandon()
        if self._junk and not call.parameters:
            self.forget(call.start)
            return False
        call.faults.append("it was never closed")
        return True

    def _open_value(self, marker: Marker) -> None:
        self._value = _Value(marker)
        self._handle = self._in_value

    def _close_value(self, end: int, *, missing_closer: bool = False) -> None:
        call, value = self._current, self._current_value
        name = value.opener.name
        if name in call.parameters:
            call.doubts.append(f"parameter {name!r} is given more than once")
        text = self._source.text[value.opener.end : end]
        if self._source.format.padded:
            text = text.removeprefix("\n").removesuffix("\n")
        call.parameters[name] = text
        if self.first_valued is None:
            self.first_valued = call.start
        if missing_closer:
            call.repairs.append(f"parameter {name!r} has no {self._words.value_close}")
            call.open_end = True
            if value.closers:
                call.doubts.append(f"it is unclear where parameter {name!r} ends")
        self._value = None
        self._handle = self._in_function

    def _parameter_in_value(self, marker: Marker) -> None:
        """Take a parameter opener at the start of a line in a value: a next parameter, or text."""
        call, value = self._current, self._current_value
        fresh = marker.name not in call.parameters and marker.name != value.opener.name
        if fresh and self._source.declared(call.name, marker.name) is not False:
            self._close_value(marker.start, missing_closer=True)
            self._open_value(marker)
        else:
            value.openers += 1

    def _miss(self, call: RawCall, closer: str) -> None:
        call.repairs.append(f"it has no {closer}")
        call.open_end = True
