"""A 20-attempt evaluation of the bundled domains with policies of known success, on real sessions.

Two policies whose chance at each task is known, and one of them a second time: the estimates are
inside their intervals, the comparison finds the difference that was planted, and none where there
is none. ``OUTCOMEBOX_PLANTED_TASKS`` takes fewer tasks than all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import anyio
import numpy as np
import pytest
from scipy.stats import beta

from outcomebox.eval.compare import Comparison, compare
from outcomebox.eval.metrics.summary import Summary, summarize
from outcomebox.eval.results import Expected, Results, read_results
from planted_policy import changing_tasks, drawn, run_planted

ATTEMPTS = 20
SEEDS = {"base": 101, "better": 102, "base again": 103}


def chances() -> dict[str, dict[str, float]]:
    """Task by task: as spread out as in the published run, and a policy that is better at each."""
    limit = os.environ.get("OUTCOMEBOX_PLANTED_TASKS")
    uids = changing_tasks()
    if limit is not None:
        uids = uids[:: -(-len(uids) // int(limit))]
    # Quantiles in an order that has nothing to do with domains.
    order = np.random.default_rng(7).permutation(len(uids))
    quantiles = beta(0.685, 0.64).ppf((order + 0.5) / len(uids))
    base = dict(zip(uids, quantiles.tolist(), strict=True))
    better = {uid: chance**0.5 for uid, chance in base.items()}
    return {"base": base, "better": better, "base again": base}


@pytest.fixture(scope="module")
def planted() -> dict[str, dict[str, float]]:
    """The chances of each run."""
    return chances()


@pytest.fixture(scope="module")
def runs(
    planted: dict[str, dict[str, float]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Results]:
    """The three runs."""
    folder = tmp_path_factory.mktemp("planted")
    found = {}
    for name, own in planted.items():
        rows = folder / f"{name}.jsonl"
        anyio.run(run_planted, own, ATTEMPTS, rows, SEEDS[name])
        due = Expected.of([*own], ATTEMPTS)
        found[name] = read_results([str(rows)], kind="ours", expected=due)
    return found


@pytest.fixture(scope="module")
def summaries(runs: dict[str, Results]) -> dict[str, Summary]:
    """Their figures."""
    return {name: summarize(results) for name, results in runs.items()}


def mean_chance(own: Mapping[str, float], domain: str = "") -> float:
    """The true mean over the tasks, or over those of a domain."""
    return float(np.mean([chance for uid, chance in own.items() if uid.startswith(domain)]))


@pytest.mark.parametrize("name", SEEDS)
def test_estimates_are_inside_their_intervals(
    planted: dict[str, dict[str, float]], summaries: dict[str, Summary], name: str
) -> None:
    own, found = planted[name], summaries[name]
    assert found.final
    assert {task.uid: task.passed for task in found.tasks} == drawn(own, ATTEMPTS, SEEDS[name])
    groups = [("", found.overall), *((group.name, group) for group in found.groups["domain"])]
    for domain, group in groups:
        truth = mean_chance(own, domain)
        for estimate in (
            group.pass_1.these_tasks,
            group.pass_1.population,
            group.pass_1.population_t,
        ):
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low <= truth <= estimate.high, (domain, estimate)
    inside = [
        task.low <= own[task.uid] <= task.high
        for task in found.tasks
        if task.low is not None and task.high is not None
    ]
    # 95 % are expected; of 90, fewer than 79 are once in 1,000 times.
    assert np.mean(inside) >= 0.87
    dependable = found.overall.dependable.share
    assert dependable.low is not None
    assert dependable.high is not None
    assert (
        dependable.low <= np.mean([chance**ATTEMPTS for chance in own.values()]) <= dependable.high
    )
    assert found.overall.failures.silent.count == 0  # they wrote nothing at all


def compared(runs: dict[str, Results], new: str) -> Comparison:
    """A run against the first."""
    return compare(runs["base"], runs[new], names=("base", new))


def test_the_planted_difference_is_found(
    planted: dict[str, dict[str, float]], runs: dict[str, Results]
) -> None:
    found = compared(runs, "better")
    truth = mean_chance(planted["better"]) - mean_chance(planted["base"])
    for difference in (found.pass_1, found.pass_1_these):
        assert difference.finding == "better"
        assert difference.low is not None
        assert difference.high is not None
        assert difference.low <= truth <= difference.high
    assert found.all_k is not None
    assert found.all_k.new_only > found.all_k.base_only
    if found.all_k.n >= 90:  # all tasks: fewer carry the difference of the rates alone
        assert found.all_k.p < 0.05
    assert [row.pass_1.finding for row in found.domains] == ["better", "better"]
    assert found.verdict.startswith("better passes ")


def test_none_is_found_where_there_is_none(runs: dict[str, Results]) -> None:
    found = compared(runs, "base again")
    assert found.pass_1.finding == found.pass_1_these.finding == "not shown"
    for asked in (found.all_k, found.any_k):
        assert asked is not None
        assert asked.p > 0.05
        assert asked.difference.finding == "not shown"
    assert all(row.pass_1.finding == "not shown" for row in found.domains)
    assert "No difference of pass@1 is shown" in found.verdict
