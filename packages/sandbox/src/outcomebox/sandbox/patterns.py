"""Regular expressions for text that an agent writes, matched in linear time.

The `re` module tries one way after another, so that a text can be made on which a harmless pattern
(``.*late.*refund.*``) takes hours, and a grader with it. Here all ways are followed at once
(Thompson 1968), with what was found out about a set of states kept for the next time, so the time
grows with the length of the text only. The syntax and the meaning are those of `re`; what cannot be
matched this way is refused when the pattern is read: references to groups, conditions on groups,
and atomic groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

STATES = 2_000
"""How large a pattern may be; ``x{1000}`` counts a thousand times."""

_KEPT = 50_000  # steps from a set of states that are kept
_REFUSED = {
    _constants.GROUPREF: "a reference to a group",
    _constants.GROUPREF_EXISTS: "a condition on a group",
    _constants.ATOMIC_GROUP: "an atomic group",
    _constants.POSSESSIVE_REPEAT: "a possessive repeat",
}


class Pattern:
    """A regular expression.

    Args:
        text: The expression.
        flags: Of `re`; a ``.`` fits line breaks too unless they say otherwise.

    Raises:
        ValueError: It is none, or cannot be matched in linear time; the message says what to write.
    """

    def __init__(self, text: str, flags: int = re.DOTALL) -> None:
        self.text = text
        try:
            self._parsed = _parser.parse(text, flags)
            re.compile(text, flags)
            self._machine = _Machine(self._parsed, self._parsed.state.flags)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{text!r} is no regular expression: {error}") from None

    def fullmatch(self, text: str) -> bool:
        """Whether it matches the whole text."""
        return self._machine.run(text)[-1]

    def search(self, text: str) -> bool:
        """Whether it matches some part of the text."""
        return any(self._searching.run(text))

    @cached_property
    def _searching(self) -> _Machine:
        return _Machine(self._parsed, self._parsed.state.flags, anywhere=True)


@lru_cache(maxsize=1024)
def read_pattern(text: str, flags: int = re.DOTALL) -> Pattern:
    """A regular expression, kept for the next time.

    Raises:
        ValueError: As for :class:`Pattern`.
    """
    return Pattern(text, flags)


class _Closed:
    """A set of states at a position: what may come next there."""

    __slots__ = ("accepts", "after", "tests")

    def __init__(self, tests: Sequence[tuple[re.Pattern[str], int]], accepts: bool) -> None:
        self.tests = tests
        self.accepts = accepts
        self.after: dict[str, frozenset[int]] = {}


class _Machine:
    """A nondeterministic automaton, run on all states at once.

    A state tests a character, or asks something about its position, or leads to several others.

    Args:
        parsed: What it matches.
        flags: Of `re`.
        back: Read from the end, for what lies ahead of a position.
        anywhere: Start at every position, not at the first only.
    """

    def __init__(
        self, parsed: Any, flags: int, *, back: bool = False, anywhere: bool = False
    ) -> None:
        self._back = back
        self._anywhere = anywhere
        self._tests: dict[int, tuple[re.Pattern[str], int]] = {}
        self._asks: dict[int, tuple[int, int]] = {}
        self._ways: dict[int, list[int]] = {}
        self._questions: list[Callable[[str], Sequence[bool]]] = []
        self._known: dict[Any, _Closed] = {}
        self._steps = 0
        self._count = 1  # state 0 accepts
        self._start = self._sequence(parsed, flags, 0)

    def run(self, text: str) -> list[bool]:
        """Whether it accepts, by position from 0 to the length of the text."""
        answers = [question(text) for question in self._questions]
        asked = list(zip(*answers, strict=True)) if answers else None
        if self._back:
            text = text[::-1]
            asked = asked[::-1] if asked is not None else None
        start = frozenset([self._start])
        states = start
        found = []
        for at in range(len(text) + 1):
            key = states if asked is None else (states, asked[at])
            here = self._known.get(key)
            if here is None:
                here = self._known[key] = self._closed(states, asked[at] if asked else ())
            found.append(here.accepts)
            if at == len(text):
                break
            after = here.after.get(text[at])
            if after is None:
                after = self._after(here, text[at])
            states = after | start if self._anywhere else after
        return found[::-1] if self._back else found

    def _after(self, here: _Closed, mark: str) -> frozenset[int]:
        self._steps += 1
        if self._steps > _KEPT:  # forget, or memory would grow with what agents write
            self._known.clear()
            self._steps = 0
        after = here.after[mark] = frozenset(
            state for test, state in here.tests if test.fullmatch(mark)
        )
        return after

    def _closed(self, states: frozenset[int], answers: Sequence[bool]) -> _Closed:
        seen = set(states)
        queue = list(states)
        for state in queue:
            further = self._ways.get(state, [])
            if state in self._asks:
                question, then = self._asks[state]
                further = [then] if answers[question] else []
            new = [each for each in further if each not in seen]
            seen.update(new)
            queue += dict.fromkeys(new)
        return _Closed([self._tests[each] for each in queue if each in self._tests], 0 in seen)

    def _new(self) -> int:
        self._count += 1
        if self._count > STATES:
            raise OverflowError(f"it has more than {STATES} states; write smaller repeats")
        return self._count - 1

    def _sequence(self, items: Any, flags: int, then: int) -> int:
        """The first state of what matches some items one after another, then goes on."""
        for op, value in items if self._back else reversed(items):
            then = self._item(op, value, flags, then)
        return then

    def _item(self, op: Any, value: Any, flags: int, then: int) -> int:
        if op in _REFUSED:
            raise OverflowError(f"{_REFUSED[op]} takes too long on some texts; write it without")
        if op is _constants.SUBPATTERN:
            _, add, remove, items = value
            return self._sequence(items, (flags | add) & ~remove, then)
        state = self._new()
        if op is _constants.BRANCH:
            self._ways[state] = [self._sequence(each, flags, then) for each in value[1]]
        elif op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            self._ways[state] = [then]
            least, most, each = value
            return self._repeat(state, least, most, lambda to: self._sequence(each, flags, to))
        elif op is _constants.FAILURE:
            self._ways[state] = []
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            ahead = value[0] > 0
            inner = _Machine(value[1], flags, back=ahead, anywhere=True)
            wanted = op is _constants.ASSERT
            self._ask(state, lambda text: [each is wanted for each in inner.run(text)], then)
        elif op is _constants.AT:
            place = _single(op, value, flags)
            self._ask(state, lambda text: _places(place, text), then)
        else:
            self._tests[state] = (_single(op, value, flags), then)
        return state

    def _repeat(self, end: int, least: int, most: Any, body: Callable[[int], int]) -> int:
        """The first state of ``body``, which goes on to a given state, repeated up to ``end``."""
        first = end
        if most is _constants.MAXREPEAT:
            self._ways[end].insert(0, body(end))
        else:
            for _ in range(most - least):
                inner, first = body(first), self._new()
                self._ways[first] = [inner, end]
        for _ in range(least):
            first = body(first)
        return first

    def _ask(self, state: int, question: Callable[[str], Sequence[bool]], then: int) -> None:
        self._asks[state] = (len(self._questions), then)
        self._questions.append(question)


def _single(op: Any, value: Any, flags: int) -> re.Pattern[str]:
    """What `re` makes of a single element, so that its meaning is that of `re`."""
    state = _parser.State()
    state.flags = flags
    found: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [(op, value)]), flags)
    return found


def _places(place: re.Pattern[str], text: str) -> list[bool]:
    found = [False] * (len(text) + 1)
    for match in place.finditer(text):
        found[match.start()] = True
    return found
