"""Inputs that broke somebody's figures in public, one named test each (cases/eval.jsonl)."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from eval_cases import (
    ALL,
    CASES,
    READING,
    SELECTION,
    at_k,
    cases_in,
    counts_case,
    digits,
    never,
    one_attempt,
    read_case,
    rows_file,
    summary,
)
from eval_counts import of_arrays, of_counts, results
from outcomebox.eval.compare import Comparison, compare
from outcomebox.eval.metrics.intervals import (
    bootstrap,
    jeffreys,
    percentiles,
    wilson,
)
from outcomebox.eval.metrics.prices import Prices, same_snapshot
from outcomebox.eval.metrics.rates import pass_at_k, pass_hat_k
from outcomebox.eval.metrics.repeat import again, at_least
from outcomebox.eval.report import Run, write_report
from outcomebox.eval.results import Expected, ExpectedTask, Results, read_results
from outcomebox.sandbox.errors import InputError


def test_every_case_has_a_test_here_or_in_the_other_places() -> None:
    assert len(ALL) == 56
    assert {name.removeprefix("ev-") for name in CASES} == ALL - SELECTION
    assert cases_in(globals()) == ALL - SELECTION - READING
    file = Path(__file__).parents[2] / "selection" / "tests" / "cases" / "selection.jsonl"
    beside = {json.loads(line)["id"][3:] for line in file.read_bytes().strip().split(b"\n")}
    assert beside >= SELECTION


def test_ev001_the_estimator_never_says_less_than_the_record(tmp_path: Path) -> None:
    case = CASES["ev-001"]["expected"]
    found = summary(read_case(tmp_path, "ev-001"), ks=(1, 2, 4))
    told = at_k(found)
    for k in (1, 2, 4):
        assert told[f"pass@{k}"] == digits(case[f"pass@{k}"])
    never(found.to_json(), *case["wrong"].values())


def test_ev003_a_ladder_of_k_and_null_beyond_the_attempts() -> None:
    case = CASES["ev-003"]["expected"]
    told = at_k(summary(counts_case("ev-003"), ks=(1, 2, 4, 8)))
    assert told == {name: None if value is None else digits(value) for name, value in case.items()}


def test_ev004_fewer_attempts_than_k_is_null_whatever_they_came_to() -> None:
    case, k = CASES["ev-004"]["expected"], CASES["ev-004"]["input"]["k"]
    told = at_k(summary(counts_case("ev-004"), ks=(99, k)))
    assert case["overall_pass@100"] is case["per_task_pass@100"] is None
    assert told["pass@100"] is told["pass^100"] is None
    assert np.isnan(pass_at_k([0, 99], [99, 99], k)).all()
    assert np.isnan(pass_hat_k([0, 99], [99, 99], k)).all()
    assert pass_at_k([0, 99], [99, 99], 99).tolist() == [
        case["never_pass@99"],
        case["always_pass@99"],
    ]


def test_ev006_pass_hat_k_is_no_power_of_the_rate() -> None:
    case = CASES["ev-006"]["expected"]
    found = summary(counts_case("ev-006"), ks=(3, 10))
    told = at_k(found)
    for k in (3, 10):
        assert told[f"pass^{k}"] == digits(case[f"pass^{k}"])
    never(found.to_json(), *case["wrong"].values())


def test_ev008_an_attempt_without_verdict_is_outside_the_denominator() -> None:
    case = CASES["ev-008"]["expected"]
    found = summary(counts_case("ev-008"), ks=(1, 2, 4))
    told = at_k(found)
    assert told["pass^1"] == digits(case["pass^1"])
    assert told["pass^2"] == digits(case["pass^2"])
    assert told["pass^4"] is None
    four = found.overall.at_k[-1].pass_hat_defined
    assert four.value == digits(case["pass^4_over_defined"])
    assert (four.n, four.of) == (case["tasks_defined_at_4"], case["tasks"])
    assert found.overall.errors == case["errors"]
    by_uid = {each.uid: each for each in found.tasks}
    assert by_uid["A"].dependable is None
    assert found.overall.dependable.count == 1
    assert found.overall.dependable.share.value is None
    figures = [each.pass_hat.value for each in found.overall.at_k]
    never([*figures, four.value], *case["wrong"].values())


def test_ev010_a_rate_that_was_stopped_early_is_no_rate(tmp_path: Path) -> None:
    case, given = CASES["ev-010"]["expected"], CASES["ev-010"]["input"]
    rows = [{**row, "stopped": True} for row in given["rows"]]
    path = rows_file(tmp_path / "stopped.jsonl", rows)
    found = summary(read_results([str(path)], kind="table"), ks=(1, 3))
    told = at_k(found)
    assert told["pass@1"] is told["pass@3"] is told["pass^3"] is None
    assert case["pass@1"] is case["pass@3"] is found.overall.pass_1.value is None
    assert found.overall.dependable.count is None
    assert found.overall.any.count == int(case["any"]) == 1
    assert found.tasks[0].rate is None
    p, most = given["true_p"], given["scheduled"]
    naive = sum(p * (1 - p) ** (t - 1) / t for t in range(1, most + 1))
    assert naive == digits(case["expected_naive_c_over_n"])
    shown = [found.overall.pass_1.value, *told.values(), found.tasks[0].rate]
    never(shown, *case["wrong"].values())


def test_ev013_errors_stand_beside_the_rate_with_its_bounds() -> None:
    case = CASES["ev-013"]["expected"]
    found = summary(counts_case("ev-013"))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert found.overall.clean == case["clean"]
    assert found.overall.errors == case["errors"]
    assert found.overall.tasks - found.overall.covered == case["tasks_without_clean_run"]
    assert found.overall.pass_1.lowest == digits(case["low"])
    assert found.overall.pass_1.highest == digits(case["high"])
    assert found.final is case["final"]


def test_ev015_one_clean_run_of_twenty_is_no_dependable_agent(tmp_path: Path) -> None:
    case = CASES["ev-015"]["expected"]
    found = summary(read_case(tmp_path, "ev-015"), ks=(1, 4))
    whole = found.overall
    assert whole.pass_1.value == digits(case["pass@1"])
    assert (whole.pass_1.population.n, whole.pass_1.population.of) == (
        case["tasks_with_clean_run"],
        case["tasks"],
    )
    assert whole.pass_1.population.low is whole.pass_1.population.high is None
    assert (whole.clean, whole.due) == (case["clean"], case["scheduled"])
    assert whole.clean / whole.due == digits(case["clean_share"])
    task = found.tasks[0]
    assert [task.low, task.high] == digits(case["jeffreys_a"])
    assert at_k(found)["pass^4"] is case["pass^4"] is None
    assert whole.dependable.count == case["observed_4of4_tasks"]
    assert task.dependable is None
    assert found.final is case["final"]
    broken = {uid for uid, _ in found.completeness.broken}
    assert broken - {"a"} == {each.uid for each in found.tasks if each.rate is None}
    assert broken - {"a"} == {"b", "c", "d", "e"}
    assert "b, c, d, e" in " ".join(found.completeness.words())


def test_ev016_a_task_without_a_row_is_missed(tmp_path: Path) -> None:
    case = CASES["ev-016"]["expected"]
    found = summary(read_case(tmp_path, "ev-016"))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert found.completeness.missing == tuple(map(tuple, case["missing"]))
    assert (found.overall.covered, found.overall.tasks) == (case["tasks_covered"], case["tasks"])
    assert found.final is case["final"]
    assert found.overall.pass_1.value != digits(case["wrong"]["missing_as_zero"])


def test_ev018_a_mean_stands_beside_its_number(tmp_path: Path) -> None:
    case = CASES["ev-018"]["expected"]
    found = summary(read_case(tmp_path, "ev-018", score="rubric"))
    rate = found.overall.pass_1.population
    assert (rate.value, rate.n, rate.of) == (
        case["passed"]["mean"],
        case["passed"]["n"],
        case["of"],
    )
    score = next(each.mean for each in found.overall.means if each.name == "score")
    assert (score.value, score.n, score.of) == (
        case["rubric"]["mean"],
        case["rubric"]["n"],
        case["of"],
    )


def test_ev020_what_could_not_be_measured_is_null_not_0(tmp_path: Path) -> None:
    case = CASES["ev-020"]["expected"]
    found = summary(read_case(tmp_path, "ev-020"))
    whole = found.overall
    assert whole.pass_1.value == digits(case["pass@1"])
    assert (whole.covered, whole.tasks) == (case["tasks_covered"], case["tasks"])
    assert whole.smallest_rate == digits(case["min_task_rate"])
    assert whole.pass_1.value not in {*case["wrong"].values()}
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert [each["rate"] for each in told["tasks"]] == [1.0, 0.5, None]


def test_ev026_an_empty_answer_fails_and_an_error_does_not() -> None:
    case, given = CASES["ev-026"]["expected"], CASES["ev-026"]["input"]["statuses"]
    counts = one_attempt(
        passed=given["resolved"],
        failed=given["unresolved"] + given["empty"],
        errors=given["error"],
    )
    found = summary(of_counts(counts))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert (found.overall.clean, found.overall.errors) == (case["clean"], case["errors"])
    wrong = case["wrong"]
    # What it were if the errors had failed is told as that: the lower bound.
    assert found.overall.pass_1.lowest == digits(wrong["errors_as_failures"])
    never([found.overall.pass_1.value], *wrong.values())


def test_ev028_an_empty_domain_has_no_data_and_stops_nothing(tmp_path: Path) -> None:
    case, given = CASES["ev-028"]["expected"], CASES["ev-028"]["input"]
    tasks = {row["uid"]: ExpectedTask(row["domain"]) for row in given["rows"]}
    due = Expected.of({**tasks, "n1": ExpectedTask("neobank")}, 1)
    path = rows_file(tmp_path / "rows.jsonl", given["rows"])
    read = read_results([str(path)], kind="table", expected=due)
    found = summary(read)
    domains = {group.name: group for group in found.groups["domain"]}
    assert {*domains} == {*given["domains"]}
    for name, group in domains.items():
        assert group.pass_1.value == (None if case[name] is None else digits(case[name]))
        share = group.dependable.share
        expected = case[f"wilson_{name}"]
        assert [share.low, share.high] == ([None, None] if expected is None else digits(expected))
    assert found.overall.pass_1.value == digits(case["overall"])
    json.dumps(found.to_json(), allow_nan=False)
    write_report([Run("run", read, found)], tmp_path / "report", formats=("md", "json"))
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    lines = [each for each in text.splitlines() if "neobank" in each]
    assert any("1 (0 with a result)" in each for each in lines)
    assert not any("%" in each or "nan" in each.lower() for each in lines)


def test_ev030_rows_before_and_after_a_resume_are_one_run(tmp_path: Path) -> None:
    case, given = CASES["ev-030"]["expected"], CASES["ev-030"]["input"]
    paths = [
        str(rows_file(tmp_path / f"{name}.jsonl", given[name]))
        for name in ("saved_rows", "resumed_rows")
    ]
    found = summary(read_results(paths, kind="table"), ks=(1, 2))
    told = at_k(found)
    assert found.overall.clean == case["n"]
    for name in ("pass@1", "pass@2", "pass^2"):
        assert told[name] == digits(case[name])
    assert found.overall.pass_1.value != case["wrong"]["new_rows_only_pass@1"]


def test_ev043_ids_with_colons_stay_whole(tmp_path: Path) -> None:
    case = CASES["ev-043"]["expected"]
    found = summary(read_case(tmp_path, "ev-043"), ks=(1, 2))
    told = at_k(found)
    assert found.overall.tasks == case["tasks"]
    for name in ("pass@1", "pass@2", "pass^2"):
        assert told[name] == digits(case[name])
    assert sum(0 < each.passed < each.clean for each in found.tasks) == case["mixed_groups"]
    figures = [value for value in told.values() if value is not None]
    never(figures, case["wrong"]["merged_pass@2"], case["wrong"]["merged_pass^2"])


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


def pair_of_runs(name: str) -> Comparison:
    """A case's pairs of one-attempt tasks, compared."""
    given = CASES[name]["input"]["pairs"]
    both = {"both": (1, 1), "a_only": (1, 0), "b_only": (0, 1), "neither": (0, 0)}
    answers = [both[kind] for kind, count in given.items() for _ in range(count)]
    return compare(of_arrays([a for a, _ in answers], 1), of_arrays([b for _, b in answers], 1))


