"""What a pool will give: predictions against what is true in simulated populations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from outcomebox.selection import curate, mixed_chance
from outcomebox.selection.bands import BAND_NAMES, DEFAULT_EDGES, DEFAULT_RETAIN
from outcomebox.selection.decay import half_life, lifted, worn
from outcomebox.selection.edges import kept_by, parse_edges
from outcomebox.selection.population import draw_rates, draws_for, learn
from outcomebox.selection.posterior import Floats
from outcomebox.selection.prediction import mixed, mixed_share, span, steps
from selection_rows import curation, result

Probed = tuple[Floats, NDArray[np.int64], NDArray[np.int64]]
KEEP = [name in DEFAULT_RETAIN for name in BAND_NAMES]


def drawn(passes: ArrayLike, runs: ArrayLike, seed: int = 0) -> Floats:
    """All draws at once."""
    return np.concatenate(list(draw_rates(learn(passes, runs), passes, runs, seed)))


def probed(rng: np.random.Generator, a: float, b: float, tasks: int, stop: bool) -> Probed:
    """True rates, passes and clean runs of tasks that were probed eight times or until mixed."""
    rates = rng.beta(a, b, tasks)
    passed = (rng.random((tasks, 8)) < rates[:, None]).cumsum(axis=1)
    runs = np.full(tasks, 8)
    if stop:
        made = np.arange(1, 9)
        left = (passed > 0) & (passed < made)
        runs = np.where(left.any(axis=1), left.argmax(axis=1) + 1, 8)
    return rates, passed[np.arange(tasks), runs - 1], runs


@pytest.mark.parametrize(("a", "b", "stop"), [(0.3, 0.6, True), (1, 1, False), (2, 2, True)])
def test_the_interval_of_the_mixed_share_covers_what_it_claims(
    a: float, b: float, stop: bool
) -> None:
    rng = np.random.default_rng(20260301)
    inside, errors = 0, []
    for seed in range(40):
        rates, passes, runs = probed(rng, a, b, 80, stop)
        kept = (passes > 0) & (passes < runs)
        share = mixed_share(drawn(passes, runs, seed)[:300, kept], 8)
        true = float(mixed(rates[kept], 8).mean())
        found = span(share)
        inside += found.low <= true <= found.high
        errors.append(found.value - true)
    # Of 40 intervals of 95 %, fewer than 34 hold the truth once in 300 times.
    assert inside >= 34
    assert abs(np.mean(errors)) < 0.015


def test_jeffreys_alone_would_mislead_on_a_pool() -> None:
    """Why the spread is learned: summed over a uniform pool, Jeffreys' prior is far off."""
    rates, passes, runs = probed(np.random.default_rng(4), 2, 2, 2_000, False)
    kept = (passes > 0) & (passes < runs)
    true = float(mixed(rates[kept], 8).mean())
    assert true - float(mixed_chance(passes[kept], runs[kept], 8).mean()) > 0.05
    assert abs(mixed_share(drawn(passes, runs)[:, kept], 8).mean() - true) < 0.01


def test_the_spread_is_learned() -> None:
    rates, passes, runs = probed(np.random.default_rng(8), 0.3, 0.6, 3_000, False)
    population = learn(passes, runs)
    assert population.weight.sum() == pytest.approx(1)
    assert population.mean == pytest.approx(rates.mean(), abs=0.015)
    size = float(np.sum(population.weight * (population.a + population.b)))
    assert size == pytest.approx(0.9, rel=0.2)


def test_draws_are_seeded_and_bounded() -> None:
    passes, runs = np.arange(9), np.full(9, 8)
    assert np.array_equal(drawn(passes, runs, 3), drawn(passes, runs, 3))
    assert not np.array_equal(drawn(passes, runs, 3), drawn(passes, runs, 4))
    assert drawn(passes, runs).shape == (draws_for(9), 9) == (2_000, 9)
    assert draws_for(10**6) == 200


