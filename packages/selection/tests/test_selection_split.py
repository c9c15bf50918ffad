"""The split: complete, disjoint, stratified, and the same for any order."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.selection.split import Member, held_out_quotas, split_pool

fractions = st.integers(0, 99).map(lambda percent: percent / 100)
members = st.lists(
    st.tuples(st.text(min_size=1, max_size=4), st.sampled_from("xyz"), st.sampled_from("pq")),
    unique_by=lambda item: item[0],
    max_size=40,
).map(lambda items: [Member(uid, (domain, band)) for uid, domain, band in items])
grouped = st.lists(
    st.tuples(st.text(min_size=1, max_size=4), st.sampled_from("xy"), st.sampled_from("abcde")),
    unique_by=lambda item: item[0],
    max_size=30,
).map(lambda items: [Member(uid, (domain,), domain + group) for uid, domain, group in items])


@given(members, fractions, st.integers(0, 5), st.randoms())
def test_complete_and_the_same_for_any_order(
    pool: list[Member], fraction: float, seed: int, random: Any
) -> None:
    sides = split_pool(pool, fraction, seed)
    assert sides.keys() == {member.uid for member in pool}
    assert set(sides.values()) <= {"train", "test"}
    shuffled = list(pool)
    random.shuffle(shuffled)
    assert split_pool(shuffled, fraction, seed) == sides


@given(members, fractions, st.integers(0, 5))
def test_the_share_is_the_one_asked_for_in_every_stratum(
    pool: list[Member], fraction: float, seed: int
) -> None:
    sides = split_pool(pool, fraction, seed)
    held = Counter(member.stratum for member in pool if sides[member.uid] == "test")
    exact = Fraction(repr(fraction))
    total = sum(held.values())
    nearest = math.floor(exact * len(pool) + Fraction(1, 2))
    if fraction and len(pool) >= 2:
        nearest = min(max(nearest, 1), len(pool) - 1)
    assert total == nearest
    for stratum, size in Counter(member.stratum for member in pool).items():
        assert abs(held[stratum] - exact * size) < 1


def test_quotas_by_largest_remainder() -> None:
    sizes: dict[tuple[str, ...], int] = {("a",): 7, ("b",): 4, ("c",): 4}
    # 1.4, .8 and .8 of 3: the two large remainders get the two left over.
    assert held_out_quotas(sizes, Fraction(1, 5)) == {("a",): 1, ("b",): 1, ("c",): 1}
    assert held_out_quotas({("a",): 5}, Fraction(1, 10)) == {("a",): 1}
    assert held_out_quotas({("a",): 100}, Fraction("0.29")) == {("a",): 29}
    assert held_out_quotas({("a",): 1}, Fraction("0.9")) == {("a",): 1}


def test_the_fraction_is_the_decimal_that_was_written() -> None:
    # As a binary number .35 is a little less, and 3.5 tasks of 10 would round down.
    sides = split_pool([Member(f"t{n}", ()) for n in range(10)], 0.35, 0)
    assert list(sides.values()).count("test") == 4


def test_another_seed_gives_another_split() -> None:
    pool = [Member(f"t{n}", ()) for n in range(40)]
    splits = {frozenset(split_pool(pool, 0.5, seed).items()) for seed in range(6)}
    assert len(splits) == 6


def test_a_known_split_stays_what_it_is() -> None:
    # On another machine or Python the same seed must give the same pool. These three have the
    # smallest SHA-256 of `[7, "t0"]`, `[7, "t1"]` ...
    pool = [Member(f"t{n}", ()) for n in range(10)]
    sides = split_pool(pool, 0.3, 7)
    assert sorted(uid for uid, side in sides.items() if side == "test") == ["t1", "t4", "t9"]


def test_a_task_more_moves_few_others() -> None:
    pool = [Member(f"t{n}", ()) for n in range(50)]
    before = split_pool(pool, 0.2, 0)
    after = split_pool([*pool, Member("new", ())], 0.2, 0)
    assert sum(before[uid] != after[uid] for uid in before) <= 1


@given(grouped, st.integers(1, 90), st.integers(0, 5), st.randoms())
def test_groups_stay_whole(pool: list[Member], percent: int, seed: int, random: Any) -> None:
    sides = split_pool(pool, percent / 100, seed)
    assert sides.keys() == {member.uid for member in pool}
    by_group: dict[str | None, set[str]] = {}
    for member in pool:
        by_group.setdefault(member.group, set()).add(sides[member.uid])
    assert all(len(found) == 1 for found in by_group.values())
    if len(by_group) >= 2:
        assert set(sides.values()) == {"train", "test"}
    shuffled = list(pool)
    random.shuffle(shuffled)
    assert split_pool(shuffled, percent / 100, seed) == sides


def test_equal_groups_reach_the_share_asked_for() -> None:
    pool = [Member(f"{group}{n}", (), group) for group in "abcdefghij" for n in range(3)]
    assert Counter(split_pool(pool, 0.3, 1).values()) == {"train": 21, "test": 9}


def test_what_cannot_be_split_is_refused() -> None:
    with pytest.raises(ValueError, match="stands twice"):
        split_pool([Member("a", ()), Member("a", ("x",))], 0.2, 0)
    with pytest.raises(ValueError, match="less than 1"):
        split_pool([Member("a", ())], 1.0, 0)
