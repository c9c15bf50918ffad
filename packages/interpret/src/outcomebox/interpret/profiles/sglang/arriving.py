"""A call's JSON object while it arrives, as sglang's partial reading of it sees it.

The reading completes what is open: a string is cut before an unfinished escape and loses the white
space at its end, a number loses what cannot end it, `t` is true already, and a key without a value
is left out. What is no JSON is never read, nor anything behind it.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from outcomebox.interpret.profiles.sglang.arrivingstring import ArrivingString
from outcomebox.interpret.profiles.sglang.growing import Growing
from outcomebox.interpret.profiles.sglang.mended import Mended

_SPACE = " \t\n\r"
_TOKEN = re.compile(r"[-+.0-9A-Za-z]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_NUMERIC = re.compile(r"[-+.0-9eE]+")
_LITERALS = ("null", "true", "false", "Infinity", "-Infinity", "NaN")
_DEEPEST = 900
"""Python's reader gives up near a depth of 1,000, which depends on its caller."""

_LONGEST_TOKEN = 4400
"""Beyond it an unfinished number keeps the value it had: no digit changes a double any more, and
an integer is longer than Python reads.
"""

Name = str | Literal[0, 1]
"""A name: a text, or one of the two below."""

NOT_TEXT: Literal[0] = 0
"""A name that is a number, true, false or null."""

CONTAINER: Literal[1] = 1
"""A name that is an array or object."""


class Seen(NamedTuple):
    """What is seen of the object at one step.

    Attributes:
        name: The last name; None where there is none yet.
        arguments: The last arguments; None where there are none yet.
        parameters: The same for the key `parameters`.
        complete: Whether the object is closed and JSON by the strict reader too.
    """

    name: Name | None
    arguments: Growing | None
    parameters: Growing | None
    complete: bool


