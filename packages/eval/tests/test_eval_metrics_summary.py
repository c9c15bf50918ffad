"""Summaries: the same for any order of rows, null where nothing is defined, honest where biased."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_counts import beta_pool, of_arrays, of_counts, results
from outcomebox.eval.metrics import rates
from outcomebox.eval.metrics.intervals import ONE_TASK
from outcomebox.eval.metrics.summary import OWN_BANDS, Summary, summarize
from outcomebox.eval.results import ATTEMPTS, Expected, ExpectedTask, Results
from outcomebox.sandbox.errors import InputError

ENDS = ("done", "end_turn_tool", "agent_limit", "user_limit", None)


@st.composite
def some_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of a few tasks with errors, retries and unequal attempts."""
    rows = []
    for at in range(draw(st.integers(1, 5))):
        domain = draw(st.sampled_from(["retail", "travel"]))
        for repetition in range(draw(st.integers(1, 4))):
            for attempt in range(draw(st.integers(1, 2))):
                outcome = draw(st.sampled_from(["passed", "failed", "system_error"]))
                failed = outcome == "failed"
                rows.append(
                    {
                        "uid": f"t{at}",
                        "repetition": repetition,
                        "try": attempt,
                        "outcome": outcome,
                        "domain": domain,
                        "family": draw(st.sampled_from([None, "x", "y"])) if at else None,
                        "tags": [["long"], ["long", "short"], []][at % 3],
                        "finish_reason": draw(st.sampled_from(ENDS)),
                        "reasons": [draw(st.sampled_from(["wrong_value", "rubric_failed"]))]
                        if failed
                        else [],
                        "turns": draw(st.sampled_from([None, 0, 3, 9])),
                        "wrote": draw(st.sampled_from([None, True, False])),
                        "last_tool_error": draw(st.sampled_from([None, True, False])),
                        "cost": draw(st.sampled_from([None, 0.0, 0.25])),
                    }
                )
    return rows


def plain(summary: Summary) -> str:
    return json.dumps(summary.to_json(), allow_nan=False)


