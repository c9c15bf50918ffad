"""Posterior, bands and mixed groups against stated numbers and a second way to compute them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from outcomebox.selection import (
    BAND_NAMES,
    DEFAULT_EDGES,
    band_index,
    band_masses,
    interval,
    make_bands,
    mixed_chance,
    posterior_mean,
    settled,
)

counts = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
inner_edges = st.lists(
    st.floats(0.01, 0.99, allow_nan=False), min_size=4, max_size=4, unique=True
).map(sorted)


def density(p: float, k: int, n: int) -> float:
    """Jeffreys posterior density from its definition."""
    a, b = k + 0.5, n - k + 0.5
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp((a - 1) * math.log(p) + (b - 1) * math.log1p(-p) - log_beta)


def test_three_passes_of_eight_are_difficult_with_54_percent() -> None:
    masses = band_masses([3], [8])[0]
    assert [f"{mass:.4f}" for mass in masses] == ["0.0072", "0.5396", "0.3549", "0.0982", "0.0001"]
    assert BAND_NAMES[int(band_index(masses))] == "difficult"
    assert f"{masses.max():.1%}" == "54.0%"


def test_bands_of_zero_to_eight_passes_of_eight() -> None:
    winners = band_index(band_masses(range(9), [8] * 9))
    assert winners.tolist() == [0, 1, 1, 1, 2, 3, 3, 3, 4]


def test_chance_of_a_mixed_group_of_eight() -> None:
    row = [f"{chance:.3f}" for chance in mixed_chance(range(9), [8] * 9, 8)]
    expected = [".287", ".655", ".844", ".930", ".955", ".930", ".844", ".655", ".287"]
    assert row == [f"0{text}" for text in expected]


def test_jeffreys_intervals_are_raw_quantiles() -> None:
    ends = interval([1, 0, 30, 1, 29], [1, 30, 30, 30, 30])
    assert ends[0] == pytest.approx([0.146746, 0.999614], abs=5e-7)
    assert ends[1] == pytest.approx([1.62319e-05, 0.079678], rel=1e-4)
    assert ends[2] == pytest.approx([0.920322, 1 - 1.62319e-05], rel=1e-6)
    assert ends[3] == pytest.approx([0.00362, 0.145418], abs=5e-7)
    assert ends[4] == pytest.approx([0.854582, 0.99638], abs=5e-7)


@given(counts)
def test_masses_sum_to_one(count: tuple[int, int]) -> None:
    masses = band_masses([count[0]], [count[1]])[0]
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    assert (masses >= 0).all()


@given(counts, inner_edges)
def test_masses_sum_to_one_for_any_edges(count: tuple[int, int], inner: list[float]) -> None:
    edges = [0.0, *inner, 1.0]
    assert len(make_bands(edges)) == 5
    assert band_masses([count[0]], [count[1]], edges).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(0, 4), (1, 4), (3, 8), (4, 8), (7, 8), (8, 8), (11, 20)])
def test_masses_are_integrals_of_the_density(k: int, n: int) -> None:
    masses = band_masses([k], [n])[0]
    for mass, (low, high) in zip(masses, pairwise(DEFAULT_EDGES), strict=True):
        area, _ = integrate.quad(density, low, high, args=(k, n), limit=200)
        assert mass == pytest.approx(area, abs=2e-7)


@given(counts)
def test_band_masses_mirror_when_edges_do(count: tuple[int, int]) -> None:
    k, n = count
    edges = (0.0, 0.1, 0.4, 0.6, 0.9, 1.0)
    there = band_masses([k], [n], edges)[0]
    back = band_masses([n - k], [n], edges)[0]
    assert there == pytest.approx(back[::-1], abs=1e-12)


def test_a_tie_goes_to_the_harder_band() -> None:
    # Edges about 1/2: the two bands beside the narrow middle weigh the same at 4 of 8.
    masses = band_masses([4], [8], (0.0, 0.1, 0.48, 0.52, 0.9, 1.0))[0]
    assert masses[1] == pytest.approx(masses[3], abs=1e-12)
    assert band_index(masses) == 1
    # Also when the last bit prefers the easier one.
    assert band_index(np.array([0.1, 0.4, 0.1, 0.4 + 1e-16 * 2, 0.0])) == 1


@given(counts)
def test_the_mean_lies_in_the_interval_and_rises_with_passes(count: tuple[int, int]) -> None:
    k, n = count
    mean = posterior_mean([k], [n])[0]
    assert mean == float(Fraction(2 * k + 1, 2 * n + 2))
    low, high = interval([k], [n])[0]
    assert 0 <= low < mean < high <= 1
    if k < n:
        assert mean < posterior_mean([k + 1], [n])[0]


@given(counts, st.integers(1, 40))
def test_mixed_chance_is_the_product_formula(count: tuple[int, int], g: int) -> None:
    k, n = count
    a, b = Fraction(2 * k + 1, 2), Fraction(2 * (n - k) + 1, 2)
    all_pass = math.prod((a + i) / (a + b + i) for i in range(g))
    all_fail = math.prod((b + i) / (a + b + i) for i in range(g))
    expected = float(1 - all_pass - all_fail)
    assert mixed_chance([k], [n], g)[0] == pytest.approx(expected, abs=1e-12)


@given(counts, st.integers(1, 40))
def test_larger_groups_are_mixed_more_often(count: tuple[int, int], g: int) -> None:
    k, n = count
    here, larger = (mixed_chance([k], [n], size)[0] for size in (g, g + 1))
    assert 0 <= here < larger <= 1


@pytest.mark.parametrize("g", [0, -1])
def test_a_group_has_an_attempt(g: int) -> None:
    with pytest.raises(ValueError, match="at least one attempt"):
        mixed_chance([1], [2], g)


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 2)])
def test_more_passes_than_runs_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="between 0 and"):
        band_masses([k], [n])


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ((0.0, 0.1, 0.4, 0.6, 1.0), "5 edges"),
        ((0.1, 0.2, 0.4, 0.6, 0.9, 1.0), "start at 0"),
        ((0.0, 0.2, 0.4, 0.6, 0.9, 0.95), "end at 1"),
        ((0.0, 0.4, 0.2, 0.6, 0.9, 1.0), "rise strictly"),
        ((0.0, 0.4, 0.4, 0.6, 0.9, 1.0), "rise strictly"),
        ((0.0, math.nan, 0.4, 0.6, 0.9, 1.0), "rise strictly"),
    ],
)
def test_edges_must_make_five_bands(edges: tuple[float, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_bands(edges)


def test_band_ranges_are_written_half_open() -> None:
    assert [band.text for band in make_bands()] == [
        "[0.00, 0.08)",
        "[0.08, 0.40)",
        "[0.40, 0.60)",
        "[0.60, 0.90)",
        "[0.90, 1.00]",
    ]


@given(
    st.integers(1, 10).flatmap(
        lambda n: st.tuples(st.just(n), st.text(alphabet="PF", min_size=n, max_size=n))
    ),
    st.sets(st.sampled_from(BAND_NAMES), min_size=1).map(tuple),
    inner_edges,
)
def test_a_settled_decision_is_the_one_of_all_attempts(
    probe: tuple[int, str], retain: tuple[str, ...], inner: list[float]
) -> None:
    n, text = probe
    edges = (0.0, *inner, 1.0)
    winner = band_index(band_masses([text.count("P")], [n], edges))[0]
    final = "keep" if BAND_NAMES[winner] in retain else "drop"
    decisions = [
        settled(text[:i].count("P"), text[:i].count("F"), n, edges, retain) for i in range(n + 1)
    ]
    assert decisions[-1] == final
    assert set(decisions) <= {None, final}


def test_the_default_rule_stops_at_the_first_mixed_prefix() -> None:
    for passes in range(9):
        for failures in range(9 - passes):
            decision = settled(passes, failures, 8)
            if passes and failures:
                assert decision == "keep"
            else:
                assert decision == ("drop" if passes + failures == 8 else None)


def test_narrower_bands_stop_later_or_drop_earlier() -> None:
    only = ("intermediate",)
    assert settled(1, 1, 8, retain=only) is None
    assert settled(0, 5, 8, retain=only) == "drop"
    with pytest.raises(ValueError, match="do not fit"):
        settled(5, 4, 8)
