"""When a probe leaves a task: what the rules decide, what they save, and how often they err."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.selection.bands import BAND_NAMES, DEFAULT_EDGES, DEFAULT_RETAIN
from outcomebox.selection.edges import kept_by
from outcomebox.selection.stopping import StopRule, retained_mass, settled, stop_rule, walk
from selection_rows import curation

EXACT, BAYES = StopRule("exact", 8), StopRule("bayes", 16)


def probe(rule: StopRule, outcomes: np.ndarray) -> tuple[int, str]:
    """Clean runs that a task takes under a rule, and what is decided."""
    passes = 0
    for runs, passed in enumerate(outcomes, start=1):
        passes += int(passed)
        decision = rule.decision(passes, runs - passes)
        if decision is not None:
            return runs, decision
    raise AssertionError("every task is decided in the end")


def random_rule(rng: np.random.Generator) -> StopRule:
    """An exact rule of random attempts, edges and retained bands."""
    inner = np.unique(np.round(rng.uniform(0.01, 0.99, 4), 3))
    edges = (0.0, *inner.tolist(), 1.0) if inner.size == 4 else DEFAULT_EDGES
    retain = tuple(name for name in BAND_NAMES if rng.random() < 0.5) or DEFAULT_RETAIN
    return StopRule("exact", int(rng.integers(1, 17)), edges, retain)


def test_the_exact_rule_keeps_the_same_tasks_on_1000_random_pools() -> None:
    rng = np.random.default_rng(20260214)
    saved = 0
    for _ in range(1_000):
        rule = random_rule(rng)
        tasks = int(rng.integers(1, 13))
        a, b = rng.uniform(0.1, 3, 2)
        outcomes = rng.random((tasks, rule.most)) < rng.beta(a, b, tasks)[:, None]
        whole = kept_by(outcomes.sum(axis=1), np.full(tasks, rule.most), rule.edges, rule.retain)
        for each, kept in zip(outcomes, whole, strict=True):
            runs, decision = probe(rule, each)
            assert decision == ("keep" if kept else "drop"), (rule, each)
            saved += rule.most - runs
    assert saved > 0


@pytest.mark.parametrize(
    ("rule", "a", "b", "fewer"),
    [(EXACT, 0.3, 0.6, 0.25), (BAYES, 0.3, 0.6, 0.20), (EXACT, 1, 1, 0.4), (BAYES, 1, 1, 0.3)],
)
def test_fewer_probes_than_eight_a_task(rule: StopRule, a: float, b: float, fewer: float) -> None:
    rng = np.random.default_rng(7)
    rates = rng.beta(a, b, 5_000)
    runs = [probe(rule, rng.random(rule.most) < rate)[0] for rate in rates]
    assert 1 - np.mean(runs) / 8 >= fewer
    # The same without chance: the law of the rule, followed exactly.
    assert np.mean(walk(rule, rates)[0]) == pytest.approx(np.mean(runs), rel=0.03)


def test_the_bayes_rule_is_as_accurate_as_eight_attempts() -> None:
    rates = np.random.default_rng(3).beta(0.3, 0.6, 20_000)
    right = (rates >= 0.08) & (rates < 0.9)
    accuracy = []
    for rule in (EXACT, BAYES):
        kept = walk(rule, rates)[1]
        accuracy.append(float(np.where(right, kept, 1 - kept).mean()))
    assert accuracy[0] == pytest.approx(0.851, abs=0.005)
    assert abs(accuracy[1] - accuracy[0]) < 0.01


@given(st.integers(1, 9), st.floats(0, 1))
@settings(max_examples=60)
def test_a_rule_is_followed_exactly(most: int, rate: float) -> None:
    rule = StopRule("exact", most)
    runs = kept = 0.0
    for outcomes in product((True, False), repeat=most):
        chance = rate ** sum(outcomes) * (1 - rate) ** (most - sum(outcomes))
        took, decision = probe(rule, np.asarray(outcomes))
        runs += chance * took
        kept += chance * (decision == "keep")
    assert [float(each) for each in walk(rule, rate)] == pytest.approx([runs, kept])


@pytest.mark.parametrize("rule", [EXACT, BAYES, StopRule("exact", 5, retain=("intermediate",))])
def test_no_attempt_that_is_made_at_once_is_in_vain(rule: StopRule) -> None:
    for runs in range(rule.most + 1):
        for passes in range(runs + 1):
            if rule.decision(passes, runs - passes) is not None:
                assert rule.least_more(passes, runs - passes) == 0
                continue
            more = rule.least_more(passes, runs - passes)
            decided = [
                rule.decision(passes + won, runs - passes + extra - won)
                for extra in range(1, more)
                for won in range(extra + 1)
            ]
            assert set(decided) <= {None}
            ends = [
                rule.decision(passes + won, runs - passes + more - won) for won in range(more + 1)
            ]
            assert set(ends) != {None}


def test_what_is_certain_stays_certain() -> None:
    for passes, failures in product(range(9), repeat=2):
        if passes + failures < 8 and (decision := settled(passes, failures, 8)) is not None:
            assert settled(passes + 1, failures, 8) == decision
            assert settled(passes, failures + 1, 8) == decision


def test_bayes_decides_by_its_thresholds_and_by_the_band_at_the_end() -> None:
    for runs in range(17):
        for passes in range(runs + 1):
            found = BAYES.decision(passes, runs - passes)
            mass = float(retained_mass(passes, runs))
            if runs < 3:
                assert found is None
            elif runs < 16:
                assert (found == "keep") is (mass > 0.8)
                assert (found == "drop") is (1 - mass > 0.75)
            else:
                kept = bool(kept_by([passes], [16], DEFAULT_EDGES, DEFAULT_RETAIN)[0])
                assert found == ("keep" if kept else "drop")


def test_the_rule_of_settings() -> None:
    assert stop_rule(curation()) is None
    exact = stop_rule(curation(probe={"stop": "exact", "attempts": 5}))
    assert exact is not None
    assert (exact.kind, exact.most) == ("exact", 5)
    bayes = stop_rule(
        curation(
            probe={"stop": "bayes", "bayes": {"keep": 0.9, "least": 4, "most": 12}},
            bands={"retain": ["intermediate"]},
        )
    )
    assert bayes == StopRule(
        "bayes", 12, DEFAULT_EDGES, ("intermediate",), keep=0.9, drop=0.75, least=4
    )


@pytest.mark.parametrize("counts", [(-1, 0), (5, 4)])
def test_impossible_counts_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        EXACT.decision(*counts)
