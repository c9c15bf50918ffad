"""What a run cost: every try, every role, nothing twice, and unknown is never 0."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_counts import results
from outcomebox.eval.metrics.cost import STATED, cost_line
from outcomebox.eval.metrics.pareto import Point, pareto
from outcomebox.eval.metrics.prices import Prices, same_snapshot
from outcomebox.eval.metrics.summary import Summary, summarize
from outcomebox.sandbox.errors import InputError

SNAPSHOTS = {
    day: Prices.model_validate(
        {
            "name": "list",
            "date": day,
            "currency": "USD",
            "prices": [
                {"model": "m", "input": price[0], "cached": price[1], "output": price[2]},
                {"model": "m", "role": "judge", "input": 1.0, "cached": 1.0, "output": 1.0},
            ],
        }
    )
    for day, price in {
        "2026-08-17": (5.0, 0.5, 30.0),
        "2026-08-22": (4.0, 0.4, 20.0),
    }.items()
}
OLD = SNAPSHOTS["2026-08-17"]


def used(role: str = "policy", model: str | None = "m", **tokens: Any) -> dict[str, Any]:
    return {"role": role, "model": model, "cached": None, "reasoning": None, **tokens}


def run(*rows: dict[str, Any], prices: Prices | None = None, **more: Any) -> Summary:
    plain = [{"uid": "a", "repetition": 0, "outcome": "passed", **row} for row in rows]
    return summarize(results(plain), prices=prices, resamples=200, **more)


def test_cached_tokens_are_part_of_the_input_and_reasoning_of_the_output() -> None:
    usage = [used(input=3_000_000, cached=2_000_000, output=100_000, reasoning=90_000)]
    summary = run({"usage": usage}, prices=OLD)
    assert summary.cost.figures.campaign.value == pytest.approx(9.0)
    other = run({"usage": usage}, prices=SNAPSHOTS["2026-08-22"])
    assert other.cost.figures.campaign.value == pytest.approx(6.8)
    means = {mean.name: mean.mean.value for mean in summary.overall.means}
    assert means["tokens"] == 3_100_000
    assert means["cached_tokens"] == 2_000_000
    (model,) = summary.cost.models
    assert (model.input, model.cached, model.output, model.reasoning) == (
        3_000_000,
        2_000_000,
        100_000,
        90_000,
    )
    assert summary.cost.basis == "list, 2026-08-17, USD"


def test_a_role_has_its_own_price_and_all_roles_count() -> None:
    usage = [
        used(input=1_000_000, cached=0, output=0),
        used("judge", input=1_000_000, cached=0, output=0),
        used("user", input=1_000_000, cached=0, output=0),
    ]
    summary = run({"usage": usage}, prices=OLD)
    assert [model.amount for model in summary.cost.models] == [1.0, 5.0, 5.0]  # judge, policy, user
    assert summary.cost.figures.campaign.value == pytest.approx(11.0)


def test_all_tries_cost_and_only_the_last_clean_one_counts() -> None:
    summary = run(
        {"outcome": "system_error", "cost": 0.04},
        {"try": 1, "cost": 0.06},
        {"uid": "b", "outcome": "failed", "cost": 0.03},
        {"uid": "b", "try": 1, "outcome": "failed", "cost": 0.02},
    )
    figures = summary.cost.figures
    assert figures.campaign.value == pytest.approx(0.15)
    assert figures.per_success.value == pytest.approx(0.15)
    assert figures.per_dependable.value == pytest.approx(0.15)
    assert figures.per_attempt.value == pytest.approx(0.075)
    assert figures.errors == pytest.approx(0.04)
    assert figures.superseded == pytest.approx(0.03)
    assert summary.overall.pass_1.value == 0.5
    assert summary.cost.basis == STATED


def test_unknown_is_never_0() -> None:
    usage = [used(input=1_000_000, cached=0, output=0)]
    summary = run(
        {"usage": usage},
        {"uid": "b", "usage": [used(model="new", input=5, cached=0, output=5)]},
        {"uid": "c", "usage": None},
        {"uid": "d", "usage": [used(input=None, output=7)]},
        {"uid": "e", "usage": [], "policy": '{"simulated":true}'},
        {"uid": "g", "usage": []},
        {"uid": "f", "usage": [used(model=None, input=1, cached=0, output=1)]},
        prices=OLD,
    )
    figures = summary.cost.figures
    assert (figures.priced, figures.tries) == (2, 7)
    assert figures.campaign.value is None
    assert figures.per_success.value is None
    assert figures.known == pytest.approx(5.0)
    assert figures.known_per_success == pytest.approx(5 / 7)
    assert "5 of 7 tries" in (figures.campaign.note or "")
    notes = " ".join(summary.cost.notes)
    assert "new as policy" in notes
    assert "a model that is not named as policy" in notes
    assert "In 1 of 4 exchanges nobody counted the tokens" in notes
    assert [line.cost for line in summary.tasks] == [
        *[5.0, None, None, None, 0.0],
        *[None, None],
    ]


def test_no_cost_at_all_is_no_cost() -> None:
    summary = run({"outcome": "passed"})
    assert summary.cost.basis is None
    figures = summary.cost.figures
    assert (figures.campaign.value, figures.known, figures.errors) == (None, None, None)


def test_cached_tokens_that_are_not_told_are_at_full_price_and_said_so() -> None:
    summary = run({"usage": [used(input=1_000_000, output=0)]}, prices=OLD)
    assert summary.cost.figures.campaign.value == pytest.approx(5.0)
    assert "cached tokens are not told" in summary.cost.notes[0]


def test_nothing_to_divide_by_is_null() -> None:
    summary = run({"outcome": "failed", "cost": 0.1})
    figures = summary.cost.figures
    assert figures.campaign.value == 0.1
    assert (figures.per_success.value, figures.per_dependable.value) == (None, None)
    assert figures.known_per_success is None


def test_a_cost_without_bound_has_no_upper_end() -> None:
    rows = [
        {"uid": f"t{at}", "outcome": "passed" if at == 0 else "failed", "cost": 1.0}
        for at in range(4)
    ]
    found = run(*rows).cost.figures.per_success
    assert found.value == 4.0
    assert found.low is not None
    assert found.high is None
    assert "without upper bound" in (found.note or "")


@pytest.mark.parametrize(
    ("tokens", "what"),
    [
        ({"input": 5, "cached": 6, "output": 1}, "more tokens are cached"),
        ({"input": 5, "output": 1, "reasoning": 2}, "more tokens are reasoning"),
        ({"input": -5, "output": 1}, "there are fewer than 0"),
    ],
)
def test_tokens_that_contradict_each_other_are_refused(tokens: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=f"a #0 try 0: usage.policy: {what}"):
        run({"usage": [used(**tokens)]}, prices=OLD)


def test_probe_and_training_stand_on_their_own_lines() -> None:
    usage = [used(input=1_000_000, cached=0, output=0)]
    probe = results([{"uid": "p", "repetition": 0, "outcome": "failed", "usage": usage}])
    prices = OLD.model_copy(
        update={"lines": Prices.model_validate({**plain_list(), "lines": [TRAINING]}).lines}
    )
    summary = run({"usage": usage}, prices=prices, lines=[cost_line("probe", probe, prices)])
    assert [(line.name, line.amount, line.note) for line in summary.cost.lines] == [
        ("training", 412.5, "50 steps"),
        ("probe", 5.0, "1 tries"),
    ]
    assert summary.cost.figures.campaign.value == 5.0
    unknown = cost_line("probe", probe, None)
    assert (unknown.amount, unknown.known, unknown.basis) == (None, None, None)


TRAINING = {"name": "training", "amount": 412.5, "note": "50 steps"}


def plain_list() -> dict[str, Any]:
    return {
        "name": "x",
        "date": "2026-08-17",
        "currency": "USD",
        "prices": [{"model": "m", "input": 1.0, "cached": 1.0, "output": 1.0}],
    }


def test_costs_under_different_prices_are_not_compared() -> None:
    same_snapshot({"a": OLD.label, "b": OLD.label, "c": None})
    with pytest.raises(InputError, match=r"a: list, 2026-08-17, USD; b: list, 2026-08-22, USD"):
        same_snapshot({"a": OLD.label, "b": SNAPSHOTS["2026-08-22"].label})


points = st.lists(
    st.tuples(
        st.sampled_from([None, 1.0, 2.0, 3.0, 4.0]), st.sampled_from([None, 0.1, 0.5, 0.6, 0.9])
    ),
    max_size=8,
)


@given(points)
@settings(max_examples=100, deadline=None)
def test_pareto_set_is_what_nobody_beats(pairs: list[tuple[float | None, float | None]]) -> None:
    all_points = [Point(f"p{at}", *pair) for at, pair in enumerate(pairs)]
    kept = {*pareto(all_points)}
    assert kept == {*pareto(all_points[::-1])}
    known = [
        (p.cost, p.accuracy, p.name)
        for p in all_points
        if p.cost is not None and p.accuracy is not None
    ]
    assert bool(kept) == bool(known)
    for cost, accuracy, name in known:
        beaten = any(
            c <= cost and a >= accuracy and (c, a) != (cost, accuracy) for c, a, _ in known
        )
        assert (name in kept) != beaten


def test_pareto_set_of_published_figures() -> None:
    published = {
        "GPT-5.4": (0.131, 65.36),
        "Claude Opus 5.5": (0.276, 67.16),
        "Qwen3.8-27B after RL": (0.139, 60.78),
        "GPT-5.6 Sol": (0.127, 61.91),
        "Claude Opus 5": (0.475, 66.50),
        "Qwen3.8-27B": (0.177, 51.70),
        "GPT-6 Astra": (None, 58.31),
    }
    found = pareto([Point(name, *figures) for name, figures in published.items()])
    assert found == ("GPT-5.6 Sol", "GPT-5.4", "Claude Opus 5.5")


def test_prices_of_large_campaigns_are_exact() -> None:
    usage = [used(input=16_845_360, cached=16_358_912, output=63_820, reasoning=24_882)]
    prices = Prices.model_validate(
        {**plain_list(), "prices": [{"model": "m", "input": 1.25, "cached": 0.125, "output": 10}]}
    )
    found = run({"usage": usage}, prices=prices).cost.figures.campaign.value
    assert found is not None
    assert math.isclose(found, 3.291124, abs_tol=5e-7)
