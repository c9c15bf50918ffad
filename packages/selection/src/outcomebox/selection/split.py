"""Parts a pool into train and test.

Who goes where is decided by SHA-256 of (seed, uid), never by the order of a list, so that the same
pool and seed give the same split on every machine. Shares are exact fractions: a floating-point
product must not decide whether a stratum gets one task more.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import NamedTuple

from outcomebox.selection.decision import Side

Stratum = tuple[str, ...]


class Member(NamedTuple):
    """One task of a pool as the split sees it.

    Attributes:
        uid: its name, unique in the pool.
        stratum: what both sides get in equal shares.
        group: members of one group stay on one side; None for a task of its own.
    """

    uid: str
    stratum: Stratum
    group: str | None = None


def split_pool(members: Iterable[Member], test_fraction: float, seed: int) -> dict[str, Side]:
    """Gives every member a side.

    The test side gets `test_fraction` of the pool, rounded to the nearest task, and each stratum's
    share of it by largest remainder. A pool of two or more has a task on both sides unless
    `test_fraction` is 0. Where members have groups, whole groups are moved, in hashed order, as
    long as each brings the shares of the strata nearer to what is asked; the share reached can
    then differ from the one asked for.

    Args:
        members: the pool.
        test_fraction: 0 or more and less than 1.
        seed: another seed gives another split.

    Returns:
        uid to side, for every member.

    Raises:
        ValueError: if a uid stands twice or `test_fraction` is out of range.
    """
    ordered = sorted(members, key=lambda member: _rank(seed, member.uid))
    if len({member.uid for member in ordered}) != len(ordered):
        raise ValueError("a uid stands twice in the pool")
    if not 0 <= test_fraction < 1:
        raise ValueError(f"test_fraction must be 0 or more and less than 1, not {test_fraction}")
    fraction = Fraction(repr(float(test_fraction)))
    if any(member.group is not None for member in ordered):
        test = _whole_groups(ordered, fraction, seed)
    else:
        test = _by_strata(ordered, fraction, seed)
    return {member.uid: "test" if member.uid in test else "train" for member in ordered}


def _rank(seed: int, *names: str) -> bytes:
    return hashlib.sha256(json.dumps([seed, *names]).encode()).digest()


def _by_strata(ordered: Sequence[Member], fraction: Fraction, seed: int) -> set[str]:
    strata: dict[Stratum, list[str]] = defaultdict(list)
    for member in ordered:
        strata[member.stratum].append(member.uid)
    quotas = held_out_quotas({name: len(uids) for name, uids in strata.items()}, fraction, seed)
    return {uid for name, uids in strata.items() for uid in uids[: quotas[name]]}


def held_out_quotas(
    sizes: Mapping[Stratum, int], fraction: Fraction, seed: int = 0
) -> dict[Stratum, int]:
    """How many tasks of each stratum go to the test side, by largest remainder.

    Args:
        sizes: tasks in each stratum.
        fraction: share of the test side.
        seed: decides between equal remainders.

    Returns:
        Each within one task of `fraction * size`; their sum is `fraction` of all, rounded half up,
        and from 2 tasks on at least 1 and not all.
    """
    total = sum(sizes.values())
    wanted = floor(fraction * total + Fraction(1, 2))
    if fraction and total >= 2:
        wanted = min(max(wanted, 1), total - 1)
    quotas = {name: floor(fraction * size) for name, size in sizes.items()}
    by_remainder = sorted(
        sizes, key=lambda name: (quotas[name] - fraction * sizes[name], _rank(seed, *name))
    )
    for name in by_remainder[: max(0, wanted - sum(quotas.values()))]:
        quotas[name] += 1
    return quotas


def _whole_groups(ordered: Sequence[Member], fraction: Fraction, seed: int) -> set[str]:
    groups: dict[tuple[str, ...], list[Member]] = defaultdict(list)
    for member in ordered:
        groups[("task", member.uid) if member.group is None else ("group", member.group)].append(
            member
        )
    sizes = Counter(member.stratum for member in ordered)
    content = {name: Counter(m.stratum for m in members) for name, members in groups.items()}
    names = sorted(groups, key=lambda name: _rank(seed, *name))

    def distance(test: Counter[Stratum]) -> Fraction:
        return sum((abs(test[name] - fraction * size) for name, size in sizes.items()), Fraction())

    chosen: list[tuple[str, ...]] = []
    test: Counter[Stratum] = Counter()
    for name in names:
        if len(chosen) + 1 < len(names) and distance(test + content[name]) < distance(test):
            chosen.append(name)
            test += content[name]
    if not chosen and fraction and len(names) > 1:
        chosen = [min(names, key=lambda name: distance(content[name]))]
    return {member.uid for name in chosen for member in groups[name]}
