"""Which ids wrote the reasoning, the content and each call of a turn.

A loss or a penalty that is meant for one part needs its ids. The parts tile the ids: put together
they are the sampled ids again.
"""

import re
from itertools import islice
from typing import Literal, NamedTuple

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.formats.base import NAME
from outcomebox.interpret.tokens.text import TokenText
from outcomebox.interpret.turn import DiagnosticCode, Span, Turn

PartKind = Literal["reasoning", "content", "call", "markup"]


_MOST_OPENERS = 4
"""Openers behind which reasoning is looked for. No profile begins it behind a later one than the
second, and a bound keeps the work linear."""

_DROPPED: frozenset[DiagnosticCode] = frozenset(
    {
        "cut_marker",
        "doubled_opener",
        "empty_call",
        "missing_think_open",
        "repeated_think_open",
        "stray_marker",
    }
)
"""Diagnostics whose span is markup that was left out of the content."""

_BLANK = re.compile(r"\s*")


class Part(NamedTuple):
    """A stretch of an output.

    Attributes:
        kind: What it is; `markup` is everything that is none of the others: markers, the end of
            the turn, white space that separates.
        call: The index of the call in `Turn.tool_calls`; None for other kinds.
        span: Its characters.
        ids: The range of ids whose text begins in it; empty where one token wrote it together with
            what stands before it.
    """

    kind: PartKind
    call: int | None
    span: Span
    ids: tuple[int, int]


def parts_of(
    turn: Turn,
    text: str,
    tokens: TokenText,
    format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
) -> tuple[Part, ...]:
    """Return the parts of an output in order; they tile its characters and its ids.

    Args:
        turn: What the output was read as, by any profile.
        text: The output's text, as `read_ids` returns it.
        tokens: Its ids, from the same place.
        format: The format it was read in.

    Raises:
        ValueError: Reasoning or content is not text of this output: the turn is of another one, or
            of a profile that rewrites text.
    """
    places = _Places(turn, text, format)
    labelled: list[tuple[int, int, PartKind, int | None]] = [
        *((*each, "content", None) for each in places.content),
        *((*each, "reasoning", None) for each in places.reasoning),
        *((*call.span, "call", at) for at, call in enumerate(turn.tool_calls)),
    ]
    parts: list[Part] = []
    at = 0

    def add(kind: PartKind, call: int | None, start: int, end: int) -> None:
        parts.append(Part(kind, call, (start, end), tokens.between(start, end)))

    for start, end, kind, call in sorted(labelled, key=lambda each: each[:2]):
        if start > at:
            add("markup", None, at, start)
        if end > max(at, start):
            add(kind, call, max(at, start), end)
        at = max(at, end)
    if at < len(text) or (not parts and tokens.ids):
        add("markup", None, at, len(text))
    return tuple(parts)


