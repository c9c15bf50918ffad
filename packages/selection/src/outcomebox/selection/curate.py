"""The one function that makes a selection: tasks and results in, decisions and split out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from outcomebox.selection.audit import audit
from outcomebox.selection.content import Content
from outcomebox.selection.curation import Curation
from outcomebox.selection.decision import NEAR_COPY, REASONS, Side, TaskDecision
from outcomebox.selection.errors import EmptyPoolError
from outcomebox.selection.figures import figures
from outcomebox.selection.gates import Evidence, copy_text, decide, stale_hash
from outcomebox.selection.mixed import expected_useful_groups
from outcomebox.selection.outlook import outlook
from outcomebox.selection.results import TaskResult
from outcomebox.selection.split import Member, split_pool
from outcomebox.selection.tasks import TaskInfo
from outcomebox.selection.tries import Tries

# Near copies that a note names; the table of all tasks has every one.
_SHOWN = 5


@dataclass(frozen=True)
class Selection:
    """A finished selection.

    Attributes:
        curation: the settings it was made with.
        decisions: one a task, sorted by uid.
        notes: what a reader of the figures has to know, as sentences.
        tries: what the tries cost and how they broke, where the rows tell; it decides nothing.
    """

    curation: Curation
    decisions: tuple[TaskDecision, ...]
    notes: tuple[str, ...]
    tries: Tries | None = None

    @cached_property
    def outlook(self) -> dict[str, Any] | None:
        """What the pool will give (`outlook.outlook`); None without a pool."""
        return outlook(self)

    @cached_property
    def audit(self) -> dict[str, Any] | None:
        """What system errors go with (`audit.audit`); None where nothing is known."""
        return audit(self.tries, self.curation.predict.seed)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures that all outputs show (`figures.figures`)."""
        return figures(self)

    @cached_property
    def kept(self) -> tuple[TaskDecision, ...]:
        """The pool, sorted by uid."""
        return tuple(decision for decision in self.decisions if decision.kept)

    def side(self, side: Side) -> tuple[TaskDecision, ...]:
        """One side of the split, sorted by uid."""
        return tuple(decision for decision in self.decisions if decision.side == side)

    def reasons(self) -> dict[str, int]:
        """How many tasks each reason kept out, in the order of `REASONS`, zeros left out."""
        counts = Counter(decision.reason for decision in self.decisions)
        return {reason: counts[reason] for reason in REASONS if counts[reason]}

    def expected_groups(self) -> float:
        """Mixed groups to expect when every task of the pool is tried by one group."""
        return _groups(self.kept)

    def mixed_share(self) -> float | None:
        """Predicted share of mixed groups in the pool; None for an empty one."""
        return _share(self.kept)

    def mixed_share_unselected(self) -> float | None:
        """The same share over every task with a clean run: what training on all would get."""
        return _share(self.decisions)


def _groups(decisions: Iterable[TaskDecision]) -> float:
    shares = (d.estimate.mixed_share for d in decisions if d.estimate is not None)
    return expected_useful_groups(list(shares))


def _share(decisions: Iterable[TaskDecision]) -> float | None:
    known = [decision for decision in decisions if decision.estimate is not None]
    return _groups(known) / len(known) if known else None


