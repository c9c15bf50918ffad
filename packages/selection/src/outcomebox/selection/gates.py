"""Passes every task through the gates; each one that is not kept has exactly one reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from outcomebox.selection.bands import Band
from outcomebox.selection.content import Content
from outcomebox.selection.curation import Curation, ReferenceModelGate
from outcomebox.selection.decision import (
    DUPLICATE,
    EXCLUDED,
    NEAR_COPY,
    REFERENCE,
    STALE,
    STOPPED,
    UNDECIDED,
    UNPROBED,
    UNSOLVED,
    Estimate,
    TaskDecision,
)
from outcomebox.selection.mixed import mixed_chance
from outcomebox.selection.posterior import band_index, band_masses, interval, posterior_mean
from outcomebox.selection.reading.facts import comparable
from outcomebox.selection.results import TaskResult
from outcomebox.selection.similar import NearCopy, best_of_each, near_copies
from outcomebox.selection.stopping import Decision, stop_rule

# A reason and its detail.
Refusal = tuple[str, str | None]


@dataclass(frozen=True)
class Evidence:
    """What is known of the tasks beside the episodes of the policy.

    Attributes:
        stale: uid to the hash its episodes were recorded with, where that is not the task's own.
        golden: results of the golden actions by uid; None where none were run.
        model: results of the reference model by uid; None where there is none.
        contents: what the tasks say, by uid, as far as it is known.
        protected: what tasks say that must not be selected, nor a near copy of them.
    """

    stale: Mapping[str, str]
    golden: Mapping[str, TaskResult] | None = None
    model: Mapping[str, TaskResult] | None = None
    contents: Mapping[str, Content] | None = None
    protected: Mapping[str, Content] | None = None


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
    results: Sequence[TaskResult], curation: Curation, evidence: Evidence
) -> tuple[dict[str, Refusal], dict[str, NearCopy]]:
    """The tasks that no band is asked about.

    Of several tasks with equal content the one with the most clean runs stays (the smallest uid of
    equals), and none if one of them is excluded: an excluded task must not come back as its copy.
    No gate over counts has a say here, so that a higher gate never brings a task back.

    Args:
        results: one record a task, sorted by uid.
        curation: the settings, exclusion lists resolved.
        evidence: what is known beside the episodes.

    Returns:
        uid to reason and detail, and what each task found to be a near copy is one of.
    """
    excluded = frozenset(curation.exclude.uids) | frozenset(evidence.protected or ())
    golden = evidence.golden
    refused: dict[str, Refusal] = {}
    for result in results:
        uid = result.task.uid
        if uid in excluded:
            refused[uid] = EXCLUDED, None
        elif golden is not None and (problem := _golden_fault(result, golden)):
            refused[uid] = REFERENCE, problem
        elif uid in evidence.stale:
            detail = f"recorded with {evidence.stale[uid]}, the task is {result.task.hash}"
            refused[uid] = STALE, detail
    near = _near_excluded(results, excluded, curation, evidence)
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
        elif task.uid in near:
            refused[task.uid] = NEAR_COPY, copy_text(near[task.uid])
        elif first.setdefault(task.content, task.uid) != task.uid:
            refused[task.uid] = DUPLICATE, f"of {first[task.content]}"
    if curation.gates.duplicates == "near":
        near |= _near_each_other(results, refused, curation, evidence)
    return refused, near


def _near_excluded(
    results: Sequence[TaskResult],
    excluded: frozenset[str],
    curation: Curation,
    evidence: Evidence,
) -> dict[str, NearCopy]:
    """The near copies of excluded tasks."""
    known = evidence.contents or {}
    protected = dict(evidence.protected or {})
    protected |= {uid: content for uid, content in known.items() if uid in excluded}
    uids = [r.task.uid for r in results if r.task.uid not in excluded and r.task.uid in known]
    if not protected or not uids:
        return {}
    asked = {uid: known[uid] for uid in uids}
    limits = curation.exclude.similarity, curation.exclude.state_similarity
    return best_of_each(near_copies(asked, protected, *limits))


def _near_each_other(
    results: Sequence[TaskResult],
    refused: dict[str, Refusal],
    curation: Curation,
    evidence: Evidence,
) -> dict[str, NearCopy]:
    """Near copies among the tasks that are left; all but one of each are refused, in place."""
    known = evidence.contents or {}
    left = [r for r in results if r.task.uid not in refused and r.task.uid in known]
    asked = {r.task.uid: known[r.task.uid] for r in left}
    limits = curation.exclude.similarity, curation.exclude.state_similarity
    copies: dict[str, list[NearCopy]] = {}
    for copy in near_copies(asked, asked, *limits):
        copies.setdefault(copy.uid, []).append(copy)
    stays: set[str] = set()
    found: dict[str, NearCopy] = {}
    for result in sorted(left, key=lambda result: (-result.clean_runs, result.task.uid)):
        uid = result.task.uid
        kept = next((copy for copy in copies.get(uid, ()) if copy.of in stays), None)
        if kept is None:
            stays.add(uid)
        else:
            found[uid] = kept
            refused[uid] = DUPLICATE, copy_text(kept)
    return found


def copy_text(copy: NearCopy) -> str:
    """A near copy in words, with its figures."""
    state = "" if copy.state is None else f", state {copy.state:.2f}"
    return f"near copy of {copy.of}: text {copy.text:.2f}{state}"


def solved_probability(result: TaskResult, rate: float) -> float:
    """P(pass rate > rate) of the reference model, under Jeffreys' prior."""
    k, n = result.passes, result.clean_runs
    return float(special.betaincc(k + 0.5, n - k + 0.5, rate))