@given(some_rows(), st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_order_changes_nothing_and_nothing_is_nan(
    rows: list[dict[str, Any]], shuffle: random.Random
) -> None:
    by = ("domain", "family", "tag", "band")
    one = summarize(results(rows), by=by, resamples=50)
    shuffle.shuffle(rows)
    other = summarize(results(rows), by=by[::-1], resamples=50)
    assert plain(one) == plain(other)


@given(some_rows())
@settings(max_examples=10, deadline=None)
def test_figures_agree_with_each_other(rows: list[dict[str, Any]]) -> None:
    found = summarize(results(rows), by=("domain", "tag"), resamples=50)
    groups = (found.overall, *found.groups["domain"], *found.groups["tag"])
    for group in groups:
        assert group.clean + group.errors + group.missing == group.due
        assert group.passed + group.failures.failed == group.clean
        assert sum(part.count for part in group.failures.blame) == group.failures.failed
        signed = sum(part.count for part in group.failures.signatures)
        assert signed + group.failures.without_signature == group.failures.failed
        assert sum(end.passed + end.failed for end in group.ends) == group.clean
        assert all(part.count <= group.failures.silent.count for part in group.failures.inside)
        for at_k in group.at_k:
            for estimate in (at_k.pass_at_defined, at_k.pass_hat_defined):
                if estimate.low is not None and estimate.high is not None:
                    assert 0 <= estimate.low <= estimate.high <= 1
        value = group.pass_1.value
        assert group.pass_1.lowest is not None
        assert group.pass_1.highest is not None
        assert group.pass_1.lowest <= group.pass_1.highest
        if value is not None and group.clean == group.due:
            assert group.pass_1.lowest == pytest.approx(value)
            assert group.pass_1.highest == pytest.approx(value)
    for field in ("tasks", "due", "clean", "passed", "errors", "missing", "system_errors"):
        by_domain = sum(getattr(group, field) for group in found.groups["domain"])
        assert getattr(found.overall, field) == by_domain
    known = [line.rate for line in found.tasks if line.rate is not None]
    assert found.overall.pass_1.value == pytest.approx(np.mean(known) if known else None)


def test_a_group_has_the_same_figures_whatever_else_is_asked() -> None:
    chances, domains = beta_pool(np.random.default_rng(3), 40, 0.5, 0.4, spread=0.1, of=4)
    passed = np.random.default_rng(4).binomial(5, chances)
    run = of_arrays([int(each) for each in passed], 5, domains)
    one = summarize(run, resamples=300)
    other = summarize(run, by=("domain", "band"), resamples=300)
    assert one.overall == other.overall
    assert one.groups["domain"] == other.groups["domain"]
    assert summarize(run, resamples=300, seed=1).overall.pass_1 != one.overall.pass_1


def test_a_task_without_all_clean_attempts_leaves_k_undefined() -> None:
    run = of_counts({"A": (3, 0, 1), "B": (4, 0, 0), "C": (2, 2, 0)})
    group = summarize(run, ks=(1, 2, 4), resamples=100).overall
    assert group.pass_1.value == pytest.approx(5 / 6)
    at = {each.k: each for each in group.at_k}
    assert at[1].pass_hat.value == pytest.approx(5 / 6)
    assert at[2].pass_hat.value == pytest.approx(0.722222, abs=1e-6)
    assert at[4].pass_hat.value is None
    assert "1 of 3 tasks have fewer than 4" in (at[4].pass_hat.note or "")
    defined = at[4].pass_hat_defined
    assert (defined.value, defined.n, defined.of) == (0.5, 2, 3)
    assert (group.dependable.count, group.dependable.undecided) == (1, 1)
    assert group.dependable.share.value is None
    assert (group.dependable.share_defined.value, group.dependable.share_defined.n) == (0.5, 2)
    assert (group.any.count, group.any.share.value) == (3, 1.0)
    assert group.retention.value is None
    assert group.errors == 1


def test_k_above_the_attempts_is_null() -> None:
    never_always = of_counts({"never": (0, 99, 0), "always": (99, 0, 0)})
    (at,) = summarize(never_always, ks=(100,), resamples=20).overall.at_k
    assert (at.pass_at.value, at.pass_hat.value) == (None, None)
    assert (at.pass_at_defined.value, at.pass_at_defined.n) == (None, 0)


def test_stopped_tasks_are_no_evidence_for_a_rate() -> None:
    rows = [
        {"uid": "t", "repetition": at, "outcome": outcome, "stopped": True, "cost": 1.0}
        for at, outcome in enumerate(["failed", "failed", "failed", "passed"])
    ]
    summary = summarize(results(rows, expected=Expected.of(["t"], 5)), resamples=20)
    group = summary.overall
    assert group.stopped == 1
    assert group.pass_1.value is None
    assert group.pass_1.lowest is None
    assert "adaptive probe" in (group.pass_1.population.note or "")
    assert all(each.pass_at_defined.value is None for each in group.at_k)
    assert (group.dependable.count, group.dependable.share_defined.value) == (None, None)
    assert (group.any.count, group.any.share.value) == (1, 1.0)
    assert (group.retention.value, group.repeat.dependable, group.smallest_rate) == (None,) * 3
    assert group.cost.per_dependable.value is None
    (line,) = summary.tasks
    assert (line.rate, line.low, line.at_least, line.band, line.any) == (None,) * 4 + (True,)


def test_tasks_without_a_result_are_there_and_null() -> None:
    expected = Expected(
        {
            "r1": ExpectedTask("retail"),
            "r2": ExpectedTask("retail"),
            "n1": ExpectedTask("neobank", ("new",)),
        },
        (0,),
    )
    rows = [
        {"uid": "r1", "repetition": 0, "outcome": "passed", "domain": "retail"},
        {"uid": "r2", "repetition": 0, "outcome": "failed", "domain": "retail"},
    ]
    summary = summarize(results(rows, expected=expected), by=("domain", "tag"), resamples=50)
    neobank, retail = summary.groups["domain"]
    assert neobank.name == "neobank"
    assert (neobank.tasks, neobank.covered, neobank.missing) == (1, 0, 1)
    assert neobank.pass_1.value is None
    assert neobank.dependable.share_defined.low is None
    assert (neobank.pass_1.lowest, neobank.pass_1.highest) == (0, 1)
    assert retail.pass_1.value == 0.5
    assert retail.dependable.share.low == pytest.approx(0.094531, abs=1e-6)
    assert summary.groups["tag"][0].name == "new"
    assert not summary.final


def test_one_task_with_a_result_has_no_population_interval() -> None:
    counts = {"a": (1, 0, 3), "b": (0, 0, 4), "c": (0, 0, 4)}
    group = summarize(of_counts(counts), resamples=50).overall
    assert group.pass_1.value == 1.0
    for estimate in (group.pass_1.population, group.pass_1.population_t):
        assert (estimate.low, estimate.high, estimate.note) == (None, None, ONE_TASK)
    assert group.pass_1.lowest == pytest.approx(1 / 12)
    first, *_, last = group.at_k
    assert (first.k, first.pass_hat.value, first.pass_hat.n, first.pass_hat.of) == (1, 1.0, 1, 3)
    assert (last.k, last.pass_hat.value, last.pass_hat_defined.n) == (4, None, 0)


def test_constant_data_are_marked() -> None:
    group = summarize(of_counts({f"t{at}": (4, 0, 0) for at in range(10)}), resamples=50).overall
    population = group.pass_1.population
    assert (population.low, population.high, population.se) == (1.0, 1.0, 0.0)
    assert "zero width" in (population.note or "")
    assert group.dependable.share.low == pytest.approx(0.722467, abs=1e-6)
    assert group.dependable.share.high == 1.0


def test_means_say_how_many_they_are_over() -> None:
    tokens = [100, None, 300, 0]
    rows = [
        {
            "uid": "abcd"[at],
            "repetition": 0,
            "outcome": "passed",
            "turns": at,
            "usage": None
            if many is None
            else [{"role": "policy", "model": "m", "input": many, "output": 0}],
        }
        for at, many in enumerate(tokens)
    ]
    means = {mean.name: mean for mean in summarize(results(rows), resamples=100).overall.means}
    found = means["tokens"]
    assert found.mean.value == pytest.approx(133.333333, abs=1e-6)
    assert (found.mean.n, found.mean.of, found.median, found.total) == (3, 4, 100, 400)
    assert (means["turns"].mean.value, means["turns"].p95) == (1.5, 3)
    assert (means["seconds"].mean.value, means["seconds"].total) == (None, None)


def test_only_the_result_of_an_attempt_is_looked_at() -> None:
    row = {"uid": "a", "repetition": 0, "finish_reason": "done", "wrote": True}
    tries = [
        {"outcome": "failed", "turns": 9, "reasons": ["wrong_value"], "last_tool_error": False},
        {"outcome": "system_error", "turns": 5, "error_phase": "user", "finish_reason": None},
        {"outcome": "passed", "turns": 3, "reasons": []},
    ]
    rows = [{**row, "try": at, **each} for at, each in enumerate(tries)]
    group = summarize(results(rows), resamples=20).overall
    assert (group.clean, group.passed, group.system_errors) == (1, 1, 1)
    assert (group.means[0].name, group.means[0].mean.value) == ("turns", 3)
    assert (group.failures.failed, group.failures.silent.count) == (0, 0)
    assert group.failures.without_signature == 0
    assert dict(group.failures.broken)["user_simulator"] == 1
    assert [(end.reason, end.passed, end.failed) for end in group.ends] == [("done", 1, 0)]


def test_retention_and_rerun() -> None:
    run = of_counts({"s": (20, 0, 0), "u": (19, 1, 0), "v": (10, 10, 0)})
    group = summarize(run, resamples=100).overall
    assert (group.dependable.k, group.dependable.count) == (20, 1)
    assert group.repeat.rerun.value == pytest.approx(1.059617, abs=1e-6)
    assert group.repeat.dependable == pytest.approx(0.850529 + 0.432911, abs=1e-5)
    assert (group.repeat.rerun.low, group.repeat.rerun.high) == (0, 2)
    assert group.retention.value == pytest.approx((1 / 3) / (49 / 60))


def test_bands_come_from_a_probe_or_are_marked_as_their_own() -> None:
    run = of_counts({"a": (0, 8, 0), "b": (4, 4, 0), "c": (8, 0, 0), "d": (7, 1, 0)})
    own = summarize(run, by=("band",), resamples=50)
    assert [group.name for group in own.groups["band"]] == [
        "rarely_solved",
        "intermediate",
        "frequently_solved",
        "nearly_always_solved",
    ]
    assert OWN_BANDS in own.notes
    given_bands = {"a": "difficult", "b": "difficult", "c": "odd"}
    found = summarize(run, by=("band",), bands=given_bands, resamples=50)
    assert [(group.name, group.tasks) for group in found.groups["band"]] == [
        ("difficult", 2),
        ("odd", 1),
    ]
    assert found.notes == ("1 of 4 tasks have no band and are in no row of that table.",)


def test_stratified_and_pooled_agree_with_the_rates() -> None:
    chances, domains = beta_pool(np.random.default_rng(5), 60, 0.5, 0.43, of=3)
    passed = [int(each) for each in np.random.default_rng(6).binomial(8, chances)]
    summary = summarize(of_arrays(passed, 8, domains), ks=(1, 3, 8), resamples=2000)
    at = {each.k: each for each in summary.overall.at_k}
    for k in (1, 3, 8):
        assert at[k].pass_at.value == pytest.approx(
            rates.mean(rates.pass_at_k(passed, [8] * 60, k))
        )
        assert at[k].pass_hat.value == pytest.approx(
            rates.mean(rates.pass_hat_k(passed, [8] * 60, k))
        )
    rate = summary.overall.pass_1
    assert rate.population.se == pytest.approx(rate.population_t.se, rel=0.08)
    assert rate.these_tasks.se is not None
    assert rate.population.se is not None
    assert rate.these_tasks.se < rate.population.se
    assert "within domains" in rate.population.method
    for group in summary.groups["domain"]:
        assert group.pass_1.population.se == pytest.approx(group.pass_1.population_t.se, rel=0.1)
        assert group.pass_1.population.low == pytest.approx(group.pass_1.population_t.low, abs=0.03)
    weights = [(group.tasks, group.pass_1.value) for group in summary.groups["domain"]]
    assert sum(n * (value or math.nan) for n, value in weights) / 60 == pytest.approx(rate.value)


def test_what_cannot_be_summarized_is_said() -> None:
    with pytest.raises(InputError, match="there are no rows"):
        summarize(Results(pl.DataFrame(schema=ATTEMPTS)))
    run = of_counts({"a": (1, 0, 0)})
    for wrong, what in (
        ({"ks": (0,)}, "k: counts attempts"),
        ({"by": ("colour",)}, "by: is none of domain"),
        ({"level": 95}, "level: lies between"),
        ({"level": math.nan}, "level: lies between"),
        ({"resamples": 0}, "resamples: is at least"),
    ):
        with pytest.raises(InputError, match=what):
            summarize(run, **wrong)
    row = {"uid": "a", "repetition": 0, "outcome": "passed"}
    for none_due in (Expected.of(["a"], 0), Expected.of([], 3)):
        with pytest.raises(InputError, match="no attempt is due"):
            summarize(results([row], expected=none_due))


def test_rows_that_are_not_due_enter_no_figure() -> None:
    rows = [
        {"uid": "a", "repetition": 0, "outcome": "passed", "cost": 1.0},
        {"uid": "a", "repetition": 1, "outcome": "failed", "cost": 1.0},
        {"uid": "x", "repetition": 0, "outcome": "failed", "cost": 1.0},
    ]
    summary = summarize(results(rows, expected=Expected.of(["a"], 1)), resamples=20)
    assert (summary.overall.clean, summary.overall.pass_1.value) == (1, 1.0)
    assert summary.cost.figures.campaign.value == 1.0
    assert not summary.final