def test_ev062_runs_that_agree_on_every_task() -> None:
    case = CASES["ev-062"]["expected"]
    found = pair_of_runs("ev-062")
    asked = found.any_k
    assert asked is not None
    assert (asked.both, asked.neither, asked.base_only, asked.new_only) == (6, 4, 0, 0)
    assert asked.p == case["p"]
    for difference in (asked.difference, found.pass_1):
        assert difference.value == case["difference"]
        assert [difference.low, difference.high] == case["bootstrap"]
        assert difference.note is not None
        assert difference.note.startswith("no task")


def test_ev063_a_p_value_is_at_most_1() -> None:
    case = CASES["ev-063"]["expected"]
    found = pair_of_runs("ev-063")
    assert found.all_k is not None
    assert found.all_k.p == case["p"]
    never(found.to_json(), case["wrong"]["doubled_tail"])


def test_ev064_two_runs_on_the_same_tasks_are_paired() -> None:
    case = CASES["ev-064"]["expected"]
    found = pair_of_runs("ev-064")
    assert found.any_k is not None
    assert found.any_k.p == digits(case["p"])
    assert found.pass_1.value is not None
    assert abs(found.pass_1.value) == digits(case["difference"])
    assert found.pass_1.value < 0  # the second passes less
    assert found.pass_1.se == digits(case["paired_se"])
    never(found.to_json(), case["wrong"]["unpaired_p"])


