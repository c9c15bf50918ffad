"""A string of JSON while it arrives."""

import re
from collections.abc import Callable

_RUN = re.compile(r'[^"\\\x00-\x1f]+')
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_FAR = 64
"""How far white space behind a backslash is looked at."""

_CUT_ESCAPES = {"u": 5, "U": 9, "x": 3}
"""Escapes of which a beginning is cut off -> how many characters it may have."""


class ArrivingString:
    """Reads a string behind its opening quote.

    White space at its end so far, and an escape that is not whole, are not seen.

    Attributes:
        closed: Whether the closing quote was met.
        bad: Whether it is no JSON.
        strict: Whether the strict reader takes it too: half of a surrogate pair it does not.
        half: The first half of a surrogate pair, which is seen until the second one comes.
    """

    def __init__(self, take: Callable[[str], None]) -> None:
        """Start a string; `take` gets its text."""
        self.closed = False
        self.bad = False
        self.strict = True
        self.half = ""
        self._take = take
        self._held: list[str] = []
        self._held_bad = False

    def read(self, text: str, at: int, end: int) -> int:
        """Read from `at` to `end`; return where it stopped: at `end`, a half escape or its end."""
        while at < end and not self.closed:
            run = _RUN.match(text, at, end)
            if run:
                at = run.end()
                self._run(run[0])
                continue
            sign = text[at]
            if sign == "\\":
                self._release()
                size = self._escape(text, at, end)
                if not size:
                    return at
                at += size
                continue
            at += 1
            if sign == '"':
                self._release()
                self._end_half()
                self.closed = True
            elif sign.isspace():
                self._held.append(sign)
                self._held_bad = True
            else:
                self.bad = True
        return at

    def _run(self, run: str) -> None:
        body = run.rstrip()
        if body:
            self._release()
            self._emit(body)
        if len(body) < len(run):
            self._end_half()
            self._held.append(run[len(body) :])

    def _release(self) -> None:
        """Take what was held back; line breaks and the like make the string no JSON."""
        if self._held:
            self.bad = self.bad or self._held_bad
            held, self._held, self._held_bad = "".join(self._held), [], False
            self._emit(held)

    def _emit(self, text: str) -> None:
        self._end_half()
        self._take(text)

    def _end_half(self) -> None:
        if self.half:
            half, self.half = self.half, ""
            self.strict = False
            self._take(half)

    def _escape(self, text: str, at: int, end: int) -> int:
        """Take an escape; return its size, 0 where it is not whole."""
        kind = text[at + 1 : min(at + 2, end)]
        if kind in _ESCAPES:
            self._emit(_ESCAPES[kind])
            return 2
        if kind == "u" and _HEX.match(text, at + 2, end):
            self._code(int(text[at + 2 : at + 6], 16))
            return 6
        # White space that ends the text is not seen, so an escape may still be cut before it.
        seen = text[at + 1 : min(end, at + _FAR)].rstrip()
        cut = len(seen) < _CUT_ESCAPES.get(kind, 0) and not any(sign in seen for sign in '"\\')
        if not seen or cut:
            return 0
        self.bad = True
        return 2

    def _code(self, code: int) -> None:
        if 0xD800 <= code < 0xDC00:
            self._end_half()
            self.half = chr(code)
        elif 0xDC00 <= code < 0xE000 and self.half:
            high, self.half = ord(self.half), ""
            self._take(chr(0x10000 + (high - 0xD800) * 0x400 + code - 0xDC00))
        else:
            self.strict = self.strict and not 0xDC00 <= code < 0xE000
            self._emit(chr(code))