class Arriving:
    """Reads a call's object from `start` on, as far as the text has come.

    Attributes:
        closed_at: Where the object ends; None while it is open.
    """

    def __init__(self, text: str, start: int, before: str | None) -> None:
        """Start reading; `before` are the arguments to compare the first ones with."""
        self.closed_at: int | None = None
        self._text = text
        self._start = self._at = self._end = start
        self._mended: Mended | None = None
        self._before = before
        self._dead = False
        self._stray: int | None = None
        self._limbo = False
        self._strict = True
        self._read: Callable[[int], None] = self._value
        self._closers: list[str] = []
        self._first = True
        self._role = ""
        self._name: Name | None = None
        self._grown: dict[str, Growing] = {}
        self._sink: Growing | None = None
        self._is_key = False
        self._parts: list[str] = []
        self._open_string = ArrivingString(self._parts.append)
        self._token_at = 0
        self._token_to = 0
        self._begun = False

    def feed(self, end: int) -> None:
        """Read on to `end`."""
        self._end = end
        while not self._dead and self.closed_at is None and self._at < end:
            at = self._at
            self._read(end)
            if self._at == at and self._read == self._string:
                return  # It waits for the rest of an escape.

    def seen(self, *, strings: bool) -> Seen | None:
        """Return what is seen; None where nothing can be read.

        Args:
            strings: Whether strings that are still open are seen.
        """
        if self._dead:
            return self._seen_before_stray() if strings else self._seen_mended()
        if not (self._closers or self.closed_at is not None):
            return None
        name = self._name
        if self._read in (self._token_body, self._token_end):
            leaf = self._unfinished()
            if leaf is None or (leaf and self._limbo):
                return None
            if leaf and self._at_top:
                name = NOT_TEXT if self._role == "name" else name
            if leaf and self._sink:
                self._begin()
                self._sink.leaf = leaf
        elif self._read == self._string and not self._is_key:
            if strings and self._limbo:
                return None
            half = self._open_string.half
            if self._sink:
                self._sink.leaf = half + '"'
            elif strings and self._role == "name" and self._at_top:
                name = "".join(self._parts) + half
        return Seen(
            name,
            self._grown.get("arguments"),
            self._grown.get("parameters"),
            complete=self.closed_at is not None and self._strict,
        )

    def _seen_before_stray(self) -> Seen | None:
        """Return what stood before a stray quote: it opens a string, which hides the fault."""
        if self._stray is None or '"' in self._text[self._stray + 1 : self._end]:
            self._stray = None
            return None
        arguments, parameters = self._grown.get("arguments"), self._grown.get("parameters")
        return Seen(self._name, arguments, parameters, complete=False)

    def _seen_mended(self) -> Seen | None:
        """Return what is seen of an object that is no JSON."""
        if self._mended is None:
            self._mended = Mended(self._text, self._start, self._at)
        found = self._mended.read(self._end)
        if not found or ("arguments" in found and "parameters" in found):
            return None
        name: Any = found.get("name")
        if isinstance(name, list | dict):
            name = CONTAINER
        elif "name" in found and not isinstance(name, str):
            name = NOT_TEXT
        return Seen(name, None, None, complete=False)

    # -- structure --------------------------------------------------------------------------------

    @property
    def _at_top(self) -> bool:
        return len(self._closers) == 1

    def _skips_space(self) -> bool:
        if self._text[self._at] in _SPACE:
            self._at += 1
            return True
        return False

    def _value(self, end: int) -> None:
        del end
        if self._skips_space():
            return
        sign = self._text[self._at]
        if sign in "{[" and (sign == "{" or self._closers):
            self._at += 1
            self._open("}" if sign == "{" else "]")
        elif not self._closers:
            self._dead = True
        elif sign == '"':
            self._at += 1
            self._start_sink()
            self._begin()
            self._start_string(is_key=False)
        elif self._first and sign == self._closers[-1] == "]":
            self._close()
        elif self._first and sign == "," and self._closers[-1] == "]":
            self._skip_comma()
        elif sign.isascii() and (sign.isdigit() or sign in "-ntfIN"):
            self._start_sink()
            self._token_at = self._token_to = self._at
            self._read = self._token_body
        else:
            self._dead = True

    def _key(self, end: int) -> None:
        del end
        if self._skips_space():
            return
        sign = self._text[self._at]
        if sign == '"':
            self._at += 1
            self._start_string(is_key=True)
        elif sign == "}" and self._first:
            self._close()
        elif sign == "," and self._first:
            self._skip_comma()
        else:
            self._dead = True

    def _skip_comma(self) -> None:
        """Take a comma without an element before it: no JSON, but seen only with the next value."""
        self._at += 1
        self._first = False
        self._limbo = True

    def _colon(self, end: int) -> None:
        del end
        if self._skips_space():
            return
        self._dead = self._text[self._at] != ":"
        self._at += 1
        self._first = False
        self._read = self._value

    def _after(self, end: int) -> None:
        del end
        if self._skips_space():
            return
        sign = self._text[self._at]
        if sign == self._closers[-1]:
            self._close()
        elif sign == ",":
            self._at += 1
            self._first = False
            self._read = self._key if self._closers[-1] == "}" else self._value
        else:
            self._dead = True
            self._stray = self._at if sign == '"' else None

    def _open(self, closer: str) -> None:
        if self._closers:
            self._start_sink()
            self._begin()
            if self._sink:
                self._sink.open(closer)
            elif self._role == "name" and self._at_top:
                self._name = CONTAINER
        self._closers.append(closer)
        self._dead = self._limbo or len(self._closers) > _DEEPEST
        self._first = True
        self._read = self._key if closer == "}" else self._value

    def _close(self) -> None:
        self._at += 1
        self._closers.pop()
        if not self._closers:
            self.closed_at = self._at
            return
        if self._sink:
            self._sink.close()
        self._ended()

    def _ended(self) -> None:
        """Go on behind a value."""
        if self._at_top:
            self._sink = None
            self._role = ""
        self._read = self._after

    def _start_sink(self) -> None:
        """Take a value of the object itself where it is wanted."""
        self._begun = False
        if self._at_top and self._role in ("arguments", "parameters"):
            past = self._grown.get(self._role)
            self._sink = Growing(past.before() if past else self._before)

    def _begin(self) -> None:
        """Begin the value: from here on it is seen."""
        if self._sink and not self._begun:
            self._begun = True
            self._sink.begin()
            if self._at_top:
                self._grown[self._role] = self._sink

    # -- numbers and words ------------------------------------------------------------------------

    def _token_body(self, end: int) -> None:
        match = _TOKEN.match(self._text, self._at, end)
        if match:
            self._at = self._token_to = match.end()
            self._dead = not self._may_be_token()
        elif self._text[self._at] in _SPACE:
            self._read = self._token_end
        else:
            self._finish_token()

    def _token_end(self, end: int) -> None:
        del end
        if not self._skips_space():
            self._finish_token()

    def _may_be_token(self) -> bool:
        if self._token_to - self._token_at > _LONGEST_TOKEN:
            return True
        token = self._token
        if _is_number(token):
            return _NUMERIC.fullmatch(token) is not None
        return any(each.startswith(token) for each in _LITERALS)

    @property
    def _token(self) -> str:
        return self._text[self._token_at : self._token_to]

    def _unfinished(self) -> str | None:
        """Return a number or word as far as it has come; None where it cannot be read."""
        if self._token_to - self._token_at > _LONGEST_TOKEN:
            return (self._sink.leaf if self._sink else "0") or None
        token = self._token
        if not _is_number(token):
            return next(each for each in _LITERALS if each.startswith(token))
        token = token.rstrip(".-+eE")
        return _number(token) if token else ""

    def _finish_token(self) -> None:
        token = self._token
        value = token if token in _LITERALS else _number(token)
        if self._text[self._at] not in ",]}" or value is None or self._limbo:
            self._dead = True
            return
        if value.endswith(("Infinity", "NaN")) or _overflows(value):
            self._strict = False
        if self._sink:
            self._begin()
            self._sink.add(value)
            self._sink.end()
        elif self._role == "name" and self._at_top:
            self._name = NOT_TEXT
        self._ended()

    # -- strings ----------------------------------------------------------------------------------

    def _start_string(self, *, is_key: bool) -> None:
        self._is_key = is_key
        self._parts = []
        self._read = self._string
        sink = None if is_key else self._sink
        if sink:
            sink.add('"')
        self._open_string = ArrivingString(sink.add_text if sink else self._parts.append)

    def _string(self, end: int) -> None:
        string = self._open_string
        self._at = string.read(self._text, self._at, end)
        if string.bad and not self._is_key:
            self._dead = True
        elif string.closed:
            # What is no JSON in a key is seen only with the key's value.
            self._limbo = self._limbo or string.bad
            self._strict = self._strict and string.strict
            self._finish_string()

    def _finish_string(self) -> None:
        if self._is_key:
            key = "".join(self._parts)
            if self._at_top:
                self._role = key if key in ("name", "arguments", "parameters") else ""
            elif self._sink:
                self._sink.key(key)
            self._read = self._colon
            return
        self._dead = self._dead or self._limbo
        if self._sink:
            self._sink.add('"')
            self._sink.end()
        elif self._role == "name" and self._at_top:
            self._name = "".join(self._parts)
        self._ended()


def _is_number(token: str) -> bool:
    return token[0].isdigit() or (token[0] == "-" and token[1:2] != "I")


def _number(token: str) -> str | None:
    """Return a number as Python writes it; None where Python does not read it."""
    if _NUMBER.fullmatch(token) is None:
        return None
    if not any(sign in token for sign in ".eE"):
        try:
            return str(int(token))
        except ValueError:
            return None
    return json.dumps(float(token))


def _overflows(number: str) -> bool:
    """Say whether an integer is beyond a double, where the strict reader gives up."""
    return len(number) > 300 and number.lstrip("-").isdigit() and float(number) in (_INF, -_INF)


_INF = float("inf")
