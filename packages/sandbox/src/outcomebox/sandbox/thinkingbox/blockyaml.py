"""A reader of the plain block YAML that most of a dataset is written in.

A benchmark holds megabytes of YAML, for which PyYAML takes tens of seconds and libyaml more than
one. Nearly all of it is nested ``key: value`` lines, ``- item`` lines and ``|`` blocks, and those
are read here, four times as fast: one pass of a regular expression cuts the lines, and each
different scalar is resolved once, by PyYAML itself.

This reader knows little and is sure of it: whatever else there is (flow collections, folded or
continued text, anchors, tags, merge keys, markers, odd indentation) raises :class:`Unusual`, and
the whole document is for PyYAML. It never guesses, and has no errors to tell.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.nodes import ScalarNode

_Row = tuple[str, str, str, str]

# A line: its indent, a dash, a key, and what is left.
_LINE = re.compile(
    r"^( *)(- |-$)?(?:([A-Za-z_$][A-Za-z0-9_$./-]{0,199}):(?: +|$))?(.*)$", re.MULTILINE
)
_END: _Row = ("", "", "", "!")
_SINGLE = re.compile(r"'((?:[^']|'')*)'\Z")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\["\\/nt])*)"\Z')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "t": "\t"}
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@` ")
_DISPUTED = re.compile(
    "[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_CACHED = 100_000  # entries
_CACHED_LENGTH = 200  # characters


class Unusual(Exception):
    """This document is for PyYAML."""


class _Values(dict[str, Any]):
    """The values of scalars by what is written on the line, each found once."""

    def __missing__(self, written: str) -> Any:
        value = _scalar(written.rstrip(" "))
        if len(self) < _CACHED and len(written) < _CACHED_LENGTH:
            self[written] = value
        return value


class _Keys(dict[str, str]):
    """Keys that are text; ``yes`` and ``null`` are none."""

    def __missing__(self, written: str) -> str:
        key = _scalar(written)
        if type(key) is not str:
            raise Unusual
        if len(self) < _CACHED:
            self[written] = key
        return key


_values = _Values()
_keys = _Keys()


def _scalar(written: str) -> Any:
    """The value of a scalar that is complete on one line."""
    first = written[:1] or " "
    if first not in _INDICATORS or (first == "-" and written[1:2].isdigit()):
        if ": " in written or " #" in written or written[-1] == ":":
            raise Unusual
        return _plain(written)
    if first == "'":
        if match := _SINGLE.match(written):
            return match[1].replace("''", "'")
    elif first == '"' and (match := _DOUBLE.match(written)):
        return _ESCAPE.sub(lambda one: _ESCAPED[one[1]], match[1])
    raise Unusual


def _plain(text: str) -> Any:
    """What PyYAML's safe loader makes of a plain scalar, if JSON has it too."""
    loader = yaml.SafeLoader("")
    tag = loader.resolve(ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    if tag in {"tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"}:
        raise Unusual
    try:
        value = loader.construct_object(ScalarNode(tag, text))
    except ValueError as error:  # looks like a date, and is none
        raise Unusual from error
    if type(value) not in {str, int, float, bool, type(None)}:
        raise Unusual
    if type(value) is float and not abs(value) < float("inf"):
        raise Unusual
    return value


def printable(text: str) -> bool:
    """Whether a text has only characters on which all YAML parsers agree: no tabs, no marks."""
    # isprintable passes a part of what the pattern passes, and tells far faster.
    return text.replace("\n", "").isprintable() or _DISPUTED.search(text) is None


def read_block(text: str, *, indented: bool = False) -> Any:
    """The document of a text: text keys, lists, and scalars that JSON has too.

    Args:
        text: The document.
        indented: Whether it is a docstring's: then it is read as :func:`textwrap.dedent` would
            leave it.

    Raises:
        Unusual: It has something that this reader does not know.
    """
    if not printable(text):
        raise Unusual
    reader = _Reader(text, indented)
    at = reader.skip(0)
    if at == reader.end:
        return None
    value, at = reader.block(at, len(reader.rows[at][0]))
    if at != reader.end:
        raise Unusual
    return value


class _Reader:
    """Reads from a line on; each method returns a value and the number of the line behind it."""

    def __init__(self, text: str, indented: bool) -> None:
        self.lines = text.split("\n")
        self.rows: list[_Row] = _LINE.findall(text)
        self.end = len(self.rows)
        self.rows.append(_END)
        self.indented = indented

    def skip(self, at: int) -> int:
        """The first line from one on that is neither blank nor a comment."""
        while True:
            _, dash, key, rest = self.rows[at]
            if key or dash or (rest and rest[0] != "#"):
                return at
            at += 1

    def block(self, at: int, indent: int) -> tuple[Any, int]:
        """The mapping or list that begins on a line of this indent."""
        return self.sequence(at, indent) if self.rows[at][1] else self.mapping(at, indent)

    def mapping(self, at: int, indent: int) -> tuple[dict[str, Any], int]:
        """The mapping whose first key stands on a line, be it behind a dash."""
        found: dict[str, Any] = {}
        rows = self.rows
        _, _, key, rest = rows[at]
        while True:
            if not key:
                if at == self.end:
                    return found, at
                raise Unusual
            name = _keys[key]
            if rest:
                if rest[0] in "|[{":
                    found[name], at = self.special(at, rest, indent)
                else:
                    found[name] = _values[rest]
                    at += 1
                pad, dash, key, rest = rows[at]
                if not (key or dash):
                    at = self.skip(at)
                    pad, dash, key, rest = rows[at]
            else:
                at = self.skip(at + 1)
                pad, dash, key, rest = rows[at]
                column = len(pad)
                found[name] = None
                # A list may stand right under its key.
                if column > indent or (column == indent and dash):
                    found[name], at = self.block(at, column)
                    pad, dash, key, rest = rows[at]
            column = len(pad)
            if column < indent:
                return found, at
            if column > indent or dash:
                raise Unusual

    def sequence(self, at: int, indent: int) -> tuple[list[Any], int]:
        """The list whose first dash stands on a line."""
        found: list[Any] = []
        rows = self.rows
        while True:
            pad, dash, key, rest = rows[at]
            column = len(pad)
            if column < indent or not dash:
                return found, at  # what stands here is judged by the caller
            if column > indent:
                raise Unusual
            if key:
                item, at = self.mapping(at, indent + 2)
            elif not rest:
                item = None
                at = self.skip(at + 1)
                column = len(rows[at][0])
                if column > indent:
                    item, at = self.block(at, column)
            elif rest[0] in "|[{":
                item, at = self.special(at, rest, indent)
                at = self.skip(at)
            else:
                item = _values[rest]
                at = self.skip(at + 1)
            found.append(item)
            if len(rows[at][0]) > indent:
                raise Unusual

    def special(self, at: int, rest: str, indent: int) -> tuple[Any, int]:
        """An empty collection, or the text of a ``|``, ``|-`` or ``|+`` block."""
        header = rest.rstrip(" ")
        if header == "[]":
            return [], at + 1
        if header == "{}":
            return {}, at + 1
        if header not in {"|", "|-", "|+"}:
            raise Unusual
        rows, end = self.rows, self.end
        at = first = at + 1
        while at < end and not any(rows[at][1:]):
            if rows[at][0] and not self.indented:
                raise Unusual  # its spaces may count
            at += 1
        margin = len(rows[at][0])
        if at == end or margin <= indent:
            raise Unusual
        body = [""] * (at - first)
        last = at
        while at < end:
            pad, dash, key, rest = rows[at]
            if key or dash or rest:
                if len(pad) < margin:
                    break
                body.append(self.lines[at][margin:])
                last = at
            elif pad and not self.indented:
                raise Unusual
            else:
                body.append("")
            at += 1
        # The last line of a text without a line end has none to give.
        if header == "|+":
            ended = at < end
        else:
            del body[last - first + 1 :]
            ended = header == "|" and last + 1 < end
        return "\n".join(body) + ("\n" if ended else ""), at
