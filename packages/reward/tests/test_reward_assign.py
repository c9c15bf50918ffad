"""The two assignment problems against brute force."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from outcomebox.reward.assign import cheapest_assignment, complete_matching


@st.composite
def matrices(draw: st.DrawFn) -> list[list[int]]:
    rows = draw(st.integers(0, 5))
    width = draw(st.integers(rows, 6))
    return [[draw(st.integers(-5, 5)) for _ in range(width)] for _ in range(rows)]


@given(matrices())
def test_the_cheapest_assignment_is_the_cheapest(costs: list[list[int]]) -> None:
    found = cheapest_assignment(costs)
    assert len(set(found)) == len(found) == len(costs)
    total = sum(line[partner] for line, partner in zip(costs, found, strict=True))
    width = len(costs[0]) if costs else 0
    assert total == min(
        sum(line[partner] for line, partner in zip(costs, choice, strict=True))
        for choice in permutations(range(width), len(costs))
    )


@given(matrices(), st.integers(-5, 5))
def test_a_complete_matching_is_found_whenever_there_is_one(
    costs: list[list[int]], limit: int
) -> None:
    options = [[at for at, cost in enumerate(line) if cost <= limit] for line in costs]
    found = complete_matching(options)
    width = len(costs[0]) if costs else 0
    possible = any(
        all(partner in line for partner, line in zip(choice, options, strict=True))
        for choice in permutations(range(width), len(costs))
    )
    assert (found is not None) == possible
    if found is not None:
        assert len(set(found)) == len(costs)
        assert all(partner in line for partner, line in zip(found, options, strict=True))


@given(matrices())
def test_a_condition_counts_like_a_missing_option(costs: list[list[int]]) -> None:
    every = [list(range(len(line))) for line in costs]
    by_condition = complete_matching(every, lambda row, partner: costs[row][partner] <= 0)
    by_option = complete_matching([[at for at, c in enumerate(line) if c <= 0] for line in costs])
    assert by_condition == by_option


def test_a_long_chain_of_hand_overs_needs_no_deep_stack() -> None:
    size = 3000
    options = [[row, row + 1] for row in range(size)] + [[0]]
    assert complete_matching(options) == [*range(1, size + 1), 0]
