"""Two runs task by task: the differences, what may not be compared, and the verdict's words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_counts import beta_pool, of_arrays, of_counts, results
from outcomebox.eval.compare import Comparison, compare
from outcomebox.eval.compare.paired import by_luck, mcnemar, smallest_shown
from outcomebox.eval.compare.verdict import points, verdict
from outcomebox.eval.metrics.prices import Prices
from outcomebox.eval.results import Expected, Results
from outcomebox.sandbox.errors import InputError

FEW = 100


def quick(base: Results, new: Results, **settings: Any) -> Comparison:
    """A comparison with few draws."""
    return compare(base, new, **{"resamples": FEW, **settings})


def with_column(run: Results, name: str, values: pl.Expr) -> Results:
    """A run with another column."""
    kind = run.attempts.schema[name]
    return replace(run, attempts=run.attempts.with_columns(values.cast(kind).alias(name)))


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_the_binomial_test_of_the_tasks_that_changed(lost: int, gained: int) -> None:
    ours = mcnemar(lost, gained)
    theirs = 1.0 if lost + gained == 0 else binomtest(lost, lost + gained).pvalue
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-300)
    assert ours == mcnemar(gained, lost)
    assert 0 < ours <= 1


def test_the_smallest_difference_is_2_8_standard_errors() -> None:
    assert smallest_shown(1.0, 0.95) == pytest.approx(2.801585, abs=5e-7)
    assert smallest_shown(2.0, 0.9) == pytest.approx(2 * 2.486475, abs=1e-6)


def test_tasks_gained_by_luck_are_those_of_two_runs_of_one_policy() -> None:
    random = np.random.default_rng(11)
    k, rounds = 8, 200
    chances, _ = beta_pool(random, 300, 0.5, 0.5)
    said, gained = [], []
    for _ in range(rounds):
        base, new = random.binomial(k, chances), random.binomial(k, chances)
        said.append(by_luck(base + new, np.full(300, 2 * k), k))
        gained.append(np.sum((new == k) & (base < k)))
    # Its posterior is that of another pool than was drawn from, so within a tenth.
    assert np.mean(said) == pytest.approx(np.mean(gained), rel=0.1)


PASSES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


@settings(max_examples=30, deadline=None)
@given(PASSES, st.data())
def test_the_other_way_round_everything_changes_its_sign(
    passes: list[tuple[int, int]], data: st.DataObject
) -> None:
    domains = data.draw(
        st.lists(st.sampled_from("xyz"), min_size=len(passes), max_size=len(passes))
    )
    base = of_arrays([first for first, _ in passes], 4, domains)
    new = of_arrays([second for _, second in passes], 4, domains)
    there, back = quick(base, new), quick(new, base)
    assert there.pass_1.value is not None
    assert there.pass_1.value == pytest.approx(-(back.pass_1.value or 0.0), abs=1e-12)
    for one, other in ((there.all_k, back.all_k), (there.any_k, back.any_k)):
        assert one is not None
        assert other is not None
        assert (one.gained, one.lost, one.p) == (other.lost, other.gained, other.p)
        assert one.both + one.base_only + one.new_only + one.neither == one.n == len(passes)
    assert sum(row.tasks for row in there.domains) == len(passes)
    # The whole is the mean of the domains, weighted by their tasks.
    weighted = sum((row.pass_1.value or 0.0) * row.tasks for row in there.domains) / len(passes)
    assert there.pass_1.value == pytest.approx(weighted, abs=1e-12)
    json.dumps(there.to_json(), allow_nan=False)


def test_the_order_of_rows_changes_no_digit() -> None:
    random = np.random.default_rng(5)
    chances, domains = beta_pool(random, 40, 0.5, 0.4, of=3)
    base, new = (of_arrays(random.binomial(4, chances), 4, domains) for _ in range(2))
    shuffled = replace(base, attempts=base.attempts.sample(fraction=1, shuffle=True, seed=3))
    assert quick(base, new).to_json() == quick(shuffled, new).to_json()
    assert quick(base, new).pass_1 != quick(base, new, seed=1).pass_1


def test_the_interval_for_a_population_is_that_of_students_t_for_many_tasks() -> None:
    random = np.random.default_rng(8)
    chances, domains = beta_pool(random, 400, 0.5, 0.4, spread=0.2, of=4)
    base, new = (of_arrays(random.binomial(8, chances), 8, domains) for _ in range(2))
    found = compare(base, new, resamples=20_000).pass_1
    assert found.value is not None
    assert found.se is not None
    assert found.low == pytest.approx(found.value - 1.9659 * found.se, abs=0.04 * found.se)
    assert found.high == pytest.approx(found.value + 1.9659 * found.se, abs=0.04 * found.se)


def test_these_tasks_have_the_shorter_interval_where_they_moved_apart() -> None:
    # Half of the tasks got much better and half much worse: plain for these, open for others.
    base = of_arrays([10] * 10 + [10] * 8, 20)
    new = of_arrays([20] * 10 + [0] * 8, 20)
    found = quick(base, new)
    assert found.pass_1.finding == "not shown"
    assert found.pass_1_these.finding == "better"
    assert "On these very tasks new is better" in found.verdict
    assert "need not hold for other tasks" in found.verdict


def test_a_single_attempt_shows_no_luck() -> None:
    found = quick(of_arrays([1, 0, 1, 0], 1), of_arrays([1, 1, 1, 0], 1))
    assert found.pass_1_these.low is None
    assert found.pass_1_these.note is not None
    assert found.pass_1.low is not None


def test_one_task_carries_no_verdict() -> None:
    found = quick(of_arrays([3], 20), of_arrays([19], 20))
    assert found.pass_1.finding == "no interval"
    assert found.pass_1.low is found.pass_1.smallest is None
    assert "No verdict on pass@1" in found.verdict
    assert "one task says nothing of other tasks" in found.verdict


def test_a_better_run_is_called_better_and_a_worse_one_worse() -> None:
    random = np.random.default_rng(2)
    chances, domains = beta_pool(random, 200, 0.5, 0.4, of=2)
    base = of_arrays(random.binomial(20, chances * 0.7), 20, domains)
    new = of_arrays(random.binomial(20, chances), 20, domains)
    names = ("old", "fresh")
    better, worse = quick(base, new, names=names), quick(new, base, names=names)
    assert better.pass_1.finding == "better"
    assert worse.pass_1.finding == "worse"
    told = points(better.pass_1.value).lstrip("+")
    assert better.verdict.startswith(f"fresh passes {told} points more often than old: ")
    assert " points less often than old: " in worse.verdict
    assert "would have been seen four times in five." in better.verdict
    assert "fresh is better in d0, d1." in better.verdict
    assert "fresh is worse in d0, d1." in worse.verdict


def test_a_difference_found_with_luck_is_told_to_be_that() -> None:
    found = quick(of_arrays([0, 1, 2, 2, 3, 3], 4), of_arrays([3, 1, 4, 3, 3, 3], 4))
    assert found.pass_1.value is not None
    assert found.pass_1.smallest is not None
    assert found.pass_1.value < found.pass_1.smallest
    lucky = replace(found.pass_1, low=0.01, high=0.5)
    told = verdict(
        ("old", "fresh"),
        level=0.95,
        pass_1=lucky,
        these=found.pass_1_these,
        all_k=None,
        any_k=None,
        domains=(),
        complete=True,
    )
    assert "These data are few for that" in told
    assert "tends to be larger than it is" in told


def test_no_difference_is_never_called_equality() -> None:
    random = np.random.default_rng(4)
    chances, _ = beta_pool(random, 100, 0.5, 0.4)
    base, new = (of_arrays(random.binomial(8, chances), 8) for _ in range(2))
    found = quick(base, new)
    assert found.pass_1.finding == "not shown"
    assert found.pass_1.smallest is not None
    assert f"{100 * found.pass_1.smallest:.1f} points would have been seen" in found.verdict
    assert "does not show that the two are equal" in found.verdict
    same = quick(base, base)
    assert same.pass_1.note == "no task has another rate in the other run"
    assert "Equal they are not shown to be either" in same.verdict


def test_one_domain_and_one_task_domains_are_no_trouble() -> None:
    base = of_arrays([1, 2, 3, 4], 4, ["a", "a", "b", "c"])
    new = of_arrays([2, 2, 3, 4], 4, ["a", "a", "b", "c"])
    found = quick(base, new)
    rows = {row.domain: row for row in found.domains}
    assert rows["a"].pass_1.low is not None
    assert rows["b"].pass_1.low is rows["c"].pass_1.low is None
    assert found.pass_1.low is not None


def test_unequal_attempts_are_compared_by_their_rates_alone() -> None:
    found = quick(of_arrays([2, 4, 0], 4), of_arrays([4, 8, 1], 8), names=("four", "eight"))
    assert found.all_k is found.any_k is None
    assert found.pass_1.value == pytest.approx(((4 - 4) + 0 + 1) / 8 / 3)
    assert "four has 4 attempts a task and eight has 8" in found.notes[0]
    assert all(row.all_k is None for row in found.domains)


def test_a_task_without_a_clean_run_is_refused_or_left_out_by_name() -> None:
    base = of_counts({"a": (2, 0, 0), "b": (0, 0, 2), "c": (1, 1, 0)})
    new = of_counts({"a": (1, 1, 0), "b": (2, 0, 0), "c": (2, 0, 0)})
    with pytest.raises(InputError, match=r"1 tasks have no clean run on one side \(b;.*1 in base"):
        quick(base, new)
    found = quick(base, new, allow_incomplete=True)
    assert found.left_out == ("b",)
    assert not found.complete
    assert not found.final
    assert (found.pass_1.n, found.pass_1.of) == (2, 3)
    assert found.pass_1.value == pytest.approx(0.0)
    assert "None of this is final" in found.verdict
    nothing = of_counts({"a": (0, 0, 2), "b": (0, 0, 2), "c": (0, 0, 2)})
    with pytest.raises(InputError, match="no task has a clean run in both"):
        quick(nothing, new, allow_incomplete=True)


def test_a_task_that_lacks_attempts_is_not_asked_what_they_would_decide() -> None:
    base = of_counts({"a": (4, 0, 0), "b": (3, 0, 1), "c": (0, 3, 1)})
    new = of_counts({"a": (4, 0, 0), "b": (4, 0, 0), "c": (0, 4, 0)})
    found = quick(base, new)
    assert found.all_k is not None
    assert found.any_k is not None
    # b may be 4/4 in the base run; c may have been passed there once.
    assert (found.all_k.n, found.all_k.of, found.all_k.both) == (2, 3, 1)
    assert (found.any_k.n, found.any_k.both, found.any_k.neither) == (2, 2, 0)
    assert not found.complete
    assert "of the 2 (of 3) asked" in found.verdict


def test_unmatched_tasks_are_refused_by_name_in_whatever_number() -> None:
    base, new = of_arrays([1] * 30, 1), of_arrays([1] * 12, 1)
    with pytest.raises(InputError) as caught:
        quick(base, new, names=("long", "short"))
    told = str(caught.value)
    assert "18 only in long (t0012, t0013" in told
    assert "and 8 more" in told
    assert "0 only in short, 12 in both" in told


def test_tasks_that_changed_are_refused_by_name() -> None:
    base, new = of_arrays([1, 0], 1), of_arrays([1, 1], 1)
    base = with_column(base, "task_hash", pl.lit("aaaa1111"))
    same = with_column(new, "task_hash", pl.lit("aaaa1111"))
    other = with_column(
        new,
        "task_hash",
        pl.when(pl.col("uid") == "t0001").then(pl.lit("bbbb")).otherwise(pl.lit("aaaa1111")),
    )
    assert quick(base, same).complete
    assert quick(base, new).complete  # one source does not say
    with pytest.raises(
        InputError, match=r"1 tasks are not the same.*t0001 is aaaa1111 in base and bbbb"
    ):
        quick(base, other)


def test_a_task_in_two_domains_is_refused_and_one_side_may_tell() -> None:
    base, new = of_arrays([1, 0], 1, ["x", "y"]), of_arrays([1, 0], 1, ["x", "z"])
    with pytest.raises(InputError, match=r"t0001 is in y and in z"):
        quick(base, new)
    found = quick(of_arrays([1, 0], 1), new)
    assert [row.domain for row in found.domains] == ["x", "z"]


def test_mixed_versions_are_refused_or_marked() -> None:
    base = with_column(of_arrays([1, 0], 1), "versions_hash", pl.lit("v1"))
    new = of_arrays([1, 1], 1)
    mixed = with_column(
        new,
        "versions_hash",
        pl.when(pl.col("uid") == "t0000").then(pl.lit("v1")).otherwise(pl.lit("v2")),
    )
    with pytest.raises(InputError, match=r"new: versions: .* 2 different versions .*v1: 1 rows"):
        quick(base, mixed)
    found = quick(base, mixed, allow_mixed=True)
    assert any("new mixes 2 versions" in note for note in found.notes)
    later = quick(base, with_column(new, "versions_hash", pl.lit("v2")))
    assert any("made by different versions" in note for note in later.notes)
    assert not quick(base, with_column(new, "versions_hash", pl.lit("v1"))).notes


def test_what_a_probe_stopped_is_no_evidence() -> None:
    base = of_arrays([1, 0], 2)
    stopped = with_column(base, "stopped", pl.col("uid") == "t0001")
    for pair in ((base, stopped), (stopped, base)):
        with pytest.raises(
            InputError, match=r"1 tasks were stopped by an adaptive probe \(t0001\)"
        ):
            quick(*pair)


def test_no_rows_are_refused() -> None:
    with pytest.raises(InputError, match="nothing to compare"):
        quick(results([]), of_arrays([1], 1))


def priced(tokens: int, passed: list[int]) -> Results:
    """A run of four attempts a task that spent so many tokens in each."""
    run = of_arrays(passed, 4)
    usage = [
        {"role": "policy", "model": "m", "input": tokens, "cached": 0, "output": 0, "reasoning": 0}
    ]
    columns = [pl.Series("usage", [usage] * run.attempts.height, run.attempts.schema["usage"])]
    return replace(run, attempts=run.attempts.with_columns(columns))


def test_costs_are_compared_under_one_list() -> None:
    prices = Prices.model_validate(
        {
            "name": "list",
            "date": "2026-08-17",
            "currency": "USD",
            "prices": [{"model": "m", "input": 1.0, "cached": 0.1, "output": 2.0}],
        }
    )
    base, new = priced(1_000_000, [1, 2, 4]), priced(500_000, [2, 4, 4])
    found = compare(base, new, prices=prices).cost
    assert found is not None
    assert found.basis == prices.label
    assert (found.base, found.new) == (12.0, 6.0)
    assert found.per_success.base == pytest.approx(12 / 7)
    assert found.per_success.new == pytest.approx(6 / 10)
    assert found.per_success.value == pytest.approx(6 / 10 - 12 / 7)
    assert found.per_success.high is not None
    assert found.per_success.high < 0
    # Nothing is known of it without a list, and a model that is not listed is not free.
    assert quick(base, new).cost is None
    other = prices.model_copy(
        update={"prices": (prices.prices[0].model_copy(update={"model": "n"}),)}
    )
    assert quick(base, new, prices=other).cost is None


def test_a_cost_that_is_known_in_part_is_none() -> None:
    base = with_column(of_arrays([1, 2], 2), "cost", pl.lit(0.5))
    part = with_column(base, "cost", pl.when(pl.col("uid") == "t0000").then(None).otherwise(0.5))
    found = quick(base, part).cost
    assert found is not None
    assert (found.base, found.new) == (2.0, None)
    assert found.per_success.value is None
    assert found.per_success.note == "the cost of some tries is not known"
    never = with_column(of_arrays([0, 0], 2), "cost", pl.lit(0.5))
    without = quick(base, never).cost
    assert without is not None
    assert without.per_success.new is without.per_success.value is None


def test_what_was_due_may_be_known_or_not() -> None:
    base = of_arrays([1, 2], 2)
    assert quick(base, base).final
    guessed = of_counts({"t0000": (1, 1, 0), "t0001": (2, 0, 0)}, expected=False)
    found = quick(base, guessed)
    assert found.complete
    assert not found.final
    missing = of_counts({"t0000": (2, 0, 0), "t0001": (1, 0, 0)})
    assert not quick(base, missing).complete
    extra = results(
        [
            {"uid": uid, "repetition": at, "outcome": "passed"}
            for uid in ("a", "b")
            for at in (0, 1)
        ],
        expected=Expected.of(["a"], 2),
    )
    only = quick(extra, extra)
    assert [pair.uid for pair in only.tasks] == ["a"]
    assert not only.complete


def test_nothing_has_no_sign() -> None:
    assert points(0.0) == points(-0.0001) == "0.0"
    assert points(0.0512) == "+5.1"
    assert points(-0.0512) == "-5.1"
    assert points(None) == "-"