def two_runs(folder: Path, name: str) -> tuple[Results, Results]:
    """A case's two runs."""
    return read_case(folder, name, "run_a"), read_case(folder, name, "run_b")


def test_ev066_pairs_follow_the_ids_not_the_rows(tmp_path: Path) -> None:
    case = CASES["ev-066"]["expected"]
    found = compare(*two_runs(tmp_path, "ev-066"))
    assert found.pass_1.value == case["difference"]
    assert found.any_k is not None
    assert (found.any_k.base_only, found.any_k.new_only) == (case["a_only"], case["b_only"])
    assert found.any_k.p == case["p"]


def test_ev067_runs_of_other_tasks_are_refused_by_name(tmp_path: Path) -> None:
    case = CASES["ev-067"]["expected"]
    with pytest.raises(InputError) as caught:
        compare(*two_runs(tmp_path, "ev-067"), names=("a", "b"))
    told = str(caught.value)
    assert f"1 only in a ({case['only_a'][0]})" in told
    assert f"1 only in b ({case['only_b'][0]})" in told
    assert f"{case['common']} in both" in told


def price_list(date: str = "2026-08-17", **price: float) -> Prices:
    """A price file of the model ``m``."""
    return Prices.model_validate(
        {
            "name": "list",
            "date": date,
            "currency": "USD",
            "prices": [{"model": "m", **price}],
        }
    )


