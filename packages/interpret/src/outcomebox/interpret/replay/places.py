"""Where calls stand in an output: their markup, whether in the reasoning, whether closed."""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.output import CUT_REASONS
from outcomebox.interpret.replay.jsonvalues import written
from outcomebox.interpret.replay.readings import Call
from outcomebox.interpret.replay.recorded import RecordedTurn
from outcomebox.interpret.turn import Span

_MOST_TRIED = 16
"""Places of a name that are looked at for one call."""

_NAMESPACE = "functions."

_BEFORE_NAMES = ("=", '"', _NAMESPACE)
"""What stands before a name in the markup of one format or another."""

_NEAR = 200
"""Characters before a call in which its wrapper is looked for."""

_VALUE = re.compile(r"[>\":\s]*([^<,}\n]+)")
"""What follows an argument's name: signs of the markup, then its value."""

_STRETCH = 20_000
"""Characters behind a name in which a call's values are looked for."""

_NAME_EDGE = re.compile(r"[\w.-]")


class Markers(NamedTuple):
    """How a format writes what matters here; None or empty where it has no such marker."""

    think_open: str | None
    think_close: str | None
    openers: tuple[str, ...]
    closers: tuple[str, ...]
    sections: tuple[str, ...]
    wrapper: str | None
    end_of_turn: tuple[str, ...]

    @property
    def taken_out(self) -> tuple[str, ...]:
        """What a reader may take out of its texts."""
        calls = (*self.sections, *(text for text in self.openers[:1]), *self.closers[:1])
        return tuple(filter(None, (self.think_open, self.think_close, *calls, *self.end_of_turn)))


def markers_of(format_name: str) -> Markers:
    """Return the markers of a format."""
    form = format_named(format_name)
    spelled = {str(kind): text.split("{name}")[0] for kind, text in form.spellings.items()}
    wrapped = "call_open" in spelled and "function_open" in spelled
    return Markers(
        think_open=spelled.get("think_open"),
        think_close=spelled.get("think_close"),
        openers=tuple(spelled[kind] for kind in ("call_open", "function_open") if kind in spelled),
        closers=tuple(
            spelled[kind] for kind in ("call_close", "function_close") if kind in spelled
        ),
        sections=tuple(
            spelled[kind] for kind in ("section_open", "section_close") if kind in spelled
        ),
        wrapper=spelled["call_open"] if wrapped else None,
        end_of_turn=form.end_of_turn,
    )


