"""Passes every task through the gates; each one that is not kept has exactly one reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from outcomebox.selection.bands import Band
from outcomebox.selection.curation import Curation
from outcomebox.selection.decision import (
    DUPLICATE,
    EXCLUDED,
    REFERENCE,
    STALE,
    STOPPED,
    UNDECIDED,
    UNPROBED,
    Estimate,
    TaskDecision,
)
from outcomebox.selection.mixed import mixed_chance
from outcomebox.selection.posterior import band_index, band_masses, interval, posterior_mean
from outcomebox.selection.results import TaskResult
from outcomebox.selection.stopping import Decision, stop_rule

# A reason and its detail.
Refusal = tuple[str, str | None]


def estimates(results: Sequence[TaskResult], curation: Curation) -> list[Estimate | None]:
    """The posterior of every task, in the order given; None for tasks without a clean run."""
    passes = [result.passes for result in results]
    runs = [result.clean_runs for result in results]
    columns = zip(
        runs,
        band_masses(passes, runs, curation.bands.edges).tolist(),
        posterior_mean(passes, runs).tolist(),
        interval(passes, runs).tolist(),
        mixed_chance(passes, runs, curation.group_size).tolist(),
        strict=True,
    )
    return [
        Estimate(tuple(masses), mean, (ends[0], ends[1]), share) if clean else None
        for clean, masses, mean, ends, share in columns
    ]


def early_decision(result: TaskResult, curation: Curation) -> Decision | None:
    """What an adaptive probe had decided when it left the task before all attempts; else None."""
    rule = stop_rule(curation)
    if rule is None or not 0 < result.clean_runs < rule.most:
        return None
    return rule.decision(result.passes, result.clean_runs - result.passes)


def refused_before_results(
    results: Sequence[TaskResult],
    excluded: frozenset[str],
    stale: Mapping[str, str],
    reference: Mapping[str, TaskResult] | None,
) -> dict[str, Refusal]:
    """The tasks that no band is asked about.

    Of several tasks with equal content the one with the most clean runs stays (the smallest uid of
    equals), and none if one of them is excluded: an excluded task must not come back as its copy.

    Args:
        results: one record a task.
        excluded: uids never to be selected.
        stale: uid to the hash its episodes were recorded with, where that is not the task's own.
        reference: results of the golden actions by uid; None where none were run.

    Returns:
        uid to reason and detail.
    """
    refused: dict[str, Refusal] = {}
    for result in results:
        uid = result.task.uid
        if uid in excluded:
            refused[uid] = EXCLUDED, None
        elif reference is not None and (problem := _golden_fault(result, reference)):
            refused[uid] = REFERENCE, problem
        elif uid in stale:
            refused[uid] = STALE, f"recorded with {stale[uid]}, the task is {result.task.hash}"
    excluded_content = {
        result.task.content: result.task.uid for result in results if result.task.uid in excluded
    }
    first: dict[str, str] = {}
    for result in sorted(results, key=lambda result: (-result.clean_runs, result.task.uid)):
        task = result.task
        if task.uid in refused:
            continue
        if task.content in excluded_content:
            refused[task.uid] = DUPLICATE, f"of the excluded {excluded_content[task.content]}"
        elif first.setdefault(task.content, task.uid) != task.uid:
            refused[task.uid] = DUPLICATE, f"of {first[task.content]}"
    return refused


def _golden_fault(result: TaskResult, reference: Mapping[str, TaskResult]) -> str | None:
    golden = reference.get(result.task.uid)
    if golden is None:
        return "no run of the golden actions"
    if golden.task.hash != result.task.hash:
        return f"golden actions were run on {golden.task.hash}, the task is {result.task.hash}"
    if golden.errored_runs:
        return "system_error in the golden actions"
    if golden.passes < golden.clean_runs:
        return "the golden actions failed"
    return None


def decide(
    results: Iterable[TaskResult],
    curation: Curation,
    stale: Mapping[str, str],
    reference: Mapping[str, TaskResult] | None,
) -> tuple[TaskDecision, ...]:
    """Decides about every task.

    Args:
        results: one record a task.
        curation: the settings, exclusion lists resolved.
        stale: see `refused_before_results`.
        reference: see `refused_before_results`.

    Returns:
        One decision a task, sorted by uid, sides of the split still open.
    """
    ordered = sorted(results, key=lambda result: result.task.uid)
    refused = refused_before_results(ordered, frozenset(curation.exclude.uids), stale, reference)
    bands = curation.bands.bands
    decisions = []
    for result, estimate in zip(ordered, estimates(ordered, curation), strict=True):
        refusal = refused.get(result.task.uid)
        if refusal is not None and refusal[0] == REFERENCE:
            # Episodes of a task that its own golden actions do not pass enter no figure.
            decisions.append(TaskDecision(result, None, None, False, *refusal))
            continue
        early = early_decision(result, curation)
        band = None if early is not None else _band(result, estimate, bands, curation)
        reason, detail = refusal or _by_results(result, band, early, curation)
        decisions.append(TaskDecision(result, estimate, band, early is not None, reason, detail))
    return tuple(decisions)


def _band(
    result: TaskResult, estimate: Estimate | None, bands: Sequence[Band], curation: Curation
) -> Band | None:
    if estimate is None or result.clean_runs < curation.gates.min_clean_runs:
        return None
    return bands[int(band_index(np.asarray(estimate.masses)))]


def _by_results(
    result: TaskResult, band: Band | None, early: Decision | None, curation: Curation
) -> tuple[str | None, str | None]:
    if early is not None:
        return (None if early == "keep" else STOPPED), None
    if not result.clean_runs:
        return UNPROBED, f"{result.tries} tries, all system errors" if result.tries else "no tries"
    if band is None:
        return UNDECIDED, f"{result.clean_runs} of {curation.gates.min_clean_runs} clean runs"
    return (None if band.name in curation.bands.retain else band.name), None