def one_attempt_with(usage: dict[str, int]) -> Results:
    """One passed attempt that spent so many tokens of the model ``m``."""
    spent = {
        "role": "policy",
        "model": "m",
        "input": usage["input_total"],
        "cached": usage["cached"],
        "output": usage["output"],
        "reasoning": usage.get("reasoning"),
    }
    return results([{"uid": "t", "repetition": 0, "outcome": "passed", "usage": [spent]}])


def means_of(found: Results) -> dict[str, float | None]:
    """Mean tokens by kind."""
    return {each.name: each.mean.value for each in summary(found).overall.means}


def test_ev070_cached_tokens_are_part_of_the_input() -> None:
    case, usage = CASES["ev-070"]["expected"], CASES["ev-070"]["input"]["usage"]
    run = one_attempt_with(usage)
    assert means_of(run)["tokens"] == case["total"]
    # What a million of full-price tokens costs a million is their number.
    full = summary(run, prices=price_list(input=1e6, cached=0.0, output=0.0))
    assert full.cost.figures.campaign.value == case["full_price_input"]
    assert means_of(run)["tokens"] != case["wrong"]["total"]


def test_ev071_input_and_cached_input_are_not_summed() -> None:
    case, given = CASES["ev-071"]["expected"], CASES["ev-071"]["input"]
    run = one_attempt_with(given["usage"])
    found = summary(run, prices=price_list(**given["price_per_million"]))
    assert means_of(run)["input_tokens"] == case["input_tokens"]
    full = summary(run, prices=price_list(input=1e6, cached=0.0, output=0.0))
    assert full.cost.figures.campaign.value == case["uncached"]
    assert found.cost.figures.campaign.value == digits(case["cost"])
    assert found.cost.models[0].amount == digits(case["cost"])
    never(found.to_json(), *case["wrong"].values())


def test_ev074_reasoning_tokens_are_part_of_the_output() -> None:
    case, given = CASES["ev-074"]["expected"], CASES["ev-074"]["input"]
    run = one_attempt_with(given["usage"])
    found = summary(run, prices=price_list(**given["price_per_million"]))
    assert means_of(run)["tokens"] == case["total"]
    assert found.cost.figures.campaign.value == digits(case["cost"])
    never(found.to_json(), *case["wrong"].values())


def test_ev075_an_unknown_cost_is_never_0(tmp_path: Path) -> None:
    case = CASES["ev-075"]["expected"]
    cost = summary(read_case(tmp_path, "ev-075")).cost.figures
    assert cost.campaign.value is case["campaign"] is None
    assert cost.per_success.value is case["cost_per_success"] is None
    assert (cost.priced, cost.tries) == (case["priced_rows"], case["rows"])
    assert cost.known == digits(case["known_part"])
    assert cost.known_per_success == digits(case["lower_bound_per_success"])