def unsolved(result: TaskResult | None, gate: ReferenceModelGate) -> str | None:
    """Why the reference model does not show that a task can be solved; None if it does."""
    if result is None or not result.clean_runs:
        return "no clean run of the reference model"
    counts = f"{result.passes} of {result.clean_runs} clean runs of the reference model passed"
    if result.passes < gate.passes or result.clean_runs < gate.runs:
        return f"{counts}, {gate.passes} of at least {gate.runs} are asked for"
    if gate.rate is not None and gate.probability is not None:
        chance = solved_probability(result, gate.rate)
        if chance < gate.probability:
            return (
                f"{counts}: P(pass rate > {gate.rate:g}) is {chance:.3f}, "
                f"{gate.probability:g} is asked for"
            )
    return None


def _golden_fault(result: TaskResult, reference: Mapping[str, TaskResult]) -> str | None:
    golden = reference.get(result.task.uid)
    if golden is None:
        return "no run of the golden actions"
    if _differ(golden.task.hash, result.task.hash):
        return f"golden actions were run on {golden.task.hash}, the task is {result.task.hash}"
    if golden.errored_runs:
        return "system_error in the golden actions"
    if golden.passes < golden.clean_runs:
        return "the golden actions failed"
    return None


def _differ(one: str, other: str) -> bool:
    """Whether two hashes are those of two versions; one that tells no version differs from none."""
    return one != other and comparable(one) and comparable(other)


def stale_hash(result: TaskResult, task_hash: str) -> str | None:
    """The hash that a result was recorded with, where it is of another version of the task."""
    return result.task.hash if _differ(result.task.hash, task_hash) else None


def decide(
    results: Iterable[TaskResult], curation: Curation, evidence: Evidence
) -> tuple[TaskDecision, ...]:
    """Decides about every task.

    Args:
        results: one record a task.
        curation: the settings, exclusion lists resolved.
        evidence: what is known beside the episodes.

    Returns:
        One decision a task, sorted by uid, sides of the split still open.
    """
    ordered = sorted(results, key=lambda result: result.task.uid)
    refused, near = refused_before_results(ordered, curation, evidence)
    gate = curation.gates.reference_model
    known = estimates(ordered, curation)
    decisions = []
    for result, estimate, found in zip(
        ordered, known, _bands(ordered, known, curation), strict=True
    ):
        uid = result.task.uid
        refusal = refused.get(uid)
        if refusal is not None and refusal[0] == REFERENCE:
            # Episodes of a task that its own golden actions do not pass enter no figure.
            decisions.append(TaskDecision(result, None, None, False, *refusal))
            continue
        model = None if evidence.model is None else evidence.model.get(uid)
        if model is not None and stale_hash(model, result.task.hash) is not None:
            model = None
        if refusal is None and evidence.model is not None:
            problem = unsolved(model, gate)
            refusal = None if problem is None else (UNSOLVED, problem)
        early = early_decision(result, curation)
        band = None if early is not None else found
        reason, detail = refusal or _by_results(result, band, early, curation)
        decisions.append(
            TaskDecision(
                result,
                estimate,
                band,
                early is not None,
                reason,
                detail,
                model=model,
                near=near.get(uid),
            )
        )
    return tuple(decisions)


def _bands(
    results: Sequence[TaskResult], known: Sequence[Estimate | None], curation: Curation
) -> list[Band | None]:
    """The band of every task; None without enough clean runs."""
    bands, least = curation.bands.bands, curation.gates.min_clean_runs
    # One call for all: one for each of thousands of tasks takes seconds.
    masses = np.asarray([(0.0,) * len(bands) if e is None else e.masses for e in known])
    return [
        None if estimate is None or result.clean_runs < least else bands[winner]
        for result, estimate, winner in zip(
            results, known, band_index(masses.reshape(-1, len(bands))).tolist(), strict=True
        )
    ]


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
