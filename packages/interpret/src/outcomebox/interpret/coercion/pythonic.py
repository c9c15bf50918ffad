"""Reads a Python literal as the JSON that was meant: quotes, words and commas may be Python's.

Nothing is evaluated. Models write such literals where a schema wants an array or an object.
"""

import re
from typing import Any

from outcomebox.interpret.coercion.literals import MAX_DEPTH, LiteralFault, number_of, object_of

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
    (?P<mark>[\[\]{}(),:])
    | (?P<text>'(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+")
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>[A-Za-z]+)
    )[ \t\r\n]*""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_LEADING_ZERO = re.compile(r"[+-]?0\d", re.ASCII)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "\n": "",
}
_MAX_CODE = 0x10FFFF


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) > 1:
        number = int(code[1:], 16)
        if number > _MAX_CODE:
            raise LiteralFault(f"\\{code} is no character")
        return chr(number)
    if code in _ESCAPES:
        return _ESCAPES[code]
    raise LiteralFault(f"\\{code} is no escape")


class _PythonReader:
    """Recursive descent over the tokens of a Python literal, bounded by `MAX_DEPTH`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._kind = self._piece = ""
        self._advance()

    def read(self) -> Any:
        value = self._value(0)
        if self._kind != "end":
            raise LiteralFault(f"something follows it at character {self._at}")
        return value

    def _advance(self) -> None:
        if self._at == len(self._text):
            self._kind, self._piece = "end", ""
            return
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise LiteralFault(f"it is no literal at character {self._at}")
        self._at = match.end()
        self._kind = match.lastgroup or ""
        self._piece = match.group(self._kind)

    def _value(self, depth: int) -> Any:
        kind, piece = self._kind, self._piece
        if depth >= MAX_DEPTH and kind == "mark":
            raise LiteralFault(f"it is nested deeper than {MAX_DEPTH} levels")
        if piece in ("[", "("):
            return self._items("]" if piece == "[" else ")", depth)
        if piece == "{":
            return self._pairs(depth)
        self._advance()
        if kind == "text":
            return _ESCAPE.sub(_unescape, piece[1:-1])
        if kind == "number":
            if _LEADING_ZERO.match(piece):
                raise LiteralFault(f"the number {piece[:40]} has leading zeros")
            return number_of(piece)
        if kind == "word" and piece in _WORDS:
            return _WORDS[piece]
        raise LiteralFault(f"{piece[:40]!r} is no value")

    def _items(self, closer: str, depth: int) -> list[Any]:
        self._advance()
        items: list[Any] = []
        while self._piece != closer or self._kind != "mark":
            items.append(self._value(depth + 1))
            comma = self._comma(closer)
            if closer == ")" and len(items) == 1 and not comma:
                raise LiteralFault("it is an expression in parentheses")
        self._advance()
        return items

    def _pairs(self, depth: int) -> dict[str, Any]:
        self._advance()
        pairs: list[tuple[str, Any]] = []
        while self._piece != "}" or self._kind != "mark":
            key = self._value(depth + 1)
            if not isinstance(key, str):
                raise LiteralFault("a key is not a string")
            if self._piece != ":":
                raise LiteralFault("a key has no value")
            self._advance()
            pairs.append((key, self._value(depth + 1)))
            self._comma("}")
        self._advance()
        return object_of(pairs)

    def _comma(self, closer: str) -> bool:
        if self._kind == "mark" and self._piece == ",":
            self._advance()
            return True
        if self._kind != "mark" or self._piece != closer:
            raise LiteralFault(f"a comma or {closer} is missing at character {self._at}")
        return False


def read_python(text: str) -> Any:
    """Return the value of a Python literal as JSON has it: tuples are arrays, keys are strings.

    Raises:
        LiteralFault: It is no such literal, or reading it would lose something.
    """
    return _PythonReader(text).read()
