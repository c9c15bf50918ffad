"""What sglang's partial reading sees of a call that is no JSON, before the call has a name.

Until then it cuts the text before the pair or element whose string is open. What is wrong behind
that place is not seen while the string is.
"""

import json
import re
from typing import Any

_SIGN = re.compile(r'["\[\]{}]')
_IN_STRING = re.compile(r'["\\]')
_PAIRS = {"}": "{", "]": "["}
_CLOSERS = {"{": "}", "[": "]"}


class Mended:
    """Follows the quotes and brackets of a text, whatever stands between them."""

    def __init__(self, text: str, start: int, bad_at: int) -> None:
        """Follow the text from `start` on, which is no JSON at `bad_at` at the latest."""
        self._bad_at = bad_at
        self._text = text
        self._start = start
        self._at = start
        self._broken = False
        self._open: list[tuple[int, str]] = []
        self._in_string = False
        self._string_start = self._past_start = start - 1
        self._string_end = start - 1
        # The last comma before the last string, and before the one that precedes it.
        self._comma = self._past_comma = start - 1
        self._tried: tuple[int, int] = (-1, -1)
        self._seen: dict[str, Any] | None = None

    def read(self, end: int) -> dict[str, Any] | None:
        """Return the object that is seen of the text up to `end`; None where there is none."""
        self._follow(end)
        if self._broken or not self._in_string or not self._open:
            return None
        place = self._place()
        if place > self._bad_at:
            return None
        tried = (place, len(self._open))
        if tried != self._tried:
            self._tried, self._seen = tried, self._cut(place)
        return self._seen

    def _follow(self, end: int) -> None:
        text = self._text
        while self._at < end and not self._broken:
            match = (_IN_STRING if self._in_string else _SIGN).search(text, self._at, end)
            if match is None:
                self._at = end
                return
            sign, at = match[0], match.start()
            if sign == "\\":
                if at + 1 >= end:
                    self._at = at
                    return
                self._at = at + 2
                continue
            self._at = at + 1
            if sign == '"':
                self._in_string = not self._in_string
                if self._in_string:
                    self._begin_string(at)
                else:
                    self._string_end = at
            elif sign in _CLOSERS:
                self._open.append((at, sign))
            else:
                self._broken = not self._open or self._open.pop()[1] != _PAIRS[sign]

    def _begin_string(self, at: int) -> None:
        comma = self._text.rfind(",", max(self._string_start, self._start), at)
        self._past_comma, self._past_start = self._comma, self._string_start
        self._comma = comma if comma >= 0 else self._comma
        self._string_start = at

    def _cut(self, place: int) -> dict[str, Any] | None:
        closers = "".join(_CLOSERS[sign] for _, sign in reversed(self._open))
        try:
            value = json.loads(self._text[self._start : place] + closers)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _place(self) -> int:
        """Return where the text is cut."""
        top, sign = self._open[-1]
        if sign == "{" and top > self._string_end:
            return top + 1
        if self._comma > max(top, self._string_end):
            return self._comma
        # The open string is a value: its key goes as well.
        if self._past_start > top and self._past_comma > top:
            return self._past_comma
        return top + 1
