"""Intervals hold what they claim, on pools fitted to the published run: the quick part.

The bootstrap, comparisons and small runs are in test_eval_coverage_soak.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from coverage_pools import ATTEMPTS, ICC, Counts, Pool, coverage, covered, drawn
from outcomebox.eval.metrics.estimate import Interval
from outcomebox.eval.metrics.intervals import cluster_t, jeffreys, wilson, within_tasks
from outcomebox.eval.metrics.rates import all_of_k, pass_hat_k

NUMBER = 1000
# 95 % of 1,000 is within 93 to 97 % but once in 250 times; the seeds are fixed.
HOLDS = pytest.approx(0.95, abs=0.02)
PUBLISHED = Pool()


def pooled(passed: Counts) -> Interval:
    """What is wrong: attempts as if they were independent."""
    total = len(passed) * ATTEMPTS
    rate = passed.sum() / total
    half = 1.959964 * math.sqrt(rate * (1 - rate) / total)
    return Interval(rate - half, rate + half)


def test_the_pool_is_that_of_the_published_run() -> None:
    random = np.random.default_rng(0)
    assert sum(PUBLISHED.sizes) == 507
    assert PUBLISHED.moment(1) == pytest.approx(0.517, abs=5e-4)
    chances = np.concatenate([PUBLISHED.tasks(random) for _ in range(50)])
    within = np.mean(chances * (1 - chances))
    rate = chances.mean()
    # Means of domains lie apart as well, which adds a little to the correlation.
    assert 1 - within / (rate * (1 - rate)) == pytest.approx(ICC, abs=0.015)


def test_a_population_interval_by_students_t_covers_95_percent() -> None:
    labels = PUBLISHED.labels
    found = coverage(
        PUBLISHED,
        lambda passed: cluster_t(passed / ATTEMPTS, labels),
        PUBLISHED.moment(1),
        number=NUMBER,
        seed=1,
    )
    assert found == HOLDS


def test_pooled_attempts_cover_48_percent_where_they_claim_95() -> None:
    found = coverage(PUBLISHED, pooled, PUBLISHED.moment(1), number=NUMBER, seed=1)
    assert found == pytest.approx(0.48, abs=0.04)


def test_the_interval_of_these_tasks_covers_their_own_mean_and_not_the_population() -> None:
    own, other = [], []
    for random, chances in drawn(PUBLISHED, NUMBER, 2):
        passed = PUBLISHED.passed(random, chances)
        interval = within_tasks(passed, np.full(len(passed), ATTEMPTS))
        own.append(covered(float(chances.mean()), interval))
        other.append(covered(PUBLISHED.moment(1), interval))
    assert np.mean(own) == HOLDS
    assert np.mean(other) < 0.5


def test_wilson_covers_the_share_of_dependable_tasks() -> None:
    found = coverage(
        PUBLISHED,
        lambda passed: wilson(int((passed == ATTEMPTS).sum()), len(passed)),
        PUBLISHED.moment(ATTEMPTS),
        number=NUMBER,
        seed=3,
    )
    assert found == HOLDS


def test_jeffreys_covers_the_rate_of_a_task_on_average() -> None:
    hits = []
    for random, chances in drawn(PUBLISHED, 40, 4):
        ends = jeffreys(PUBLISHED.passed(random, chances), np.full(len(chances), ATTEMPTS))
        hits.append(np.mean((ends[:, 0] <= chances) & (chances <= ends[:, 1])))
    assert np.mean(hits) == HOLDS


def test_the_power_of_the_rate_is_biased_and_pass_hat_k_is_not() -> None:
    unbiased, power = [], []
    for random, chances in drawn(PUBLISHED, 200, 5):
        passed = PUBLISHED.passed(random, chances)
        unbiased.append(pass_hat_k(passed, np.full(len(passed), ATTEMPTS), 10).mean())
        power.append(((passed / ATTEMPTS) ** 10).mean())
    truth = PUBLISHED.moment(10)
    assert np.mean(unbiased) == pytest.approx(truth, abs=0.003)
    assert np.mean(power) - truth == pytest.approx(0.022, abs=0.005)


def test_a_task_passed_20_of_20_is_not_sure_to_do_so_again() -> None:
    # Its own posterior says .71; over the pool it is less, since few such tasks are certain.
    again = []
    for random, chances in drawn(PUBLISHED, 100, 6):
        first, second = (PUBLISHED.passed(random, chances) for _ in range(2))
        once = all_of_k(first, np.full(len(first), ATTEMPTS), ATTEMPTS) == 1
        again.append((once.sum(), (once & (second == ATTEMPTS)).sum()))
    whole = np.sum(again, axis=0)
    assert whole[1] / whole[0] == pytest.approx(
        PUBLISHED.moment(2 * ATTEMPTS) / PUBLISHED.moment(ATTEMPTS), abs=0.02
    )
    assert whole[1] / whole[0] == pytest.approx(0.65, abs=0.03)
