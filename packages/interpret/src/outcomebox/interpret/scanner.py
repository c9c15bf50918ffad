"""Finds a format's markers in text that arrives in pieces of any size.

The scanner is the only part that sees chunks. It holds back the last characters while they could
still become a marker, so its markers do not depend on how the text was split. Each character is
matched once, and again only while held back: the work is linear in the input, because a pattern
never looks further than one marker is long and never past the next `<`.
"""

import re
from functools import cache
from typing import NamedTuple, cast

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
        pattern: Matches any marker; the name of the group that matched is the kind.
        spellings: The spelling of each kind.
    """

    pattern: re.Pattern[str]
    spellings: dict[MarkerKind, Spelling]


@cache
def lexicon(format_name: str) -> Lexicon:
    """Compile the markers of the format known by `format_name`."""
    spellings: dict[MarkerKind, Spelling] = {}
    branches: list[str] = []
    for kind, text in format_named(format_name).spellings.items():
        head, _, tail = text.partition(NAME)
        spellings[kind] = Spelling(head, tail)
        name = rf"[^<>\n]{{1,{MAX_NAME}}}{re.escape(tail)}" if tail else ""
        branches.append(f"(?P<{kind}>{re.escape(head[1:])}{name})")
    return Lexicon(re.compile(f"<(?:{'|'.join(branches)})"), spellings)


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
        window = self._held + chunk
        self.scanned += len(window)
        base = self._held_at
        spellings = self._lexicon.spellings
        done = 0
        for match in self._lexicon.pattern.finditer(window):
            start, done = match.span()
            kind = cast(MarkerKind, match.lastgroup)
            head, tail = spellings[kind]
            name = window[start + len(head) : done - len(tail)] if tail else ""
            self.markers.append(Marker(kind, name, base + start, base + done))
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
        start = window.rfind("<", done)
        if start >= 0:
            rest = window[start:]
            if any(self.could_be(kind, rest) for kind in self._lexicon.spellings):
                return start
        return len(window)
