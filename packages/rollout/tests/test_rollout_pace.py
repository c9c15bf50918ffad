"""The pace: cut once a round when an endpoint pushes back, one more a round when it does not."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.rollout.pace import Pace, pushed_back


def test_a_round_without_pushback_gives_one_more_and_a_pushback_halves() -> None:
    pace = Pace(1, 16)
    pace.settle(pace.mark, pushed_back=True)
    assert (pace.limit, pace.paced.cuts) == (8, 1)
    for _ in range(9):
        pace.settle(pace.mark, pushed_back=False)
    assert pace.limit == 9
    assert pace.limiter.total_tokens == 9


def test_what_began_before_a_cut_does_not_cut_again() -> None:
    pace = Pace(1, 16)
    before = pace.mark
    for _ in range(16):
        pace.settle(before, pushed_back=True)
    assert pace.paced.cuts == 1
    assert pace.limit == 8


@given(low=st.integers(1, 50), high=st.integers(1, 50), signals=st.lists(st.booleans()))
@settings(max_examples=100)
def test_it_keeps_its_bounds(low: int, high: int, signals: list[bool]) -> None:
    pace = Pace(low, high)
    for signal in signals:
        pace.settle(pace.mark, pushed_back=signal)
        assert min(low, high) <= pace.limit <= high
    assert min(low, high) <= pace.paced.lowest <= high


def test_what_counts_as_pushback() -> None:
    def row(error: str | None = None, **counts: int) -> dict[str, Any]:
        told = None if error is None else {"type": "E", "message": "", "phase": error}
        return {"error": told, "traffic": {"policy": counts}}

    assert pushed_back(row("policy"))
    assert pushed_back(row("judge"))
    assert pushed_back(row(rate_limited=1))
    assert pushed_back(row(server_errors=2))
    assert not pushed_back(row("tool"))
    assert not pushed_back(row(requests=5, retries=1))
