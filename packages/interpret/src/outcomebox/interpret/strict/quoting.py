"""Follows call markup quoted inside a value, so that its closers are not taken for the call's own.

A value that shows a whole call (documentation of a tool format, a test, a transcript) opens and
closes what it quotes. While a quotation is open, closers belong to it.
"""

from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.layout import Layout


class Quotation:
    """The quoted frames that are open inside one value, innermost last."""

    def __init__(self) -> None:
        self._frames: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._frames)

    def opens(self, i: int, marker: Marker, layout: Layout) -> bool:
        """Open a frame if marker `i`, met in a value, begins a quoted call or function."""
        if marker.kind == "call_open" and layout.quotes_call(i):
            self._frames.append("call")
        elif marker.kind == "function_open" and layout.quotes_function(i):
            self._frames.append("function")
        else:
            return False
        return True

    def follow(self, i: int, marker: Marker, layout: Layout) -> None:
        """Take marker `i`, met while a quotation is open. What does not fit is quoted text."""
        frames, kind = self._frames, marker.kind
        inside = frames[-1]
        if inside == "call":
            if kind == "function_open":
                frames.append("function")
            elif kind == "call_close":
                frames.pop()
        elif inside == "function":
            if kind == "parameter_open":
                frames.append("parameter")
            elif kind == "function_close":
                frames.pop()
            elif kind == "call_close" and frames[-2:-1] == ["call"]:
                del frames[-2:]
        elif kind == "parameter_close":
            # A call's closer ends all that is open in it, so an end taken too soon does no harm.
            if layout.closes_value(i, bare=True):
                frames.pop()
        else:
            self.opens(i, marker, layout)
