"""Harmless reorderings: golden calls in another order that an agent may as well choose.

Of the calls that change the state, each two that follow one another (with nothing but reading
between) are made in the other order: the first is moved behind the second or, where a call between
them needs its answer, the second before the first. The two must be *independent*: no argument of
the second holds a value that first appeared in the answer to the first, nor may any call be moved
before one whose answer it needs. Where later calls hold values from earlier answers, they are given
those of the answers they get now, as an agent would do. That the ends mean the same is found by
comparing them (:mod:`.alike`); nothing is taken on trust.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from outcomebox.reward.lint_thinkingbox.tables import scalars
from outcomebox.reward.thinkingbox.replaying import Adapt, Answer
from outcomebox.sandbox.thinkingbox import GoldenCall, ThinkingBoxTask

_WORD = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class Reordering:
    """Golden calls in another order.

    Attributes:
        first: The mutating call that came first.
        second: The one that followed it.
        order: Indices of all golden calls as they are made now.
    """

    first: int
    second: int
    order: tuple[int, ...]


@dataclass(frozen=True)
class Told:
    """What the golden calls were answered, and which value came from where.

    Attributes:
        task: The task.
        answers: The answers to its golden calls.
    """

    task: ThinkingBoxTask
    answers: Sequence[Answer]

    @cached_property
    def news(self) -> tuple[frozenset[Any], ...]:
        """Values that first appeared in the answer to each call: in no text or argument before."""
        task = self.task
        seen: set[Any] = set()
        for text in (task.query, task.user_context, task.bot_instructions):
            seen |= _said(text or "")
        for message in task.history or ():
            seen |= _said(json.dumps(message, ensure_ascii=False))
        found = []
        for call, answer in zip(task.golden, self.answers, strict=True):
            seen |= {each for value in scalars(call.arguments) for each in _said(value)}
            fresh = {value for value in scalars(_read(answer.text)) if _tells(value)}
            found.append(frozenset(fresh - seen))
            seen |= {each for value in fresh for each in _said(value)}
        return tuple(found)

    @property
    def from_answers(self) -> frozenset[Any]:
        """All values that first appeared in an answer."""
        return frozenset().union(*self.news)

    def needs(self, index: int, earlier: int) -> bool:
        """Whether a call has an argument that first appeared in the answer to an earlier one."""
        news = self.news[earlier]
        return any(
            news & {value, *_said(value)} for value in scalars(self.task.golden[index].arguments)
        )

    def reorderings(self, mutating: Sequence[int]) -> Iterator[tuple[int, int, Reordering | None]]:
        """Each two mutating calls that follow one another, and their reordering.

        Yields:
            The two, and None where one of them needs the other's answer.
        """
        every = range(len(self.task.golden))
        for first, second in pairwise(mutating):
            between = range(first + 1, second)
            if self.needs(second, first):
                yield first, second, None
            elif not any(self.needs(index, first) for index in between):
                moved = [*between, second, first]
                yield first, second, Reordering(first, second, _with(every, first, second, moved))
            elif not any(self.needs(second, index) for index in between):
                moved = [second, first, *between]
                yield first, second, Reordering(first, second, _with(every, first, second, moved))
            else:
                yield first, second, None

    def adapted(self, order: Sequence[int]) -> Adapt:
        """Gives the calls of an order with the values of the answers they get now."""
        golden, answers, news = self.task.golden, self.answers, self.news

        def adapt(number: int, now: Sequence[Answer]) -> GoldenCall:
            exchanged: dict[Any, Any] = {}
            for index, answer in zip(order, now, strict=False):
                _pair(_read(answers[index].text), _read(answer.text), news[index], exchanged)
            call = golden[order[number]]
            if not exchanged:
                return call
            arguments = _exchange(copy.deepcopy(dict(call.arguments)), exchanged)
            return call.model_copy(update={"arguments": arguments})

        return adapt


def _with(every: range, first: int, second: int, moved: list[int]) -> tuple[int, ...]:
    return (*every[:first], *moved, *every[second + 1 :])


def _read(text: str) -> Any:
    """An answer as JSON, or its words where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return _WORD.findall(text)


def _said(value: Any) -> set[Any]:
    """A value, and the words in it if it is a text."""
    if not isinstance(value, str):
        return {value} if isinstance(value, int | float) else set()
    return {value, *_WORD.findall(value)}


def _tells(value: Any) -> bool:
    """Whether a value can come from one answer and no other: not a flag, null or nothing."""
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def _pair(then: Any, now: Any, news: frozenset[Any], found: dict[Any, Any]) -> None:
    """Note which value of an answer stands where a new value of golden's stood."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for name in then.keys() & now.keys():
            _pair(then[name], now[name], news, found)
    elif isinstance(then, list) and isinstance(now, list):
        for one, other in zip(then, now, strict=False):
            _pair(one, other, news, found)
    elif _tells(then) and _tells(now) and then != now and then in news:
        found.setdefault(then, now)


def _exchange(value: Any, found: Mapping[Any, Any]) -> Any:
    if isinstance(value, dict):
        return {name: _exchange(each, found) for name, each in value.items()}
    if isinstance(value, list):
        return [_exchange(each, found) for each in value]
    if isinstance(value, bool) or value is None:
        return value
    if value in found:
        return found[value]
    if isinstance(value, str) and len(_WORD.findall(value)) > 1:
        return _WORD.sub(lambda word: str(found.get(word[0], word[0])), value)
    return value
