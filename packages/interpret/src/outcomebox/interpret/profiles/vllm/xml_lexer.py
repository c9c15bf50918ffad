"""Cuts text into markers and what stands between them, as vLLM's engine does."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

MARKERS = {
    "think_open": "<think>",
    "think_close": "</think>",
    "call_open": "<tool_call>",
    "call_close": "</tool_call>",
    "function_open": "<function=",
    "function_close": "</function>",
    "parameter_open": "<parameter=",
    "parameter_close": "</parameter>",
    "angle": ">",
}
"""Kind of marker -> its spelling. No spelling begins another, and `<` only stands in front."""

SAMPLED = {kind: MARKERS[kind] for kind in ("think_open", "think_close", "call_open", "call_close")}
"""The markers that have a token of their own."""

TEXT = "text"
"""The kind of what is no marker."""

DROPPED = "dropped"
"""The kind of a special token that the engine drops."""


class Piece(NamedTuple):
    """A marker, or text in which none begins."""

    kind: str
    text: str
    start: int


@cache
def markers_in(special: frozenset[str], kinds: frozenset[str] | None = None) -> re.Pattern[str]:
    """Return a pattern of the markers, or of those kinds, and of special tokens to be dropped.

    The name of the group that matched is the kind.
    """
    branches = [
        f"(?P<{kind}>{re.escape(text)})"
        for kind, text in MARKERS.items()
        if kinds is None or kind in kinds
    ]
    if special:
        spelled = "|".join(map(re.escape, sorted(special)))
        branches.append(f"(?P<{DROPPED}>{spelled})")
    return re.compile("|".join(branches))


@cache
def _beginnings(special: frozenset[str]) -> frozenset[str]:
    """Return every beginning of a marker, none of them whole."""
    spellings = [*MARKERS.values(), *special]
    return frozenset(text[:size] for text in spellings for size in range(1, len(text)))


def pieces_of(text: str, pattern: re.Pattern[str]) -> Iterator[Piece]:
    """Yield the pieces of a whole text."""
    done = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if start > done:
            yield Piece(TEXT, text[done:start], done)
        yield Piece(match.lastgroup or TEXT, match[0], start)
        done = end
    if done < len(text):
        yield Piece(TEXT, text[done:], done)


class Lexer:
    """Cuts text that arrives in pieces; what could begin a marker is held back.

    A marker that has a token of its own is text here: where it is one, it does not come this way.
    The work is linear: what is held back is shorter than one marker.
    """

    def __init__(self, special: frozenset[str]) -> None:
        self._pattern = markers_in(special)
        self._beginnings = _beginnings(special)
        self._held = ""
        self._held_at = 0

    def feed(self, text: str, start: int) -> list[Piece]:
        """Return the pieces that are certain, text of `start` having arrived."""
        if not self._held and "<" not in text and ">" not in text:
            return [Piece(TEXT, text, start)] if text else []
        base = self._held_at if self._held else start
        window = self._held + text
        pieces: list[Piece] = []
        done = 0
        for match in self._pattern.finditer(window):
            begin, end = match.span()
            if begin > done:
                pieces.append(Piece(TEXT, window[done:begin], base + done))
            kind = match.lastgroup or TEXT
            if kind in SAMPLED or kind == DROPPED:
                kind = TEXT
            pieces.append(Piece(kind, match[0], base + begin))
            done = end
        keep = window.rfind("<", done)
        if keep < 0 or window[keep:] not in self._beginnings:
            keep = len(window)
        if keep > done:
            pieces.append(Piece(TEXT, window[done:keep], base + done))
        self._held, self._held_at = window[keep:], base + keep
        return pieces

    def flush(self) -> list[Piece]:
        """Return what was held back: it began no marker."""
        held, self._held = self._held, ""
        return [Piece(TEXT, held, self._held_at)] if held else []