class _Places:
    """Where reasoning and content stand in the text."""

    def __init__(self, turn: Turn, text: str, format_name: str) -> None:
        self._text = text
        form = format_named(format_name)
        spelled = [each for each in form.spellings.values() if NAME not in each]
        self._marker = re.compile("|".join(map(re.escape, [*spelled, *form.end_of_turn])))
        self._think_open = form.spellings.get("think_open", "")
        self._think_close = form.spellings.get("think_close", "")
        self._calls = sorted(call.span for call in turn.tool_calls)
        self.reasoning: list[Span] = []
        if turn.reasoning:
            self.reasoning = self._find_reasoning(turn.reasoning)
        dropped = [each.span for each in turn.diagnostics if each.code in _DROPPED]
        taken = sorted([*self._calls, *self.reasoning, *dropped])
        self.content = self._find("content", turn.content, taken) if turn.content else []

    def _find_reasoning(self, reasoning: str) -> list[Span]:
        """Find reasoning at the start or behind an opener, best where something ends it."""
        text = self._text
        calls = {start for start, _ in self._calls}
        starts = [0]
        if self._think_open:
            openers = re.finditer(re.escape(self._think_open), text)
            starts += [each.end() for each in islice(openers, _MOST_OPENERS)]
        found: list[Span] = []
        for start in starts:
            # Some servers take the white space off its start.
            lead = len(reasoning) - len(reasoning.lstrip())
            at = next(
                (
                    each
                    for each in (start, max(start, _behind_blank(text, start) - lead))
                    if text.startswith(reasoning, each)
                ),
                None,
            )
            if at is None:
                continue
            end = at + len(reasoning)
            after = _behind_blank(text, end)
            closed = bool(self._think_close) and text.startswith(self._think_close, after)
            if closed or after == len(text) or after in calls:
                return [(at, end)]
            found.append((at, end))
        # Some servers take markers out of it.
        return found[:1] or self._find("reasoning", reasoning, [])

    def _find(self, what: str, wanted: str, taken: list[Span]) -> list[Span]:
        """Find a text in what nothing else has taken, in order.

        White space alone between two other things is no part of it where it can be found without.
        """
        gaps = self._gaps(taken)
        visible = [each for each in gaps if any(self._is_visible(piece) for piece in each)]
        # Whole pieces first; character by character where a piece was rewritten or cut.
        for chosen, cut in ((visible, False), (gaps, False), (visible, True), (gaps, True)):
            pieces = [piece for gap in chosen for piece in gap]
            for some in (self._behind_thinking(pieces), pieces):
                found: list[Span] = []
                done = 0
                for start, end in some:
                    done += self._match(wanted, done, start, end, found, cut=cut)
                if done == len(wanted):
                    return found
        raise ValueError(
            f"{what} {wanted!r:.80} is not text of this output; give the turn of this output, read "
            "by a profile that does not rewrite text"
        )

    def _behind_thinking(self, pieces: list[Span]) -> list[Span]:
        """Return the pieces behind a closer that ends an empty reasoning block; none without."""
        closes = (
            at + 1
            for at, piece in enumerate(pieces)
            if self._think_close and self._text[slice(*piece)] == self._think_close
        )
        behind = next(closes, len(pieces))
        return pieces[behind:] if not self.reasoning else []

    def _is_visible(self, piece: Span) -> bool:
        text = self._text[slice(*piece)]
        return bool(text.strip()) and not self._marker.fullmatch(text)

    def _gaps(self, taken: list[Span]) -> list[list[Span]]:
        """Return the text outside of what is taken, each stretch of it cut at markers."""
        gaps: list[list[Span]] = []
        at = 0
        for start, end in [*taken, (len(self._text), len(self._text))]:
            gap: list[Span] = []
            while at < start:
                marker = self._marker.search(self._text, at, start)
                cut = marker.start() if marker else start
                gap += [(at, cut)] if cut > at else []
                gap += [marker.span()] if marker else []
                at = marker.end() if marker else start
            at = max(at, end)
            gaps.append(gap)
        return gaps

    def _match(
        self, content: str, done: int, start: int, end: int, found: list[Span], *, cut: bool
    ) -> int:
        """Match a piece against what is left of the content; return how much of it was matched."""
        piece = self._text[start:end]
        lead = len(piece) - len(piece.lstrip())
        for skipped, part in ((0, piece), (lead, piece.strip()), (0, piece.rstrip())):
            if part and content.startswith(part, done):
                _extend(found, start + skipped, start + skipped + len(part))
                return len(part)
        if not cut or self._marker.fullmatch(piece):
            return 0
        matched = 0
        for at in range(start, end):
            if done + matched < len(content) and content[done + matched] == self._text[at]:
                _extend(found, at, at + 1)
                matched += 1
        return matched


def _behind_blank(text: str, start: int) -> int:
    found = _BLANK.match(text, start)
    return found.end() if found else start


def _extend(found: list[Span], start: int, end: int) -> None:
    if found and found[-1][1] == start:
        start = found.pop()[0]
    found.append((start, end))
