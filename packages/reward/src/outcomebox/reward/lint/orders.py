"""Harmless reorderings of golden calls: two neighbouring writes exchanged.

An exchange is harmless if the two calls wrote no row in common and every write is answered as
before, generated ids aside: then neither the agent nor the user can see a difference, and the end
must be accepted. Later calls that name generated ids are given those of the new order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from outcomebox.reward.golden import GoldenRun
from outcomebox.sandbox import Call
from outcomebox.sandbox.changes import Value

Renaming = Mapping[Value, Value]
"""id in golden's order -> id of the same row in the other order."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Golden calls in another order.

    Attributes:
        order: The places of the writing calls in the golden list.
        calls: These calls, with the ids of the new order.
        renaming: Those ids.
        what: The exchange in words.
    """

    order: tuple[int, ...]
    calls: tuple[Call, ...]
    renaming: Renaming
    what: str


def exchanges(
    golden: GoldenRun, calls: Sequence[Call], writes: Sequence[int]
) -> Iterator[Exchange]:
    """Neighbouring writes that have no row in common, exchanged.

    Args:
        golden: A replay of the calls, with the calls that wrote each change.
        calls: The golden calls.
        writes: The places of those that may write; the others are left out.
    """
    wrote: dict[int, set[int]] = {}
    for number, change in enumerate(golden.state.changes):
        for index in change.calls:
            wrote.setdefault(index, set()).add(number)
    writers = sorted(wrote)
    for first, second in pairwise(writers):
        if wrote[first] & wrote[second]:
            continue
        order = [place for place in writes if place != second]
        order.insert(order.index(first), second)
        renaming = _renamed(golden, first, second)
        yield Exchange(
            order=tuple(order),
            calls=tuple(_with_ids(calls[place], renaming) for place in order),
            renaming=renaming,
            what=f"call {second} ({calls[second].tool}) before call {first} ({calls[first].tool})",
        )


def is_harmless(exchange: Exchange, golden: GoldenRun, run: GoldenRun) -> bool:
    """Whether every write was answered as in golden's order, generated ids aside."""
    if len(run.results) != len(exchange.order):
        return False
    return all(
        answer.is_error == golden.results[place].is_error
        and _same(_renamed_text(golden.results[place].text, exchange.renaming), answer.text)
        for place, answer in zip(exchange.order, run.results, strict=True)
    )


def _renamed(golden: GoldenRun, first: int, second: int) -> Renaming:
    """New ids: those of one table are given out in the order of the calls."""
    made: dict[str, tuple[list[Value], list[Value]]] = {}
    for change in golden.state.changes:
        if change.op == "insert" and change.key is not None and len(change.key) == 1:
            (value,) = change.key.values()
            for side, index in enumerate((first, second)):
                if change.calls[:1] == (index,):
                    made.setdefault(change.table, ([], []))[side].append(value)
    renaming: dict[Value, Value] = {}
    for one, other in made.values():
        renaming.update(zip([*other, *one], [*one, *other], strict=True))
    return {old: new for old, new in renaming.items() if old != new}


def _with_ids(call: Call, renaming: Renaming) -> Call:
    return call.model_copy(update={"arguments": _deep(call.arguments, renaming)})


def _deep(value: Any, renaming: Renaming) -> Any:
    if isinstance(value, dict):
        return {name: _deep(each, renaming) for name, each in value.items()}
    if isinstance(value, list):
        return [_deep(each, renaming) for each in value]
    if isinstance(value, str):
        return _renamed_text(value, renaming)
    return renaming.get(value, value) if isinstance(value, int) else value


def _renamed_text(text: str, renaming: Renaming) -> str:
    names = {str(old): str(new) for old, new in renaming.items()}
    if not names:
        return text
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<![\w-])(?:{pattern})(?![\w-])", lambda match: names[match[0]], text)


def _same(one: str, other: str) -> bool:
    """Whether two answers are equal; of JSON lists only what is in them counts."""
    if one == other:
        return True
    try:
        left, right = (_unordered(json.loads(text)) for text in (one, other))
    except (ValueError, RecursionError):
        return False
    return bool(left == right)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unordered(each) for name, each in value.items()}
    if isinstance(value, list):
        return sorted((_unordered(each) for each in value), key=_canonical)
    return value
