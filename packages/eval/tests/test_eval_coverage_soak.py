"""Intervals hold what they claim, on pools fitted to the published run: minutes of draws.

``OUTCOMEBOX_COVERAGE_POOLS`` asks for more pools than the 1,000 of each simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
import pytest

from coverage_pools import ATTEMPTS, Counts, Floats, Pool, coverage, covered, drawn, pools
from outcomebox.eval.compare.differences import Differences, differences
from outcomebox.eval.compare.model import Difference
from outcomebox.eval.compare.paired import difference_these
from outcomebox.eval.metrics.estimate import Interval
from outcomebox.eval.metrics.intervals import bootstrap
from outcomebox.eval.metrics.rates import pass_at_k, pass_hat_k
from outcomebox.eval.metrics.repeat import again, count_interval
from outcomebox.eval.metrics.resampled import Bootstrap

NUMBER = pools(1000)
PAIRS = max(200, NUMBER // 4)
DRAWS = 1000
LOW, HIGH = 0.93, 0.97
PUBLISHED = Pool()


def holds(share: float, number: int) -> bool:
    """Whether a coverage is between 93 and 97 %, give or take the luck of few simulations."""
    luck = 2 * math.sqrt(0.95 * 0.05 / number) if number < 1000 else 0.0
    return LOW - luck <= share <= HIGH + luck


def test_the_bootstrap_covers_pass_at_1_of_the_population() -> None:
    labels = PUBLISHED.labels
    found = coverage(
        PUBLISHED,
        lambda passed: bootstrap(passed / ATTEMPTS, labels, resamples=DRAWS),
        PUBLISHED.moment(1),
        number=NUMBER,
        seed=11,
    )
    assert holds(found, NUMBER), found


@pytest.mark.parametrize("k", [4, 20])
@pytest.mark.parametrize("rate", [pass_at_k, pass_hat_k])
def test_the_bootstrap_covers_pass_at_k_and_pass_hat_k(
    k: int, rate: Callable[[Counts, Counts, int], Floats]
) -> None:
    labels, clean = PUBLISHED.labels, np.full(sum(PUBLISHED.sizes), ATTEMPTS)
    truth = PUBLISHED.moment(k) if rate is pass_hat_k else 1 - PUBLISHED.moment(k, of_failing=True)
    found = coverage(
        PUBLISHED,
        lambda passed: bootstrap(rate(passed, clean, k), labels, resamples=DRAWS),
        truth,
        number=NUMBER // 2,
        seed=12,
    )
    assert holds(found, NUMBER // 2), found


@pytest.mark.parametrize(
    "pool",
    [Pool((8, 8, 8), 4), Pool((20,), 8), Pool((6, 6), 2, 0.6)],
    ids=["24 tasks", "20 tasks", "12 tasks"],
)
def test_the_bootstrap_holds_with_few_tasks(pool: Pool) -> None:
    labels = pool.labels
    found = coverage(
        pool,
        lambda passed: bootstrap(passed / pool.attempts, labels, resamples=DRAWS),
        pool.moment(1),
        number=2 * NUMBER,
        seed=13,
    )
    # Rates of few tasks have few values: a little more than for many is given away.
    assert 0.91 <= found <= 0.98, found


def pairs(base: Counts, new: Counts, pool: Pool) -> pl.DataFrame:
    """Two runs of the same tasks side by side."""
    return pl.DataFrame(
        {
            "uid": [f"t{at:04d}" for at in range(len(base))],
            "domain": pool.labels,
            "base_passed": base,
            "base_clean": np.full(len(base), pool.attempts),
            "new_passed": new,
            "new_clean": np.full(len(base), pool.attempts),
            "pair": [True] * len(base),
        }
    )


def runs(power: float, number: int, seed: int) -> Iterator[Differences]:
    """Comparisons of a policy with one whose chance at each task is a power of its own."""
    for random, chances in drawn(PUBLISHED, number, seed):
        base, new = (PUBLISHED.passed(random, each) for each in (chances, chances**power))
        yield differences(pairs(base, new, PUBLISHED), ATTEMPTS, Bootstrap(resamples=DRAWS))[0]


def ends(difference: Difference) -> Interval:
    """Its interval."""
    return Interval(difference.low, difference.high)


def test_where_there_is_no_difference_none_is_found() -> None:
    found = list(runs(1.0, PAIRS, 21))
    wrong = np.mean([each.pass_1.finding != "not shown" for each in found])
    assert holds(1 - float(wrong), PAIRS), wrong
    for name in ("all_k", "any_k"):
        asked = [getattr(each, name) for each in found]
        # The exact test errs on the careful side.
        assert np.mean([each.p < 0.05 for each in asked]) <= 0.05 + 2 * math.sqrt(0.0475 / PAIRS)
        # As many are gained, and lost, as is said of two runs of one policy.
        said = np.mean([each.by_luck for each in asked])
        for count in ("base_only", "new_only"):
            assert np.mean([getattr(each, count) for each in asked]) == pytest.approx(said, rel=0.1)


def test_a_difference_is_covered_and_the_smallest_shown_is_shown_four_times_in_five() -> None:
    pilot = next(runs(0.95, 1, 31)).pass_1
    assert pilot.smallest is not None
    low, high = 0.5, 1.0
    for _ in range(40):  # the power whose population differs by the smallest difference
        middle = (low + high) / 2
        if PUBLISHED.moment(middle) - PUBLISHED.moment(1) > pilot.smallest:
            low = middle
        else:
            high = middle
    truth = PUBLISHED.moment(high) - PUBLISHED.moment(1)
    assert truth == pytest.approx(pilot.smallest, abs=1e-6)
    found = [each.pass_1 for each in runs(high, PAIRS, 32)]
    assert holds(float(np.mean([covered(truth, ends(each)) for each in found])), PAIRS)
    shown = float(np.mean([each.finding == "better" for each in found]))
    assert shown == pytest.approx(0.8, abs=0.06), shown


def test_the_difference_of_these_tasks_is_covered() -> None:
    hits = []
    clean = np.full(sum(PUBLISHED.sizes), ATTEMPTS)
    for random, chances in drawn(PUBLISHED, NUMBER, 41):
        better = chances**0.8
        base, new = (PUBLISHED.passed(random, each) for each in (chances, better))
        found = difference_these((base, clean), (new, clean), of=len(clean), level=0.95)
        hits.append(covered(float((better - chances).mean()), ends(found)))
    assert holds(float(np.mean(hits)), NUMBER)


def test_the_count_of_a_rerun_is_near_what_is_told() -> None:
    told, seen, hits = [], [], []
    for random, chances in drawn(PUBLISHED, NUMBER // 2, 51):
        first, second = (PUBLISHED.passed(random, chances) for _ in range(2))
        odds = again(first, np.full(len(first), ATTEMPTS), ATTEMPTS)
        count = int((second == ATTEMPTS).sum())
        low, high = count_interval(odds)
        told.append(odds.sum())
        seen.append(count)
        hits.append(low <= count <= high)
    # Jeffreys' prior has more tasks at the edge than this pool: what is told is up to a tenth high.
    assert np.mean(told) == pytest.approx(np.mean(seen), rel=0.12)
    assert np.mean(hits) > 0.85, np.mean(hits)
