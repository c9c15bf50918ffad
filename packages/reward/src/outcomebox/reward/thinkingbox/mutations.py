"""Scripted agents that do the golden calls, or do them wrong in one stated way.

A check is worth what it catches: the golden calls have to pass, and a trajectory that leaves one
change out, or makes one twice, has to fail. *Mutating* calls are those after which the state is
another; the replay finds them by looking, not by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from outcomebox.sandbox import InputError

Kind = Literal["golden", "noop", "drop", "double"]
_FORM = re.compile(r"(drop|double)(?:-(last)|:(each|[1-9][0-9]*))\Z")
POLICIES = "golden, noop, drop-last, double-last, drop:N, double:N, drop:each, double:each"


class MutationError(InputError):
    """A policy that is none."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a scripted agent does.

    Attributes:
        kind: ``golden``: all golden calls. ``noop``: none. ``drop``: all but one mutating call.
            ``double``: all, and one mutating call once more at the end.
        which: The mutating call, counted from 1; -1 for the last, None for each in turn.
    """

    kind: Kind
    which: int | None = None

    @property
    def mutates(self) -> bool:
        """Whether the mutating calls have to be known."""
        return self.kind in {"drop", "double"}

    def __str__(self) -> str:
        """As :func:`parse_policy` reads it."""
        if not self.mutates:
            return self.kind
        if self.which == -1:
            return f"{self.kind}-last"
        return f"{self.kind}:{'each' if self.which is None else self.which}"


@dataclass(frozen=True, slots=True)
class Variant:
    """One trajectory.

    Attributes:
        name: What it is, such as ``golden`` or ``drop:2``.
        calls: Indices of the golden calls, in the order in which they are made.
    """

    name: str
    calls: tuple[int, ...]


def parse_policy(text: str) -> Policy:
    """A policy by its name.

    Raises:
        MutationError: It is none of them.
    """
    if text in {"golden", "noop"}:
        return Policy("golden" if text == "golden" else "noop")
    match = _FORM.match(text)
    if match is None:
        raise MutationError(f"no such policy; write one of {POLICIES}", field="policy", value=text)
    kind: Kind = "drop" if match[1] == "drop" else "double"
    if match[2]:
        return Policy(kind, -1)
    return Policy(kind, None if match[3] == "each" else int(match[3]))


def variants(policy: Policy, golden: int, mutating: Sequence[int]) -> Iterator[Variant]:
    """The trajectories of a policy on one task; none where the task has no such call.

    Args:
        policy: The policy.
        golden: Number of the task's golden calls.
        mutating: Indices of those that change the state, ascending.
    """
    every = tuple(range(golden))
    if not policy.mutates:
        yield Variant(policy.kind, every if policy.kind == "golden" else ())
        return
    if policy.which is None:
        places = list(range(len(mutating)))
    elif policy.which == -1:
        places = [len(mutating) - 1] if mutating else []
    else:
        places = [policy.which - 1] if policy.which <= len(mutating) else []
    for place in places:
        index = mutating[place]
        if policy.kind == "drop":
            calls = tuple(number for number in every if number != index)
        else:
            calls = (*every, index)
        yield Variant(f"{policy.kind}:{place + 1}", calls)
