"""Inputs that broke somebody's intervals in public, one named test each (cases/eval.jsonl)."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from eval_cases import (
    CASES,
    INTERVALS,
    cases_in,
    counts_case,
    digits,
    never,
    rows_file,
    summary,
)
from eval_counts import of_arrays
from outcomebox.eval.metrics.intervals import (
    bootstrap,
    jeffreys,
    percentiles,
    wilson,
)
from outcomebox.eval.metrics.repeat import again, at_least
from outcomebox.eval.results import read_results


def test_each_case_of_this_kind_has_its_test() -> None:
    assert cases_in(globals()) == INTERVALS


def test_ev046_the_ends_of_wilson_at_an_edge_are_the_edge() -> None:
    case, (full, none) = CASES["ev-046"]["expected"], CASES["ev-046"]["input"]["shares"]
    found = [wilson(*full), wilson(*none)]
    assert [found[0].low, found[0].high] == digits(case["38/38"])
    assert [found[1].low, found[1].high] == digits(case["0/77"])
    assert found[0].high == 1.0
    assert found[1].low == 0.0


def test_ev047_intervals_at_and_next_to_the_edges() -> None:
    case, given = CASES["ev-047"]["expected"], CASES["ev-047"]["input"]
    n = given["n"]
    for count in given["counts"]:
        score = wilson(count, n)
        assert [score.low, score.high] == digits(case["wilson"][str(count)])
    ends = jeffreys(given["counts"], [n] * 4)
    assert not np.isnan(ends).any()
    assert ends[1].tolist() == digits(case["jeffreys"]["1"])
    assert ends[2].tolist() == digits(case["jeffreys"]["29"])
    assert ends[0, 1] == digits(case["jeffreys_0_upper"])
    # The raw quantile, as the documentation says, and its mirror.
    assert ends[0, 0] == pytest.approx(case["jeffreys_0_lower_raw"], rel=1e-5)
    assert ends[3, 0] == digits(case["jeffreys_30_lower"])
    assert ends[3, 1] == pytest.approx(1 - case["jeffreys_0_lower_raw"], abs=1e-9)


def test_ev051_constant_data_has_an_interval_that_is_marked() -> None:
    case = CASES["ev-051"]["expected"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = summary(counts_case("ev-051"))
    population, by_t = found.overall.pass_1.population, found.overall.pass_1.population_t
    assert [population.low, population.high] == case["bootstrap"]
    assert by_t.se == case["cluster_se"]
    assert population.note is not None
    assert "zero width" in population.note
    share = found.overall.dependable.share
    assert [share.low, share.high] == digits(case["wilson_kk"])


def test_ev052_one_task_says_nothing_of_others() -> None:
    case = CASES["ev-052"]["expected"]
    found = summary(counts_case("ev-052"))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    for each in (found.overall.pass_1.population, found.overall.pass_1.population_t):
        assert each.low is each.high is case["population_interval"] is None
        assert each.note is not None
        assert "one task" in each.note
    assert [found.tasks[0].low, found.tasks[0].high] == digits(case["jeffreys"])


def test_ev053_tasks_that_differ_have_a_standard_error() -> None:
    case = CASES["ev-053"]["expected"]
    found = summary(counts_case("ev-053"))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert found.overall.pass_1.population_t.se == digits(case["se"])
    share = found.overall.dependable.share
    assert [share.low, share.high] == digits(case["wilson"])


def test_ev055_the_spread_between_domains_is_no_error_of_their_mean() -> None:
    case, given = CASES["ev-055"]["expected"], CASES["ev-055"]["input"]["domains"]
    passed, domains = [], []
    for name, each in given.items():
        passed += [1] * each["passed_tasks"] + [0] * (each["tasks"] - each["passed_tasks"])
        domains += [name] * each["tasks"]
    found = summary(of_arrays(passed, 1, domains))
    assert found.overall.pass_1.value == digits(case["task_weighted"])
    se = found.overall.pass_1.population_t.se
    assert se == digits(case["se"])
    assert se != pytest.approx(case["wrong"]["unstratified_se"], abs=1e-4)


def test_ev056_attempts_at_one_task_are_not_independent() -> None:
    case = CASES["ev-056"]["expected"]
    found = summary(counts_case("ev-056"))
    by_t = found.overall.pass_1.population_t
    assert by_t.value == digits(case["pass@1"])
    assert by_t.se == digits(case["cluster_se"])
    assert [by_t.low, by_t.high] == digits(case["cluster_t"])
    never([by_t.se, found.overall.pass_1.population.se], case["wrong"]["pooled_attempt_se"])


def test_ev058_no_end_lies_outside_0_and_1() -> None:
    case = CASES["ev-058"]["expected"]
    rates = [1.0, 1.0, 1.0, 0.5]
    found = summary(counts_case("ev-058"), resamples=10_000)
    rate = found.overall.pass_1
    assert rate.value == digits(case["pass@1"])
    assert [rate.population_t.low, rate.population_t.high] == digits(case["cluster_t_cut"])
    # All 256 draws of four tasks, at the plain tails and by the inverted distribution function.
    draws = np.array([[np.mean(draw) for draw in itertools.product(rates, repeat=4)]])
    assert [float(end[0]) for end in percentiles(draws, 0.025)] == case["bootstrap_exact"]
    for ours, exact in zip(
        (rate.population.low, rate.population.high), case["bootstrap_exact"], strict=True
    ):
        assert ours is not None
        assert 0 <= ours <= 1
        assert abs(ours - exact) <= 0.125
    never(found.to_json(), case["wrong"]["uncut_high"])


def test_ev059_the_seed_decides_every_digit(tmp_path: Path) -> None:
    case, given = CASES["ev-059"]["expected"], CASES["ev-059"]["input"]
    rates, draws = given["task_rates"], given["resamples"]
    ideal = float(np.sqrt(np.square(np.array(rates) - np.mean(rates)).sum()) / len(rates))
    assert ideal == digits(case["ideal_bootstrap_se"])
    found = [bootstrap(rates, seed=seed, resamples=draws) for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2]
    for each in found:
        assert each.se == pytest.approx(ideal, rel=case["relative_tolerance"])
    # The order of rows and tasks in the file changes nothing.
    rows = [
        {"uid": f"t{task}", "repetition": repetition, "passed": repetition < round(10 * rate)}
        for task, rate in enumerate(rates)
        for repetition in range(10)
    ]
    orders = [rows, rows[::-1], sorted(rows, key=lambda row: (row["repetition"], row["uid"]))]
    told = []
    for number, order in enumerate(orders):
        path = rows_file(tmp_path / f"{number}.jsonl", order)
        plain = summary(read_results([str(path)], kind="table")).to_json()
        del plain["source"]
        told.append(json.dumps(plain))
    assert told[0] == told[1] == told[2]
    plain = json.loads(told[0])
    assert plain["overall"]["pass_1"]["population"]["value"] == digits(case["mean"])


def test_ev097_observed_dependability_is_itself_uncertain() -> None:
    case = CASES["ev-097"]["expected"]
    found = summary(counts_case("ev-097"))
    assert found.overall.dependable.count == case["observed"]
    by_uid = {each.uid: each for each in found.tasks}
    for uid, chance in case["rerun"].items():
        assert by_uid[uid].again == digits(chance)
    for uid, chance in case["p_ge_95"].items():
        assert by_uid[uid].at_least == digits(chance)
    assert found.overall.repeat.rerun.value == digits(case["expected_count"])
    assert again([20], [20], 20)[0] == digits(case["rerun"]["s"])
    assert at_least([20], [20])[0] == digits(case["p_ge_95"]["s"])
