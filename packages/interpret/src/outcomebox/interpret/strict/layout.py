"""Where a marker stands, and whether it is structure there or only text that looks like it.

A parameter's value may hold any text, markers included. What tells a real closer from a quoted one
is what follows it: `</parameter>` closes a value when only white space separates it from the next
parameter or from the end of the function, and `</function>` ends a function when only white space
separates it from the end of the call, another function or the end of the output.
"""

from typing import Literal

from outcomebox.interpret.formats.base import MarkerKind
from outcomebox.interpret.strict.raw import Source

WHITE_SPACE = " \t\r\n\f\v"
"""White space is ASCII: U+00A0 or U+2028 in an answer is text."""

Follower = MarkerKind | Literal["text", "end"]

_CLOSERS = ("parameter_close", "function_close", "call_close")


class Layout:
    """Facts about a list of markers, computed once, in time linear in the text.

    Attributes:
        follows: For each marker, what comes next when white space is skipped: the next marker's
            kind, `text` or `end`.
        blank_before: For each marker, whether only white space parts it from the marker before it,
            or from the start of the text.
        line_start: For each marker, whether it is the first thing on its line, or follows the
            marker before it directly. Keyed calls need no lines: there it holds for every marker.
        opens_call: For each marker, whether it is a call opener that a function opener follows,
            with nothing but white space and further call openers between them.
    """

    def __init__(self, source: Source) -> None:
        text, markers, end = source.text, source.markers, source.end
        self._markers = markers
        self._cut = source.cut
        keyed = source.format.bodies[0] == "keyed"
        self.follows: list[Follower] = []
        self.blank_before: list[bool] = []
        self.line_start: list[bool] = []
        at = 0
        for marker in markers:
            gap = text[at : marker.start]
            blank = not gap.strip(WHITE_SPACE)
            if self.blank_before:
                self.follows.append(marker.kind if blank else "text")
            self.blank_before.append(blank)
            self.line_start.append(blank or keyed or not gap.rpartition("\n")[2].strip(WHITE_SPACE))
            at = marker.end
        if markers:
            self.follows.append("text" if text[at:end].strip(WHITE_SPACE) else "end")
        self.opens_call = [False] * len(markers)
        self._last_value_close = max(
            (i for i, m in enumerate(markers) if m.kind == "parameter_close"), default=-1
        )
        self._closer_ahead = [False] * len(markers)
        ahead = False
        for i in range(len(markers) - 1, -1, -1):
            self._closer_ahead[i] = ahead
            kind, after = markers[i].kind, self.follows[i]
            if kind == "call_open":
                self.opens_call[i] = after == "function_open" or (
                    after == "call_open" and self.opens_call[i + 1]
                )
            if kind == "parameter_close" and self.closes_value(i, bare=False):
                ahead = True
            elif self.opens_call[i] or (kind == "function_open" and self.quotes_function(i)):
                ahead = False

    def begins_call(self, i: int) -> bool:
        """Say whether the function opener `i`, outside a wrapper, is followed by a function."""
        after = self.follows[i]
        if after == "text":
            return any(m.kind == "function_close" for m in self._markers[i + 1 : i + 2])
        return after in ("parameter_open", "function_close") or (after == "end" and self._cut)

    def closes_function(self, i: int) -> bool:
        """Say whether something that can follow a function follows the function closer `i`."""
        after = self.follows[i]
        return after in ("call_close", "function_open", "end") or (
            after == "call_open" and self.opens_call[i + 1]
        )

    def closes_open_value(self, i: int) -> bool:
        """Say whether the function closer `i`, met in an open value, ends the value as well.

        Not where the value's own closer is still to come before another function begins.
        """
        return self.closes_function(i) and not self._closer_ahead[i]

    def closes_value(self, i: int, *, bare: bool) -> bool:
        """Say whether the parameter closer `i`, met in an open value, is structure.

        `bare`: the function stands outside a call wrapper, so anything may follow it.
        """
        after = self.follows[i]
        if after == "function_close":
            # The last closer of all closes in any case: no other is left that could.
            last = i == self._last_value_close and not self._cut
            return bare or last or self.closes_function(i + 1)
        return after in ("parameter_open", "call_close", "end")

    def quotes_function(self, i: int) -> bool:
        """Say whether the function opener `i`, met in an open value, begins a quoted function."""
        return self.follows[i] in ("parameter_open", "function_close")

    def quotes_call(self, i: int) -> bool:
        """Say whether the call opener `i`, met in an open value, begins a quoted call."""
        return self.follows[i] == "function_open" and self.quotes_function(i + 1)

    def stray_run(self, i: int) -> int | None:
        """Return the last marker of a run of closers that starts at `i` with nothing open.

        None where the closer is only mentioned: nothing of a call's end follows it directly.
        """
        kind, after = self._markers[i].kind, self.follows[i]
        if kind == "parameter_close":
            if after not in ("function_close", "call_close", "parameter_open"):
                return None
        elif after != "call_close":
            return None
        while self.follows[i] in _CLOSERS:
            i += 1
        return i
