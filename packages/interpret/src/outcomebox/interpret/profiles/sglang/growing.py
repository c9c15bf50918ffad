"""The JSON that sglang writes of arguments which are still arriving.

At each step it writes the whole value so far, closes what is open, and sends the part that is the
same as at the step before. Here the value is written once: what is settled is kept as it grows, and
two steps are compared where they can differ. A key that comes twice changes what was settled; that
costs a copy.
"""

import json
from typing import NamedTuple

_FALSY = frozenset({"{}", "[]", '""', "0", "false", "0.0", "-0.0"})
"""What Python takes for false; sglang does not compare with such a value."""

_NEAR = 64


def written(text: str) -> str:
    """Return a string as JSON, without its quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


class _Frame:
    """An array or object that is open.

    Attributes:
        closer: Its closing bracket.
        tail: All that closes the value behind its open element.
        slots: Where the value of each key stands; for objects.
        key: The key whose value is next or open.
        repeated: The key's value is one that replaces another.
        count: How many elements it has.
        started: Where the open element's value begins.
    """

    __slots__ = ("closer", "count", "key", "repeated", "slots", "started", "tail", "whole_tail")

    def __init__(self, closer: str, tail: str) -> None:
        self.closer = closer
        self.tail = tail
        self.whole_tail = tail
        self.slots: dict[str, tuple[int, int]] = {}
        self.key = ""
        self.repeated = False
        self.count = 0
        self.started = 0


class Step(NamedTuple):
    """The value at one step, compared with the step before.

    Attributes:
        same: Whether it is written alike.
        common: How many characters at the beginning are the same.
    """

    same: bool
    common: int


class Growing:
    """A value that arrives in pieces.

    Attributes:
        leaf: What closes the settled text: an unfinished number, the quote of an open string.
    """

    def __init__(self, before: str | None) -> None:
        """Start a value; `before` is the one to compare its first step with, None for none."""
        self.leaf = ""
        self._pieces: list[str] = []
        self._size = 0
        self._frames: list[_Frame] = []
        # The step before: the first `_settled` characters, then `_past` and `_past_tail`.
        self._compares = before is not None
        self._settled = 0
        self._settled_pieces = 0
        self._past = before or ""
        self._past_tail = ""

    # -- what arrives -----------------------------------------------------------------------------

    def key(self, key: str) -> None:
        """Take the key of the next value."""
        self._frames[-1].key = key

    def begin(self) -> None:
        """Begin a value: write what stands before it, or take out the one that it replaces."""
        if not self._frames:
            return
        frame = self._frames[-1]
        frame.repeated = frame.key in frame.slots and frame.closer == "}"
        if frame.repeated:
            self._take_out(frame)
        else:
            comma = ", " if frame.count else ""
            self.add(f'{comma}"{written(frame.key)}": ' if frame.closer == "}" else comma)
            frame.count += 1
        frame.started = self._size

    def end(self) -> None:
        """End a value."""
        self.leaf = ""
        if not self._frames:
            return
        frame = self._frames[-1]
        if frame.closer != "}":
            return
        old = frame.slots.get(frame.key)
        frame.slots[frame.key] = (frame.started, self._size)
        if frame.repeated and old is not None:
            self.add(frame.tail[: len(frame.tail) - len(frame.whole_tail)])
            frame.tail = frame.whole_tail
            moved = self._moved(frame, old)
            for key, (start, stop) in frame.slots.items():
                if key != frame.key and start > old[0]:
                    frame.slots[key] = (start + moved, stop + moved)

    def open(self, closer: str) -> None:
        """Open an array or object; its value has begun."""
        self._frames.append(_Frame(closer, closer + self._tail))
        self.add("{" if closer == "}" else "[")

    def close(self) -> None:
        """Close the innermost array or object and end its value."""
        self.add(self._frames.pop().closer)
        self.end()

    def add(self, text: str) -> None:
        """Write settled text."""
        if text:
            self._pieces.append(text)
            self._size += len(text)

    def add_text(self, text: str) -> None:
        """Write settled text of a string."""
        self.add(written(text))

    # -- what is sent -----------------------------------------------------------------------------

    def step(self) -> Step | None:
        """Compare with the step before and take this one in its place; None where none is told."""
        tail = self._tail
        told = self._compares and not self._was_falsy()
        step = self._compare(tail) if told else None
        self._compares = True
        self._settled, self._settled_pieces = self._size, len(self._pieces)
        self._past, self._past_tail = self.leaf, tail
        return step

    def part(self, start: int, end: int) -> str:
        """Return a part of the value as written at this step."""
        text = self.leaf + self._tail if end > self._size else ""
        at = self._size
        pieces = [text]
        for piece in reversed(self._pieces):
            if at <= start:
                break
            at -= len(piece)
            pieces.append(piece)
        return "".join(reversed(pieces))[max(0, start - at) : max(0, end - at)]

    def size(self) -> int:
        """Return how long the value is as written at this step."""
        return self._size + len(self.leaf) + len(self._tail)

    def is_null(self) -> bool:
        """Say whether the value at this step is null."""
        return self.size() == 4 and self.part(0, 4) == "null"

    def before(self) -> str | None:
        """Return the step before as it was written; None where there was none."""
        if not self._compares:
            return None
        settled = "".join(self._pieces)[: self._settled]
        return settled + self._past + self._past_tail

    # -- inside -----------------------------------------------------------------------------------

    @property
    def _tail(self) -> str:
        return self._frames[-1].tail if self._frames else ""

    def _was_falsy(self) -> bool:
        size = self._settled + len(self._past) + len(self._past_tail)
        return size <= 5 and self.before() in _FALSY

    def _compare(self, tail: str) -> Step:
        fresh = "".join(self._pieces[self._settled_pieces :]) + self.leaf
        if fresh == self._past and tail == self._past_tail:
            return Step(same=True, common=self.size())
        near = len(fresh) + len(self._past) + _NEAR
        now = fresh + tail[:near]
        past = self._past + self._past_tail[:near]
        common = _common(now, past)
        if common == min(len(now), len(past)):
            now, past = fresh + tail, self._past + self._past_tail
            common = _common(now, past)
        return Step(same=now == past, common=self._settled + common)

    def _take_out(self, frame: _Frame) -> None:
        """Take the value of a repeated key out of the settled text, with what stands behind it."""
        text = "".join(self._pieces)
        start, end = frame.slots[frame.key]
        frame.tail = text[end:] + frame.whole_tail
        if start < self._settled:
            self._past = text[start : self._settled] + self._past
            self._settled = start
        parts = (text[: self._settled], text[self._settled : start])
        self._pieces = list(parts)
        self._settled_pieces = 1
        self._size = start

    def _moved(self, frame: _Frame, old: tuple[int, int]) -> int:
        start, end = frame.slots[frame.key]
        return (end - start) - (old[1] - old[0])


def _common(left: str, right: str) -> int:
    """Return how many characters at the beginning of two texts are the same."""
    size = min(len(left), len(right))
    if left[:size] == right[:size]:
        return size
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low