@given(st.integers(1, 40), st.integers(1, 12), st.integers(2, 8))
@settings(max_examples=40, deadline=None)
def test_a_step_holds_its_groups_and_takes_tasks_evenly(groups: int, tasks: int, size: int) -> None:
    rng = np.random.default_rng(groups * 100 + tasks)
    never = steps(np.zeros((5, tasks)), size, groups, rng)
    assert (never.useful == 0).all()
    assert (never.wasted == groups * size).all()
    half = steps(np.full((400, tasks), 0.5), size, groups, rng)
    assert half.useful.mean() == pytest.approx(
        groups * (1 - 2 * 0.5**size), abs=5 * np.sqrt(groups / 400)
    )
    assert (half.useful * size + half.wasted == groups * size).all()
    # Priced by a single task, the cost tells how often that task was taken.
    price = np.zeros(tasks)
    price[0] = 1
    taken = steps(np.zeros((50, tasks)), size, groups, rng, price).wasted / size
    assert set(taken) <= {groups // tasks, -(-groups // tasks)}


@given(st.floats(0, 1), st.floats(-5, 5), st.floats(0, 5))
@settings(max_examples=100)
def test_a_shift_lifts_rates_and_can_be_taken_back(rate: float, shift: float, more: float) -> None:
    at = np.asarray(rate)
    assert 0 <= float(lifted(at, shift)) <= 1
    assert float(lifted(at, shift + more)) >= float(lifted(at, shift)) - 1e-12
    assert float(lifted(lifted(at, shift), -shift)) == pytest.approx(rate, abs=1e-9)


def test_how_a_pool_wears_off() -> None:
    rates = np.asarray([[0.05, 0.2, 0.5, 0.8, 0.95]])
    now = worn(rates, 0, 8, DEFAULT_EDGES, KEEP)
    assert now.bands.tolist() == [[1, 1, 1, 1, 1]]
    assert now.left.tolist() == [0]
    later = worn(rates, 1, 8, DEFAULT_EDGES, KEEP)
    # .05 -> .125, .2 -> .405, .5 -> .731, .8 -> .916, .95 -> .981: one of three has left.
    assert later.bands.tolist() == [[0, 1, 1, 1, 2]]
    assert later.left.tolist() == [1]
    assert later.rate[0] == pytest.approx(
        np.mean([0.12515, 0.40460, 0.73106, 0.91579, 0.98099]), abs=1e-4
    )
    # Half of the three (two of them) have left when .5 has reached .9.
    assert half_life(rates, DEFAULT_EDGES, KEEP) == pytest.approx(np.log(9), abs=0.01)
    assert half_life(np.asarray([[0.99]]), DEFAULT_EDGES, KEEP) is None


def test_other_edges_on_the_same_probes() -> None:
    passes, runs = np.arange(9), np.full(9, 8)
    kept = kept_by(passes, runs, DEFAULT_EDGES, DEFAULT_RETAIN)
    assert kept.tolist() == [False, *[True] * 7, False]
    narrow = kept_by(passes, runs, (0, 0.2, 0.4, 0.6, 0.8, 1), DEFAULT_RETAIN)
    assert narrow.tolist() == [False, False, *[True] * 5, False, False]
    assert not kept_by([2], [3], DEFAULT_EDGES, DEFAULT_RETAIN, min_clean_runs=4)[0]
    results = [result(f"retail/a/{k}", k, 8) for k in range(9)]
    tasks = [each.task for each in results]
    settings_ = curation(predict={"edges": [[0, 0.2, 0.4, 0.6, 0.8, 1]]})
    found = curate(tasks, results, settings_).outlook
    assert found is not None
    force, other = found["edges"]
    assert (force["in_force"], force["kept"], force["gained"], force["lost"]) == (True, 7, 0, 0)
    assert (other["in_force"], other["kept"], other["gained"], other["lost"]) == (False, 5, 0, 2)
    assert other["mixed_share"]["value"] > force["mixed_share"]["value"]
    # Of an adaptive probe, which decided for the edges in force, there is nothing to compare.
    early = [result("retail/a/0", 0, 8), result("retail/a/1", 1, 2)]
    adaptive = settings_.model_copy(
        update={"probe": settings_.probe.model_copy(update={"stop": "exact"})}
    )
    stopped = curate([each.task for each in early], early, adaptive).outlook
    assert stopped is not None
    assert stopped["edges"] is None


def test_edges_of_a_flag() -> None:
    assert parse_edges(".05,.4,.6,.95") == [0, 0.05, 0.4, 0.6, 0.95, 1]
    assert parse_edges("0,.05,.4,.6,.95,1") == [0, 0.05, 0.4, 0.6, 0.95, 1]
    with pytest.raises(ValueError, match="rise"):
        parse_edges(".5,.4,.6,.95")
    with pytest.raises(ValueError, match="convert"):
        parse_edges("low,high")


def test_the_outlook_of_a_selection_fits_together() -> None:
    results = [result(f"retail/a/{i:03d}", i % 9, 8) for i in range(90)]
    chosen = curate([each.task for each in results], results, curation())
    found = chosen.outlook
    assert found is not None
    share, step = found["mixed_share"], found["step"]
    assert share["low"] < share["value"] < share["high"]
    assert step["useful_groups"]["value"] == pytest.approx(32 * share["value"], rel=0.02)
    wasted = step["wasted_rollouts"]["value"]
    assert wasted == pytest.approx(256 - 8 * step["useful_groups"]["value"], abs=1e-3)
    assert [worn_["shift"] for worn_ in found["decay"]] == [0, 0.5, 1, 2]
    assert found["decay"][0]["mixed_share"] == share
    assert sum(found["decay"][2]["bands"].values()) == pytest.approx(len(chosen.kept))
    assert step["wasted_tokens"] is None
    again = curate([each.task for each in results], list(reversed(results)), curation())
    assert again.outlook == found