def test_ev077_without_an_outcome_there_is_no_cost_of_one(tmp_path: Path) -> None:
    case = CASES["ev-077"]["expected"]
    found = summary(read_case(tmp_path, "ev-077"))
    cost = found.cost.figures
    assert cost.campaign.value == digits(case["campaign"])
    assert cost.per_success.value == digits(case["cost_per_success"])
    assert cost.per_dependable.value is case["cost_per_dependable"] is None
    assert found.overall.dependable.count == case["dependable"]
    other = summary(read_case(tmp_path, "ev-077", "other_run"))
    assert other.cost.figures.per_success.value is case["other_cost_per_success"] is None
    assert "Infinity" not in json.dumps(other.to_json(), allow_nan=False)


def test_ev078_money_for_broken_tries_is_in_the_total(tmp_path: Path) -> None:
    case = CASES["ev-078"]["expected"]
    found = summary(read_case(tmp_path, "ev-078"))
    cost = found.cost.figures
    assert cost.campaign.value == digits(case["campaign"])
    assert cost.per_success.value == digits(case["cost_per_success"])
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert cost.errors == digits(case["error_cost"])
    never([cost.campaign.value, cost.per_success.value], case["wrong"]["last_try_only"])


def test_ev080_a_cost_names_its_prices_and_is_compared_under_one_list() -> None:
    case, given = CASES["ev-080"]["expected"], CASES["ev-080"]["input"]
    lists = {date: price_list(date, **prices) for date, prices in given["snapshots"].items()}
    run, own = one_attempt_with(given["usage"]), given["run_snapshot"]
    other = next(date for date in lists if date != own)
    found = {date: summary(run, prices=prices).cost for date, prices in lists.items()}
    assert found[own].figures.campaign.value == digits(case["cost"])
    assert found[other].figures.campaign.value == digits(case["under_other"])
    for date, cost in found.items():
        assert cost.basis is not None
        assert date in cost.basis
    with pytest.raises(InputError, match="different prices") as caught:
        same_snapshot({date: cost.basis for date, cost in found.items()})
    assert own in str(caught.value)
    assert other in str(caught.value)
    # compare prices both runs under the one list that it is given.
    compared = compare(run, run, prices=lists[other]).cost
    assert compared is not None
    assert compared.basis == lists[other].label
    assert (compared.base, compared.new) == (digits(case["under_other"]),) * 2


def test_ev082_a_row_without_tokens_is_not_a_row_of_0(tmp_path: Path) -> None:
    case, given = CASES["ev-082"]["expected"], CASES["ev-082"]["input"]["tokens"]
    rows = [
        {
            "uid": f"t{at}",
            "repetition": 0,
            "passed": True,
            "input_tokens": count,
            "output_tokens": 0,
        }
        for at, count in enumerate(given)
    ]
    path = rows_file(tmp_path / "rows.jsonl", rows)
    found = summary(read_results([str(path)], kind="table"))
    tokens = next(each.mean for each in found.overall.means if each.name == "tokens")
    assert tokens.value == digits(case["mean"])
    assert (tokens.n, tokens.of) == (case["n"], case["of"])
    never([tokens.value], *case["wrong"].values())


def test_ev090_tasks_that_the_reference_fails_are_in_no_share() -> None:
    case, given = CASES["ev-090"]["expected"], CASES["ev-090"]["input"]
    planned, failed = given["reference"]["planned"], given["reference"]["failed"]
    uids = [f"t{number:03d}" for number in range(planned)]
    eligible = uids[failed:]
    assert len(eligible) == case["eligible"]
    passed = given["agent_passed_on_gated"]
    rows = [
        {"uid": uid, "repetition": 0, "outcome": "passed" if at < passed else "failed"}
        for at, uid in enumerate(eligible)
    ]
    rows += [{"uid": uid, "repetition": 0, "outcome": "failed"} for uid in uids[:failed]]
    found = summary(results(rows, expected=Expected.of(eligible, 1)))
    share = found.overall.dependable.share
    assert share.value == found.overall.pass_1.value == digits(case["share"])
    assert [share.low, share.high] == digits(case["wilson"])
    assert {uid for uid, _ in found.completeness.unexpected} == {*uids[:failed]}
    assert len(found.completeness.unexpected) == case["dropped"]
    assert digits(case["wrong"]["over_all"]) != share.value


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
