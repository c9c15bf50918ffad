"""Inputs that broke somebody's comparisons and costs in public, one named test each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval_cases import (
    CASES,
    COMPARED,
    cases_in,
    digits,
    never,
    read_case,
    rows_file,
    summary,
)
from eval_counts import of_arrays, results
from outcomebox.eval.compare import Comparison, compare
from outcomebox.eval.metrics.prices import Prices, same_snapshot
from outcomebox.eval.results import Results, read_results
from outcomebox.sandbox.errors import InputError


def test_each_case_of_this_kind_has_its_test() -> None:
    assert cases_in(globals()) == COMPARED


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
