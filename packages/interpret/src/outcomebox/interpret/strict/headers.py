"""Finds the header of a `headed` call: the name, and the markers between it and the arguments."""

import re
from functools import cache
from typing import NamedTuple

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.formats.base import INDEX, MAX_NAME, NAME, Format, Header
from outcomebox.interpret.strict.raw import Source

_NAME = rf"(?P<name>[^\s<>{{}}\[\]()\"'`,;|]{{1,{MAX_NAME}}})"
_BEGUN = re.compile(rf"[^\s<>{{}}\[\]()\"'`,;|]{{0,{MAX_NAME}}}\s*`{{0,3}}[a-z]{{0,4}}\s*")
_LONGEST = 2 * MAX_NAME


class Found(NamedTuple):
    """A header.

    Attributes:
        name: The tool's name; empty where a cut came before its end.
        end: Where the header ends.
        unfinished: Whether it was cut.
    """

    name: str
    end: int
    unfinished: bool = False


class HeaderPattern(NamedTuple):
    """A header's form, compiled.

    Attributes:
        before: What stands before the separator, white space around it.
        after: What stands behind it.
        close: What closes the arguments.
        separated: Whether there is a separator.
        certain: Whether it says more than a name, so that no sentence about markup looks like it.
    """

    before: re.Pattern[str]
    after: re.Pattern[str]
    close: str
    separated: bool
    certain: bool

    def find(self, source: Source, i: int) -> Found | None:
        """Return the header behind opener `i`, or its beginning where the output was cut in it."""
        text, markers = source.text, source.markers
        start = markers[i].end
        n = i + 1
        if n < len(markers) and markers[n].kind == "call_id":
            n += 1
        separator = markers[n] if n < len(markers) else None
        if not self.separated:
            match = self.before.match(text, start, source.end)
            return Found(match.group("name"), match.end()) if match else None
        if separator is None or separator.kind != "separator":
            begun = source.cut and separator is None and _BEGUN.fullmatch(text, start, source.end)
            return Found("", source.end, unfinished=True) if begun else None
        before_end = markers[i + 1].start
        if before_end - start > _LONGEST:
            return None
        before = self.before.fullmatch(text, start, before_end)
        if before is None:
            return None
        after = self.after.match(text, separator.end, source.end)
        if after is None:
            cut = source.cut and n + 1 == len(markers)
            begun = cut and _BEGUN.fullmatch(text, separator.end, source.end)
            return Found("", source.end, unfinished=True) if begun else None
        name = (before.groupdict() | after.groupdict())["name"]
        return Found(name, after.end())


def headers_of(form: Format) -> tuple[HeaderPattern, ...]:
    """Return the headers that a format can have, the one that is written first."""
    return _headers(form.name)


@cache
def _headers(name: str) -> tuple[HeaderPattern, ...]:
    return tuple(map(_compiled, format_named(name).headers))


def _compiled(header: Header) -> HeaderPattern:
    before = rf"\s*{_pattern(header.before)}\s*"
    if not header.separated:
        before += r"(?=\{)"
    return HeaderPattern(
        re.compile(before),
        re.compile(rf"\s*{_pattern(header.after)}\s*"),
        header.close.strip(),
        header.separated,
        any(map(str.isalpha, header.before.replace(NAME, "").replace(INDEX, ""))),
    )


def _pattern(template: str) -> str:
    """Return a template as a pattern: white space is free."""
    pieces = re.split(rf"({re.escape(NAME)}|{re.escape(INDEX)}|\s+)", template)
    known = {NAME: _NAME, INDEX: r"\d{1,9}"}
    return "".join(
        known.get(piece) or (r"\s*" if piece.isspace() else re.escape(piece)) for piece in pieces
    )
