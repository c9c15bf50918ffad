"""Intervals: inside their bounds, the same for a seed, and as statsmodels and scipy have them."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.eval.metrics import intervals
from outcomebox.eval.metrics.intervals import bootstrap, cluster_t, jeffreys, wilson, within_tasks

ORACLES = json.loads((Path(__file__).parent / "cases" / "metrics_oracles.json").read_text("utf-8"))

rates = st.lists(st.sampled_from([0, 0.05, 0.25, 0.5, 0.9, 1]), min_size=2, max_size=12)


@pytest.mark.parametrize(("c", "n", "level", "low", "high"), ORACLES["wilson"]["rows"])
def test_wilson_as_statsmodels_has_it(
    c: int, n: int, level: float, low: float, high: float
) -> None:
    found = wilson(c, n, level)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-10)


@pytest.mark.parametrize(("c", "n", "level", "low", "high"), ORACLES["jeffreys"]["rows"])
def test_jeffreys_as_statsmodels_has_it(
    c: int, n: int, level: float, low: float, high: float
) -> None:
    assert jeffreys([c], [n], level)[0].tolist() == pytest.approx([low, high], abs=1e-10)


@given(st.integers(1, 2000), st.data())
@settings(max_examples=100, deadline=None)
def test_shares_lie_inside_their_intervals(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    found = wilson(c, n)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= c / n <= found.high <= 1
    assert (found.low == 0) == (c == 0)
    assert (found.high == 1) == (c == n)
    mirrored = wilson(n - c, n)
    assert mirrored.low == pytest.approx(1 - found.high, abs=1e-12)
    low, high = jeffreys([c], [n])[0]
    assert 0 < low < high < 1


def test_no_share_of_nothing() -> None:
    assert wilson(0, 0).low is None
    assert np.isnan(jeffreys([0], [0])).all()
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


def test_t_as_statsmodels_has_it() -> None:
    told = ORACLES["t"]
    found = cluster_t(told["values"])
    assert (found.low, found.high, found.se) == pytest.approx(
        (told["low"], told["high"], told["se"])
    )


def test_t_over_tasks_is_the_cluster_robust_error() -> None:
    told = ORACLES["cluster"]
    number = len(told["passed"])
    found = cluster_t(np.asarray(told["passed"]) / told["clean"])
    assert found.se == pytest.approx(told["se"] * math.sqrt(number / (number - 1)))


def test_bootstrap_as_scipy_has_it() -> None:
    told = ORACLES["bootstrap"]
    found = bootstrap(told["values"], resamples=100_000)
    assert (found.low, found.high) == pytest.approx((told["low"], told["high"]), abs=4e-3)
    assert found.se == pytest.approx(told["se"], rel=0.02)


def test_tail_is_wider_for_few_tasks_and_plain_for_many() -> None:
    assert 1 - 2 * intervals.tail_of(23, 1, 0.95) == pytest.approx(ORACLES["bootstrap"]["level"])
    tails = [intervals.tail_of(tasks, 1, 0.95) for tasks in (2, 3, 5, 10, 100, 100_000)]
    assert tails == sorted(tails)
    assert tails[-1] == pytest.approx(0.025, abs=1e-4)


def test_bootstrap_against_all_resamples() -> None:
    # 3^3 resamples of three tasks, each as likely.
    values = [0.0, 0.5, 1.0]
    exact = np.array([np.mean(draw) for draw in product(values, repeat=3)])
    found = bootstrap(values, resamples=20_000)
    assert found.se == pytest.approx(exact.std(), rel=0.03)
    assert (found.low, found.high) == (0.0, 1.0)


@given(rates, st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_population_intervals_are_sound(values: list[float], seed: int) -> None:
    labels = ["ab"[at % 2] for at in range(len(values))]
    found = bootstrap(values, labels, seed=seed, resamples=300)
    again = bootstrap(values, labels, seed=seed, resamples=300)
    by_t = cluster_t(values, labels)
    assert found == again
    for each in (found, by_t):
        assert each.low is not None
        assert each.high is not None
        assert 0 <= each.low <= np.mean(values) + 1e-12
        assert np.mean(values) - 1e-12 <= each.high <= 1
        if len(set(values)) == 1:
            assert each.se == pytest.approx(0, abs=1e-12)


def test_another_seed_gives_other_digits() -> None:
    values = np.linspace(0, 1, 40) ** 2
    one, other = bootstrap(values, seed=1), bootstrap(values, seed=2)
    assert one.se != other.se
    ideal = float(np.sqrt(np.sum((values - values.mean()) ** 2))) / len(values)
    for each in (one, other):
        assert each.se == pytest.approx(ideal, rel=0.03)


def test_strata_take_the_spread_between_domains_out() -> None:
    values = np.concatenate([np.full(50, 0.1), np.full(50, 0.9)])
    labels = ["a"] * 50 + ["b"] * 50
    assert bootstrap(values, labels).se == pytest.approx(0, abs=1e-12)
    pooled = bootstrap(values)
    assert pooled.se == pytest.approx(0.04, rel=0.05)
    # Sum of w^2 p (1 - p) / (n - 1): domains of one attempt a task.
    passed = np.concatenate([np.ones(30), np.zeros(70), np.ones(180), np.zeros(120)])
    found = cluster_t(passed, ["a"] * 100 + ["b"] * 300)
    assert found.se == pytest.approx(0.024168, abs=1e-6)


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=15))
@settings(max_examples=100, deadline=None)
def test_strata_part_the_tasks(labels: list[str]) -> None:
    strata = intervals.strata_of(labels)
    assert sorted(place for places in strata for place in places) == [*range(len(labels))]
    assert all(len(places) > 1 for places in strata) or len(labels) == 1
    assert all([*places] == sorted(places) for places in strata)


def test_draws_of_many_tasks_come_in_blocks() -> None:
    tasks, draws = 5000, 1000
    strata = intervals.strata_of(["a", "b"] * (tasks // 2))
    blocks = [*intervals.Resampler(strata, 0, draws).blocks()]
    assert len(blocks) > 1
    weights = np.concatenate(blocks, axis=1)
    assert weights.shape == (tasks, draws)
    for places in strata:
        assert (weights[places].sum(axis=0) == len(places)).all()


def test_these_tasks_vary_by_luck_alone() -> None:
    # Tasks that always do the same have no luck, however they differ.
    found = within_tasks([4, 0], [4, 4])
    assert (found.low, found.high, found.se) == (0.5, 0.5, 0.0)
    found = within_tasks([10] * 100, [20] * 100)
    assert found.se == pytest.approx(math.sqrt(0.25 / 19 / 100))
    assert within_tasks([1, 4], [1, 4]).low is None
    assert within_tasks([], []).low is None


def test_one_task_says_nothing_of_others() -> None:
    for found in (bootstrap([0.7]), cluster_t([0.7])):
        assert (found.low, found.high) == (None, None)
        assert found.note == intervals.ONE_TASK
    for found in (bootstrap([]), cluster_t([])):
        assert found.note == intervals.NO_TASK


def test_t_is_cut_to_its_bounds() -> None:
    found = cluster_t([1, 1, 1, 0.5])
    assert found.low == pytest.approx(0.477194, abs=1e-6)
    assert found.high == 1.0
    assert cluster_t([2, 4, 9], bounds=(-math.inf, math.inf)).high > 9  # type: ignore[operator]
