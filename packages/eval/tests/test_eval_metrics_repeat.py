"""What attempts say of the next ones, against scipy and against whole enumeration."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.eval.metrics import repeat

ORACLES = json.loads((Path(__file__).parent / "cases" / "metrics_oracles.json").read_text("utf-8"))


@pytest.mark.parametrize(("c", "n", "at_least", "again"), ORACLES["posterior"]["rows"])
def test_posterior_as_scipy_has_it(c: int, n: int, at_least: float, again: float) -> None:
    assert repeat.at_least([c], [n])[0] == pytest.approx(at_least, rel=1e-9)
    assert repeat.again([c], [n], n)[0] == pytest.approx(again, rel=1e-9)


def test_a_task_that_always_passed_may_not_do_so_again() -> None:
    again = repeat.again([20, 19, 10], [20, 20, 20], 20)
    assert again.tolist() == pytest.approx([0.70932, 0.35017, 0.000126892], abs=1e-6)
    assert again.sum() == pytest.approx(1.059617, abs=1e-6)
    assert np.isnan(repeat.again([0], [0], 20)[0])
    assert np.isnan(repeat.at_least([0], [0])[0])


def test_count_interval_as_scipy_has_it() -> None:
    told = ORACLES["count"]
    assert [*repeat.count_interval(told["chances"], 0.95)] == told["95"]
    assert [*repeat.count_interval(told["chances"], 0.90)] == told["90"]


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.93, 1.0]), max_size=9))
@settings(max_examples=80, deadline=None)
def test_count_interval_against_all_outcomes(chances: list[float]) -> None:
    mass = np.zeros(len(chances) + 1)
    for outcome in product((0, 1), repeat=len(chances)):
        mass[sum(outcome)] += np.prod(
            [chance if won else 1 - chance for chance, won in zip(chances, outcome, strict=True)]
        )
    low, high = repeat.count_interval(chances, 0.9)
    assert 0 <= low <= high <= len(chances)
    assert mass[low : high + 1].sum() >= 0.9 - 1e-9
    assert mass[:low].sum() <= 0.05 + 1e-9
    assert mass[high + 1 :].sum() <= 0.05 + 1e-9


def test_bands_are_those_of_greatest_mass() -> None:
    found = repeat.bands(range(9), [8] * 9)
    assert found == [
        "rarely_solved",
        *["difficult"] * 3,
        "intermediate",
        *["frequently_solved"] * 3,
        "nearly_always_solved",
    ]
    assert repeat.bands([0, 3, 3], [0, 3, 4]) == [None, None, "frequently_solved"]
    assert repeat.bands([], []) == []
