"""Decodes one JSON value that stands in an output, and says what had to be mended or is in doubt.

The value ends where its own brackets end; whatever markup its strings hold is text. Decoding never
goes on behind a mistake, except to read the value as a Python literal. One that begins inside
another's string reads that string's end as a beginning, so no three of them overlap: the work stays
linear however many openers a text holds.
"""

import json
import re
from collections import Counter
from typing import Any, NamedTuple

from outcomebox.interpret.coercion.literals import MAX_DEPTH, LiteralFault, number_of, object_of

_SHORT = 100  # characters of an integer that is read without looking at Python's own bound
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_PYTHON_PIECE = re.compile(
    r"""'(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+" | [\[\](){}] | [\s\w.,:+-]++""",
    re.VERBOSE | re.DOTALL,
)
_UNFINISHED = re.compile(r"[.eE+-]{0,2}|[a-zA-Z]{1,7}|-[a-zA-Z]{0,8}|\\?u?[0-9a-fA-F]{0,3}")
"""What the end of a text can leave of a value, from the place of the mistake on."""
_GAP = re.compile(r"[\s,]*")
_PYTHONIC = ("'", "T", "F", "N", "(", "}", "]")
_TOO_DEEP = f"it is nested deeper than {MAX_DEPTH} levels"


class Decoded(NamedTuple):
    """A value that was decoded.

    Attributes:
        value: The value.
        end: Where it ends in the text.
        repair: What was mended; empty where it is JSON.
        doubts: Reasons why it has more than one reading.
        misfits: Numbers that no number holds; their text stands in their place.
    """

    value: Any
    end: int
    repair: str = ""
    doubts: tuple[str, ...] = ()
    misfits: tuple[str, ...] = ()


class DecodeFault(Exception):
    """There is no value; the message says why.

    Attributes:
        at: Where decoding stopped.
        unfinished: Whether it stopped because the text ends.
        unclosed: Whether what stands before `at` lacks nothing but a closing bracket.
    """

    def __init__(
        self, why: str, at: int, *, unfinished: bool = False, unclosed: bool = False
    ) -> None:
        super().__init__(why)
        self.at = at
        self.unfinished = unfinished
        self.unclosed = unclosed


def decode(text: str, start: int) -> Decoded:
    """Decode the array or object that starts at `start`.

    Raises:
        DecodeFault: There is none that can be read.
    """
    try:
        return _decode(text, start, _STRICT)
    except json.JSONDecodeError as error:
        return _mend(text, start, error)


def _mend(text: str, start: int, error: json.JSONDecodeError) -> Decoded:
    """Read a value that is not quite JSON."""
    if error.msg.startswith("Invalid control character"):
        try:
            found = _decode(text, start, _LOOSE)
        except json.JSONDecodeError as later:
            error = later
        else:
            return found._replace(repair="its strings hold raw control characters")
    at = error.pos
    if error.msg.startswith("Unterminated string") or _UNFINISHED.fullmatch(text, at):
        raise DecodeFault("it never ends", at, unfinished=True)
    match = _GAP.match(text, at)
    if match and text.startswith(_PYTHONIC, match.end()):
        return _python(text, start)
    unclosed = error.msg.startswith("Expecting ',' delimiter")
    raise DecodeFault(f"it is not JSON: {error.msg}", at, unclosed=unclosed)


def _decode(text: str, start: int, decoder: json.JSONDecoder) -> Decoded:
    try:
        value, end = decoder.raw_decode(text, start)
    except LiteralFault:
        return _with_slips(text, start, strict=decoder.strict)
    except RecursionError:
        # The stack's end must not decide, but so deep a value is refused in any case.
        at = _too_deep_at(text, start)
        if at is None:
            raise
        raise DecodeFault(_TOO_DEEP, at) from None
    return _checked(text, start, Decoded(value, end))


def _checked(text: str, start: int, found: Decoded) -> Decoded:
    """Refuse a value that nests too deep."""
    depth = text.count("{", start, found.end) + text.count("[", start, found.end)
    if depth > MAX_DEPTH and _depth(text, start, found.end) > MAX_DEPTH:
        raise DecodeFault(_TOO_DEEP, found.end)
    return found


def _with_slips(text: str, start: int, *, strict: bool) -> Decoded:
    """Decode a value that gives a key twice or holds a number that nothing holds."""
    doubts: list[str] = []
    misfits: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            doubts.append(f"the key {twice!r:.60} is given more than once")
        return found

    def held(numeral: str) -> Any:
        try:
            return _integer(numeral)
        except LiteralFault as fault:
            misfits.append(str(fault))
            return numeral

    def decimal(numeral: str) -> Any:
        try:
            return number_of(numeral)
        except LiteralFault as fault:
            misfits.append(str(fault))
            return numeral

    def constant(word: str) -> Any:
        misfits.append(f"no number holds {word}")
        return word

    decoder = json.JSONDecoder(
        object_pairs_hook=members,
        parse_int=held,
        parse_float=decimal,
        parse_constant=constant,
        strict=strict,
    )
    value, end = decoder.raw_decode(text, start)
    slips = tuple(dict.fromkeys(doubts)), tuple(dict.fromkeys(misfits))
    return _checked(text, start, Decoded(value, end, "", *slips))


def _python(text: str, start: int) -> Decoded:
    """Read a Python literal, which ends where its brackets do."""
    from outcomebox.interpret.coercion.pythonic import read_python  # noqa: PLC0415 - hardly ever needed

    depth, at = 0, start
    while match := _PYTHON_PIECE.match(text, at):
        found, at = match.group(), match.end()
        if found in "[{(":
            depth += 1
        elif found in "]})":
            depth -= 1
            if depth == 0:
                try:
                    return Decoded(read_python(text[start:at]), at, "it is a Python literal")
                except LiteralFault as fault:
                    raise DecodeFault(f"it is not JSON: {fault}", at) from None
    if at == len(text) or text[at] in "'\"":  # a string that is never closed
        raise DecodeFault("it never ends", len(text), unfinished=True)
    raise DecodeFault(f"it is not JSON: {text[at]!r} stands outside its strings", at)


def _depth(text: str, start: int, end: int) -> int:
    """Return how deep a JSON value nests."""
    depth = deepest = 0
    for match in _BRACKET.finditer(text, start, end):
        found = match.group()
        if found in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif found in "]}":
            depth -= 1
    return deepest


def _too_deep_at(text: str, start: int) -> int | None:
    """Return where the value at `start` opens more levels than are read; None if it does not."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        found = match.group()
        depth += (found in "[{") - (found in "]}")
        if depth > MAX_DEPTH:
            return match.start()
        if depth == 0:
            break
    return None


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _SHORT else number_of(text)


def _constant(text: str) -> Any:
    raise LiteralFault(f"{text} is not JSON")


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=object_of,
        parse_float=number_of,
        parse_int=_integer,
        parse_constant=_constant,
        strict=strict,
    )


_STRICT = _decoder(strict=True)
_LOOSE = _decoder(strict=False)