def curate(
    tasks: Iterable[TaskInfo],
    results: Iterable[TaskResult],
    curation: Curation,
    *,
    reference: Iterable[TaskResult] | None = None,
    reference_model: Iterable[TaskResult] | None = None,
    contents: Mapping[str, Content] | None = None,
    protected: Mapping[str, Content] | None = None,
    tries: Tries | None = None,
) -> Selection:
    """Decides which tasks make the pool and on which side each one stands.

    It reads no file and no clock, and the order of its inputs does not matter.

    Args:
        tasks: the tasks to choose from. One without a result is unprobed.
        results: what the probes came to, by `task_results`. Results of other tasks are left out,
            and a note says so; a result whose hash is not its task's is stale.
        curation: settings with `exclude.lists` resolved (`resolve_excluded`).
        reference: results of the golden actions. Where given, a task is kept only if they pass.
        reference_model: results of a stronger model. Where given, a task is kept only if they show
            what `gates.reference_model` asks for.
        contents: what the tasks say, by uid, for finding near copies.
        protected: what excluded tasks say that may not be among `tasks`, by uid; neither these
            uids nor near copies of them are kept.
        tries: what the tries cost and how they broke; it decides nothing.

    Returns:
        The selection; its pool is not empty.

    Raises:
        EmptyPoolError: with the count of each reason, if no task is kept.
        ValueError: if exclusion lists are not resolved, or tasks, results or reference name a uid
            twice.
    """
    if curation.exclude.lists:
        raise ValueError("exclude.lists is not resolved; call resolve_excluded first")
    listed = _by_uid(tasks)
    probed = _results_by_uid(results)
    golden = None if reference is None else _results_by_uid(reference)
    model = None if reference_model is None else _results_by_uid(reference_model)
    stale = {
        uid: version
        for uid, task in listed.items()
        if uid in probed and (version := stale_hash(probed[uid], task.hash)) is not None
    }
    # A stale task keeps its own listing; what was recorded about another version is no result.
    chosen = [
        TaskResult(task) if uid in stale or uid not in probed else _about(probed[uid], task)
        for uid, task in listed.items()
    ]
    evidence = Evidence(stale, golden, model, contents, protected)
    decisions = decide(chosen, curation, evidence)
    kept = [decision for decision in decisions if decision.kept]
    selection = Selection(curation, decisions, (), tries)
    if not kept:
        raise EmptyPoolError(selection)
    members, by = _members(kept, curation)
    sides = split_pool(members, curation.split.test_fraction, curation.split.seed)
    placed = tuple(
        replace(decision, side=sides[decision.uid]) if decision.kept else decision
        for decision in decisions
    )
    unlisted = len(probed.keys() - listed.keys())
    notes = _notes(replace(selection, decisions=placed), by, unlisted)
    return Selection(curation, placed, notes, tries)


def _about(result: TaskResult, task: TaskInfo) -> TaskResult:
    return result if result.task is task else replace(result, task=task)


def _by_uid(tasks: Iterable[TaskInfo]) -> dict[str, TaskInfo]:
    found: dict[str, TaskInfo] = {}
    for task in tasks:
        if found.setdefault(task.uid, task) != task:
            raise ValueError(f"two tasks have the uid {task.uid!r}")
    return found


def _results_by_uid(results: Iterable[TaskResult]) -> dict[str, TaskResult]:
    found: dict[str, TaskResult] = {}
    for result in results:
        if result.task.uid in found:
            raise ValueError(f"two results are about the task {result.task.uid!r}")
        found[result.task.uid] = result
    return found


def _members(
    kept: Iterable[TaskDecision], curation: Curation
) -> tuple[list[Member], tuple[str, ...]]:
    """The pool as the split sees it, and what it is stratified by in the end."""
    kept = list(kept)
    by: tuple[str, ...] = curation.split.by
    if any(decision.band is None for decision in kept):
        by = tuple(name for name in by if name != "band")
    members = []
    for decision in kept:
        task = decision.task
        values = {
            "domain": task.domain,
            "family": f"{task.domain}/{task.family}",
            "band": decision.band.name if decision.band else "",
        }
        group = values["family"] if curation.split.keep_together == "family" else None
        members.append(Member(task.uid, tuple(values[name] for name in by), group))
    return members, by


def _notes(selection: Selection, by: tuple[str, ...], unlisted: int) -> tuple[str, ...]:
    curation = selection.curation
    notes = []
    if unlisted:
        notes.append(f"{unlisted} probed tasks are not in the task list and were left out.")
    if by != curation.split.by:
        notes.append("Stopped probes have no band, so the split is not stratified by band.")
    fraction = curation.split.test_fraction
    if fraction and not selection.side("test"):
        what = "family" if curation.split.keep_together else "task"
        notes.append(f"The test side is empty: the pool has one {what}.")
    elif curation.split.keep_together:
        reached = len(selection.side("test")) / len(selection.kept)
        notes.append(f"Families stay whole: {reached:.1%} are held out, {fraction:.1%} were asked.")
    elif shared := _families(selection, "train") & _families(selection, "test"):
        notes.append(
            f"{len(shared)} families have tasks on both sides; "
            "split.keep_together: family would keep them apart."
        )
    near = [decision for decision in selection.decisions if decision.reason == NEAR_COPY]
    if near:
        shown = "; ".join(f"{d.uid} is a {copy_text(d.near)}" for d in near[:_SHOWN] if d.near)
        more = f"; and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
        notes.append(f"{len(near)} tasks say nearly the same as excluded ones: {shown}{more}.")
    missing = set(curation.exclude.uids) - {decision.uid for decision in selection.decisions}
    if missing:
        notes.append(f"{len(missing)} excluded uids name no task here.")
    return tuple(notes)


def _families(selection: Selection, side: Side) -> set[tuple[str, str]]:
    return {(d.task.domain, d.task.family) for d in selection.side(side)}
