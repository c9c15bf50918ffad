"""Wrong values for a column: plausible ones first, all of them other than the right one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import TypeAlias

from outcomebox.sandbox.changes import DatabaseState, Value
from outcomebox.sandbox.instants import parse_instant

Wrong: TypeAlias = tuple[str, Value]
"""(kind of mutant, value)."""

RANDOM_TEXT = "random_text"
EMPTY_TEXT = "empty_text"
FEW = 8  # a column with so few values is taken for an enumeration: all of them are tried
SOME = 4  # of more values, so many

# What a text tells that is no wording: words with a digit (ids, amounts, moments), and words in
# capitals (codes).
_FACT = re.compile(r"\b(?:[^\W_]+-)*[^\W_]*\d(?:[\w.:/-]*\w)?|\b[A-Z]{3,}(?:_[A-Z]+)*\b")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:([T ])(\d\d:\d\d(?::\d\d)?)(.*))?")
_NUMBER = re.compile(r"\d+")


def facts(text: str) -> list[str]:
    """What a text tells that is no wording, sorted: ids, numbers, moments, codes in capitals."""
    return sorted(_FACT.findall(text))


def same_facts(one: str, other: str) -> bool:
    """Whether two texts name the same facts; without any, whether their words are the same."""
    told = facts(one)
    if told or facts(other):
        return told == facts(other)
    return one.casefold().split() == other.casefold().split()


def is_prose(value: Value) -> bool:
    """Whether a value is free text, rather than an id, a code or a moment."""
    return isinstance(value, str) and " " in value.strip() and parse_instant(value) is None


@dataclass
class Columns:
    """The values that the columns of a state hold.

    Attributes:
        state: The initial state.
    """

    state: DatabaseState
    _known: dict[tuple[str, str], tuple[Value, ...]] = field(default_factory=dict)

    def values(self, table: str, column: str) -> tuple[Value, ...]:
        """The values of a column, each once, in the order of the rows; NULL left out."""
        if (table, column) not in self._known:
            rows = self.state.rows(table) if table in self.state.tables else []
            found = dict.fromkeys(row[column] for row in rows)
            found.pop(None, None)
            self._known[table, column] = tuple(found)
        return self._known[table, column]

    def keys_of(self, table: str, column: str) -> tuple[Value, ...]:
        """The ids that a column may refer to; empty if it refers to nothing."""
        target = self.state.tables[table].references.get(column)
        return () if target is None else self.values(*target)

    def is_key(self, value: Value) -> bool:
        """Whether a value is the primary key of some row."""
        return any(
            (value,) in self.state.keyed[name]
            for name, info in self.state.tables.items()
            if len(info.key) == 1
        )


def wrong_values(
    columns: Columns,
    table: str,
    column: str,
    right: Value,
    rng: Random,
    *,
    ids: Mapping[tuple[str, str], Iterable[Value]] | None = None,
) -> Iterator[Wrong]:
    """Values that a column could hold by mistake, each once and none equal to the right one.

    Args:
        columns: What the database holds.
        table: The table.
        column: The column.
        right: What it holds at the right end.
        rng: Chooses where there are many.
        ids: Ids of rows that the episode added, by what they are ids of.
    """
    seen: list[Value] = [right]
    target = columns.state.tables[table].references.get(column)
    new = [] if target is None else list((ids or {}).get(target, ()))
    for kind, value in (
        ("null", None),
        *(("other_value", each) for each in _some(columns.values(table, column), right, rng)),
        *(("other_reference", each) for each in _some(columns.keys_of(table, column), right, rng)),
        *(("other_reference", each) for each in new),
        *_near(right, target is not None, rng),
    ):
        if not any(value == other for other in seen):
            seen.append(value)
            yield kind, value
    if len(seen) < 3 and not isinstance(right, (int, float)):  # nothing else is known here
        yield RANDOM_TEXT, random_text(rng)


def _some(values: tuple[Value, ...], right: Value, rng: Random) -> Iterable[Value]:
    others = [value for value in values if value != right]
    return others if len(others) <= FEW else rng.sample(others, SOME)


def _near(right: Value, reference: bool, rng: Random) -> Iterator[Wrong]:
    if isinstance(right, (int, float)):
        yield from _near_number(right)
    elif isinstance(right, bytes):
        yield "other_value", right + b"\0"
        yield "other_value", b""
    elif isinstance(right, str):
        yield EMPTY_TEXT, ""
        if reference:
            return
        if parse_instant(right) is not None:
            yield from (("moment_shifted", each) for each in shifted(right))
            return
        yield RANDOM_TEXT, random_text(rng)
        yield "case", right.swapcase()
        yield "white_space", right + " "
        yield "white_space", right.replace(" ", "  ")
        yield from (("fact_in_text", each) for each in other_facts(right))


def _near_number(right: float) -> Iterator[Wrong]:
    yield "near_number", right + 1
    yield "near_number", right - 1
    yield "number_off", 0
    yield "number_off", -right
    yield "number_off", right * 2 + 10
    if isinstance(right, int):
        yield "number_off", right + max(2, abs(right) // 10)
    else:
        yield "number_off", right * 1.1 + 0.5


def shifted(moment: str) -> Iterator[str]:
    """A moment a minute, an hour and a day later, and a day earlier, written alike."""
    match = _MOMENT.fullmatch(moment)
    if match is None:
        return
    day, mark, clock, rest = match.groups()
    written = day if clock is None else f"{day} {clock}"
    start = datetime.fromisoformat(written)  # which offset it has is of no account for a step
    steps = () if clock is None else (timedelta(hours=1), timedelta(minutes=1))
    for step in (*steps, timedelta(days=1), timedelta(days=-1)):
        try:
            later = start + step
        except OverflowError:
            continue
        text = later.isoformat(" ")[: len(written)]
        yield text if clock is None else text.replace(" ", mark) + rest


def other_facts(text: str) -> Iterator[str]:
    """The text with one of its facts replaced by one that looks alike, for each of them."""
    for match in _FACT.finditer(text):
        fact = match[0]
        numbers = list(_NUMBER.finditer(fact))
        if numbers:
            last = numbers[-1]
            number = str(int(last[0]) + 1).zfill(len(last[0]))
            other = fact[: last.start()] + number + fact[last.end() :]
        else:
            other = "OTHER" if fact != "OTHER" else "ANOTHER"
        yield text[: match.start()] + other + text[match.end() :]
    for match in _FACT.finditer(text):
        yield text[: match.start()] + text[match.end() :]


def random_text(rng: Random) -> str:
    """A text that nobody would write."""
    return " ".join("".join(rng.choices("bcdfghklmnpqrstvwz", k=7)) for _ in range(3))
