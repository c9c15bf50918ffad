"""Finds a format's markers in text that arrives in pieces of any size.

The scanner is the only part that sees chunks. It holds back the last characters while they could
still become a marker, so its markers do not depend on how the text was split. Each character is
matched once, and again only while held back: the work is linear in the input, because a pattern
never looks further than one marker is long and never past the next character that begins one.
"""

import re
from functools import cache
from typing import NamedTuple

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.formats.base import MAX_NAME, NAME, Format, MarkerKind


class Marker(NamedTuple):
    """One marker: its kind, the name it carries (or an empty string) and where it stands."""

    kind: MarkerKind
    name: str
    start: int
    end: int


class Spelling(NamedTuple):
    """A marker's spelling around its name; `tail` is empty where it carries none."""

    head: str
    tail: str


class Lexicon(NamedTuple):
    """What the scanner needs to know of a format.

    Attributes:
        pattern: Matches any marker, with a group for each kind and one for the name in it.
        kinds: Number of a kind's group -> the kind, and the number of its name's group or 0.
        spellings: The spelling of each kind.
        initials: The characters that markers begin with; none of them stands anywhere else in one.
    """

    pattern: re.Pattern[str]
    kinds: dict[int | None, tuple[MarkerKind, int]]
    spellings: dict[MarkerKind, Spelling]
    initials: str


@cache
def lexicon(format_name: str) -> Lexicon:
    """Compile the markers of the format known by `format_name`."""
    spellings: dict[MarkerKind, Spelling] = {}
    branches: dict[str, list[str]] = {}
    for kind, text in format_named(format_name).spellings.items():
        head, _, tail = text.partition(NAME)
        spellings[kind] = Spelling(head, tail)
        name = rf"(?P<name_of_{kind}>[^<>\n]{{1,{MAX_NAME}}}){re.escape(tail)}" if tail else ""
        branches.setdefault(head[0], []).append(f"(?P<{kind}>{re.escape(head[1:])}{name})")
    # A literal character in front lets the search skip to it at the speed of memory.
    pattern = "|".join(f"{re.escape(first)}(?:{'|'.join(b)})" for first, b in branches.items())
    compiled = re.compile(pattern)
    groups = compiled.groupindex
    kinds: dict[int | None, tuple[MarkerKind, int]] = {
        groups[kind]: (kind, groups.get(f"name_of_{kind}", 0)) for kind in spellings
    }
    return Lexicon(compiled, kinds, spellings, "".join(branches))


class Scanner:
    """Collects the markers of a stream.

    Attributes:
        markers: The markers found so far, in order.
        scanned: Characters handed to the pattern so far, rereading included.
    """

    def __init__(self, format: Format) -> None:  # noqa: A002 - the word users know it by
        self.markers: list[Marker] = []
        self.scanned = 0
        self._lexicon = lexicon(format.name)
        self._held = ""
        self._held_at = 0

    @property
    def held_at(self) -> int:
        """Where the unfinished marker at the end of the text starts; the length if there is none.

        What stands there is plain text unless more comes.
        """
        return self._held_at

    def feed(self, chunk: str) -> None:
        """Read on."""
        window = self._held + chunk if self._held else chunk
        self.scanned += len(window)
        base = self._held_at
        kinds, append, make = self._lexicon.kinds, self.markers.append, tuple.__new__
        done = 0
        for match in self._lexicon.pattern.finditer(window):
            start, done = match.span()
            kind, name = kinds[match.lastindex]  # the group that closes last is the kind's
            found = (kind, match[name] if name else "", base + start, base + done)
            append(make(Marker, found))  # twice as fast as a call, and this is the hot loop
        keep = self._unfinished(window, done)
        self._held = window[keep:]
        self._held_at = base + keep

    def could_be(self, kind: MarkerKind, rest: str) -> bool:
        """Say whether `rest` is the beginning of a marker of that kind, its name included."""
        head, tail = self._lexicon.spellings[kind]
        if head.startswith(rest):
            return True
        if not tail or not rest.startswith(head):
            return False
        name = rest[len(head) :]
        return len(name) <= MAX_NAME and "\n" not in name and ">" not in name

    def _unfinished(self, window: str, done: int) -> int:
        """Return where a marker that has begun but not ended starts, else the window's length."""
        start = max([window.rfind(each, done) for each in self._lexicon.initials])
        if start >= 0:
            rest = window[start:]
            if any(self.could_be(kind, rest) for kind in self._lexicon.spellings):
                return start
        return len(window)
