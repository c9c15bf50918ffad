"""pass@k, pass^k and what was observed, against counting all subsets and against scorio."""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.eval.metrics import rates

ORACLES = json.loads((Path(__file__).parent / "cases" / "metrics_oracles.json").read_text("utf-8"))

outcomes = st.lists(st.booleans(), min_size=1, max_size=9)


@given(outcomes, st.integers(1, 9))
@settings(max_examples=150, deadline=None)
def test_rates_are_the_shares_of_all_subsets(attempts: list[bool], k: int) -> None:
    at = float(rates.pass_at_k([sum(attempts)], [len(attempts)], k)[0])
    hat = float(rates.pass_hat_k([sum(attempts)], [len(attempts)], k)[0])
    if k > len(attempts):
        assert math.isnan(at)
        assert math.isnan(hat)
        return
    subsets = [*combinations(attempts, k)]
    assert at == pytest.approx(np.mean([any(subset) for subset in subsets]), abs=1e-12)
    assert hat == pytest.approx(np.mean([all(subset) for subset in subsets]), abs=1e-12)


@given(st.integers(1, 40), st.data())
@settings(max_examples=60, deadline=None)
def test_more_attempts_help_any_and_hurt_all(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    at = [float(rates.pass_at_k([c], [n], k)[0]) for k in range(1, n + 1)]
    hat = [float(rates.pass_hat_k([c], [n], k)[0]) for k in range(1, n + 1)]
    assert at == sorted(at)
    assert hat == sorted(hat, reverse=True)
    assert at[0] == pytest.approx(c / n, abs=1e-15)
    assert hat[0] == pytest.approx(c / n, abs=1e-15)
    assert all(0 <= each <= 1 for each in (*at, *hat))
    # With all attempts drawn it is the plain fact.
    assert at[-1] == (1 if c else 0)
    assert hat[-1] == (1 if c == n else 0)


@given(st.integers(1, 60), st.data())
@settings(max_examples=100, deadline=None)
def test_any_of_failures_is_none_of_passes(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, 60))
    at, hat = rates.pass_at_k([c], [n], k), rates.pass_hat_k([n - c], [n], k)
    np.testing.assert_allclose(at, 1 - hat, atol=1e-12)


def test_rates_as_another_library_has_them() -> None:
    told = ORACLES["scorio"]
    clean = [told["clean"]] * len(told["passed"])
    for k, value in told["pass_at_k"].items():
        assert rates.mean(rates.pass_at_k(told["passed"], clean, int(k))) == pytest.approx(value)
    for k, value in told["pass_hat_k"].items():
        assert rates.mean(rates.pass_hat_k(told["passed"], clean, int(k))) == pytest.approx(value)


def test_exact_where_it_must_be() -> None:
    # The least and the greatest that there is, with counts that overflow binomials.
    n = 3000
    assert rates.pass_at_k([0, n], [n, n], n).tolist() == [0.0, 1.0]
    assert rates.pass_hat_k([0, n], [n, n], n).tolist() == [0.0, 1.0]
    assert rates.pass_hat_k([n - 1], [n], 1500)[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("passed", "clean", "due", "every", "some"),
    [
        (4, 4, 4, 1, 1),
        (0, 4, 4, 0, 0),
        (1, 1, 4, None, 1),  # 1/1 is not 4/4
        (3, 3, 4, None, 1),
        (0, 3, 4, 0, None),
        (2, 3, 4, 0, 1),
        (0, 0, 4, None, None),
    ],
)
def test_observed_is_undecided_until_it_is_certain(
    passed: int, clean: int, due: int, every: float | None, some: float | None
) -> None:
    for found, wanted in (
        (rates.all_of_k([passed], [clean], due)[0], every),
        (rates.any_of_k([passed], [clean], due)[0], some),
    ):
        assert (None if math.isnan(found) else found) == wanted


def test_means_say_what_they_are_over() -> None:
    values = rates.pass_hat_k([3, 4, 2], [3, 4, 4], 4)
    assert rates.mean(values) is None
    assert rates.mean_of_defined(values) == (0.5, 2)
    assert rates.mean([]) is None
    assert rates.mean_of_defined([]) == (None, 0)


def test_what_is_no_count_is_refused() -> None:
    with pytest.raises(ValueError, match="k is 0"):
        rates.pass_at_k([1], [2], 0)
    for passed, clean in ((3, 2), (-1, 2), (math.nan, 2)):
        with pytest.raises(ValueError, match="between 0 and"):
            rates.pass_hat_k([passed], [clean], 1)
