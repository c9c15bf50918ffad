"""Drawing tasks: the same seed gives the same tasks, and as many as are wanted.

The families take turns. Every seventh task is one whose right end is no change, so that at most
one in seven is, however many are drawn: a policy that does nothing passes those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count as counting
from itertools import islice
from random import Random

from outcomebox.sandbox.domains.desk.generating.acts import expected
from outcomebox.sandbox.domains.desk.generating.families import FAMILIES, Family, Wish
from outcomebox.sandbox.domains.desk.generating.records import draw_records
from outcomebox.sandbox.domains.desk.generating.sides import (
    Side,
    side_of_digests,
    state_digest,
    text_digest,
)
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.task import Limits, Task

DOMAIN = "desk"

_NO_CHANGE_EVERY = 7
_TURNS = 8
_OPENERS = ("", "", "hi, ", "hello, ")
_PATIENCE = 10_000


@dataclass(frozen=True)
class Drawn:
    """A task with what it was made from.

    Attributes:
        task: The task.
        wish: Its heart: what is asked, what does it right, and what would be tempting.
    """

    task: Task
    wish: Wish


def generate(
    seed: int, count: int, families: Sequence[str] = tuple(FAMILIES), *, side: Side | None = None
) -> list[Task]:
    """Tasks of the desk.

    Args:
        seed: The same seed gives the same tasks; with a larger ``count``, the same ones first.
        count: How many.
        families: Names of the families to draw from.
        side: Only tasks of this side; without it, of both and of none.

    Raises:
        InputError: There is no such family, those that are named all end without a change, or
            there are not that many different tasks.
    """
    return [drawn.task for drawn in islice(draws(seed, families, side=side), count)]


def draws(
    seed: int, families: Sequence[str] = tuple(FAMILIES), *, side: Side | None = None
) -> Iterator[Drawn]:
    """The tasks of a seed without end, each once; see :func:`generate`."""
    turns = _turns([_family(name) for name in families])
    seen: set[str] = set()
    for number, family in enumerate(turns):
        rng = Random(f"desk/{seed}/{number}/{family.name}")
        for _ in range(_PATIENCE):
            drawn = _draw(rng, family, side)
            if drawn is not None and drawn.task.uid not in seen:
                break
        else:
            raise InputError(
                f"no further task of this family was found in {_PATIENCE} draws; ask for fewer",
                field="count",
                value=number + 1,
            )
        seen.add(drawn.task.uid)
        yield drawn


def _family(name: str) -> Family:
    if name not in FAMILIES:
        raise InputError(
            f"no such family; there are {', '.join(FAMILIES)}", field="families", value=name
        )
    return FAMILIES[name]


def _turns(families: Sequence[Family]) -> Iterator[Family]:
    changing = [family for family in families if not family.no_change]
    others = [family for family in families if family.no_change]
    if not changing:
        raise InputError(
            "at most one task in seven may end without a change; name a family that changes "
            "something too",
            field="families",
            value=[family.name for family in families],
        )
    if not others:
        return (changing[number % len(changing)] for number in counting())
    return (
        others[number // _NO_CHANGE_EVERY % len(others)]
        if number % _NO_CHANGE_EVERY == _NO_CHANGE_EVERY - 1
        else changing[(number - number // _NO_CHANGE_EVERY) % len(changing)]
        for number in counting()
    )


def _draw(rng: Random, family: Family, side: Side | None) -> Drawn | None:
    """One draw; None where it is not on the side."""
    records = draw_records(rng)
    wish = family.draw(rng, records)
    said = rng.choice(_OPENERS) + wish.words
    query = f"{said[0].upper()}{said[1:]}."
    init = records.init()
    text, state = text_digest(query), state_digest(init)
    if side is not None and side_of_digests(text, state) != side:
        return None
    task = Task(
        uid=f"{DOMAIN}/{family.name}/{text[:5]}{state[:7]}",
        domain=DOMAIN,
        family=family.name,
        query=query,
        init=init,
        golden=wish.golden,
        expect=expected(wish.acts),
        tags=family.tags,
        limits=Limits(turns=_TURNS),
    )
    return Drawn(task, wish)