class Places:
    """What stands where in one output."""

    def __init__(self, turn: RecordedTurn) -> None:
        self.turn = turn
        self.text = turn.text
        self.markers = markers_of(turn.format)
        self.cut = turn.finish_reason in CUT_REASONS
        self._thinking: tuple[list[int], list[int]] | None = None
        self._last_closers: dict[str, int] = {}

    def spans(self, calls: Sequence[Call]) -> list[Span | None]:
        """Return the place of each call: what its reader says, else where its name is found."""
        if all(self._fits(call) for call in calls):
            return [call.span for call in calls]
        return self._found(calls)

    def _fits(self, call: Call) -> bool:
        return call.span is not None and call.name in self.text[slice(*call.span)]

    def _found(self, calls: Sequence[Call]) -> list[Span | None]:
        found: list[Span | None] = []
        begin = 0
        for call in calls:
            place = self._place(call, begin)
            if place is None:
                found.append(None)
                continue
            around = self._around(place, begin)
            found.append(around)
            begin = place + len(call.name)
        # A call ends where the next begins, if not before.
        following = len(self.text)
        for index in range(len(found) - 1, -1, -1):
            span = found[index]
            if span is not None:
                found[index] = span[0], max(span[0], min(span[1], following))
                following = span[0]
        return found

    def _place(self, call: Call, begin: int) -> int | None:
        """Return the place of a call's name from `begin` on that its arguments stand behind."""
        if not call.name:
            return None
        wanted = [
            value.strip() if isinstance(value, str) else written(value)
            for value in (call.arguments or {}).values()
        ]
        best: int | None = None
        most = -1
        places = self._names(call.name, begin)
        for place, following in zip(places, [*places[1:], len(self.text)], strict=False):
            stretch = self.text[place : min(following, place + _STRETCH)]
            score = sum(value in stretch for value in wanted if value)
            if score > most:
                best, most = place, score
        return best

    def _names(self, name: str, begin: int) -> list[int]:
        """Return where a name stands behind an opener's markup, from `begin` on."""
        places: list[int] = []
        place = self.text.find(name, begin)
        while place >= 0 and len(places) < _MOST_TRIED:
            before = self.text[place - 1 : place]
            after = self.text[place + len(name) : place + len(name) + 1]
            spaced = self.text.endswith(_NAMESPACE, 0, place)
            if (spaced or not _NAME_EDGE.match(before)) and not _NAME_EDGE.match(after):
                places.append(place)
            place = self.text.find(name, place + len(name))
        marked = [at for at in places if self.text.endswith(_BEFORE_NAMES, 0, at)]
        return marked or places

    def _around(self, place: int, begin: int) -> Span:
        text = self.text
        start = place
        for opener in self.markers.openers:
            at = text.rfind(opener, begin, place)
            if at >= 0 and not any(closer in text[at:place] for closer in self.markers.closers):
                start = min(start, at)
        ends = [
            at + len(closer)
            for closer in self.markers.closers
            if (at := text.find(closer, place)) >= 0
        ]
        return start, max(ends) if ends else len(text)

    def in_reasoning(self, place: int) -> bool:
        """Say whether a place is inside a reasoning block that is closed behind it."""
        if self._thinking is None:
            markers = self.markers.think_open, self.markers.think_close
            opens, closes = (self._all(marker) for marker in markers)
            self._thinking = opens, closes
        opens, closes = self._thinking
        before = bisect_left(opens, place), bisect_left(closes, place)
        if before[1] == len(closes):
            return False
        if before == (0, 0):
            return self.turn.prompt_state != "think_closed"
        opened = opens[before[0] - 1] if before[0] else -1
        closed = closes[before[1] - 1] if before[1] else -1
        return opened > closed

    def _all(self, marker: str | None) -> list[int]:
        if marker is None:
            return []
        return [found.start() for found in re.finditer(re.escape(marker), self.text)]

    @property
    def has_reasoning(self) -> bool:
        """Whether any of the output is reasoning: the prompt opened it, or the output marks it."""
        marked = (self.markers.think_open, self.markers.think_close)
        return self.turn.prompt_state == "think_open" or any(
            marker is not None and marker in self.text for marker in marked
        )

    def value_span(self, name: str, values: Sequence[str | None], within: Span) -> Span:
        """Return the place of an argument inside its call: its value where it can be found.

        Args:
            name: The argument.
            values: What the readers made of its value, as JSON; None where one has none.
            within: The place of the call.
        """
        named = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
        found = named.search(self.text, *within) if name else None
        if found is None:
            return within
        behind = found.end()
        for value in sorted(filter(None, values), key=len, reverse=True):
            bare = json.loads(value) if value.startswith('"') else value
            start = self.text.find(bare, behind, within[1]) if bare else -1
            if start >= 0:
                return start, start + len(bare)
        written = _VALUE.match(self.text, behind, within[1])
        return written.span(1) if written else found.span()

    def is_closed(self, start: int) -> bool:
        """Say whether the call that begins at `start` has a closer behind it."""
        closers = self.markers.closers
        if not closers:
            return True
        # The wrapper's closer ends a call, or the function's where there is no wrapper.
        closer = closers[-1] if self.is_bare(start) else closers[0]
        if closer not in self._last_closers:
            self._last_closers[closer] = self.text.rfind(closer)
        return self._last_closers[closer] > start

    def is_bare(self, start: int) -> bool:
        """Say whether the call that begins at `start` lacks the wrapper its format has."""
        wrapper = self.markers.wrapper
        if wrapper is None or self.text.startswith(wrapper, start):
            return False
        return not self.text[max(0, start - _NEAR) : start].rstrip().endswith(wrapper)
