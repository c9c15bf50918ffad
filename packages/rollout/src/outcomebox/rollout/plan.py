"""What a run still needs, found from what its store holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from outcomebox.rollout.record import Key
from outcomebox.rollout.stage import Tasks
from outcomebox.rollout.stages.native import NativeTasks
from outcomebox.rollout.store import EpisodeStore
from outcomebox.rollout.storing.index import versions_mark
from outcomebox.sandbox import InputError, TaskSet


class Planned(Protocol):
    """What is left to do of a run, as the runner asks for it.

    It may shrink while the run goes: what an attempt came to can make others needless.
    """

    @property
    def outcomes(self) -> Mapping[Key, str]:
        """Outcomes of the attempts that are done before the run begins."""

    @property
    def total(self) -> int:
        """Attempts of the whole run, as far as can be said now."""

    @property
    def left(self) -> int:
        """Attempts that have no verdict yet."""

    def todo(self) -> Iterator[tuple[Key, int] | None]:
        """``(uid, repetition)`` and the index of the next try, each once.

        None says that what comes next is not known before another attempt has ended.
        """

    def ended(self, key: Key, outcome: str | None) -> None:
        """Be told how an attempt ended.

        Args:
            key: The attempt.
            outcome: Its outcome; None where it was given up without one.
        """


@dataclass(frozen=True)
class Plan:
    """What is left to do of a run. Nothing in it grows with what is still to do.

    Attributes:
        tasks: The tasks of the run.
        repetitions: The attempts at each of them that are wanted.
        outcomes: Outcomes of the attempts that are done.
        tries: The next try of the attempts that have rows.
    """

    tasks: Tasks
    repetitions: Sequence[int]
    outcomes: Mapping[Key, str]
    tries: Mapping[Key, int]

    @property
    def total(self) -> int:
        """Attempts of the whole run."""
        return len(self.tasks.tasks) * len(self.repetitions)

    @property
    def left(self) -> int:
        """Attempts that have no verdict yet."""
        return self.total - len(self.outcomes)

    def todo(self) -> Iterator[tuple[Key, int]]:
        """``(uid, repetition)`` and the index of the next try, sorted by key."""
        for task in self.tasks.tasks:
            for repetition in self.repetitions:
                key = (task.uid, repetition)
                if key not in self.outcomes:
                    yield key, self.tries.get(key, 0)

    def ended(self, key: Key, outcome: str | None) -> None:
        """Nothing that is still to do depends on how an attempt ended."""


def as_tasks(tasks: Tasks | TaskSet) -> Tasks:
    """Tasks of our own form as the tasks of a run; others as they are."""
    return NativeTasks(tasks) if isinstance(tasks, TaskSet) else tasks


def make_plan(
    tasks: Tasks | TaskSet,
    attempts: int,
    store: EpisodeStore,
    *,
    repetitions: Sequence[int] | None = None,
) -> Plan:
    """What a run still needs: every (uid, repetition) without a clean row.

    Args:
        tasks: The tasks of the run.
        attempts: Attempts a task, numbered from 0.
        store: What is there already.
        repetitions: Only these of the attempts.

    Raises:
        InputError: The store holds rows of other tasks, or of these tasks as they were before an
            edit, or two rows of one try.
    """
    tasks = as_tasks(tasks)
    wanted = range(attempts) if repetitions is None else tuple(repetitions)
    outcomes: dict[Key, str] = {}
    tries: Counter[Key] = Counter()
    seen: set[tuple[str, int, int]] = set()
    marks = cache(lambda uid: versions_mark(tasks.versions(tasks.by_uid[uid])))
    for entry in store.entries:
        key = (entry.uid, entry.repetition)
        if key[0] not in tasks.by_uid or key[1] not in wanted:
            raise InputError(
                "the run holds an attempt that is not part of this one; use the settings it was "
                "started with, or another folder",
                file=store.path,
                value=f"{key[0]} repetition {key[1]}",
            )
        if entry.versions != marks(key[0]):
            raise InputError(
                "the task or its domain has changed since these rows were written; start a new run "
                "in another folder",
                file=store.path,
                task=key[0],
            )
        if entry.key in seen:
            raise InputError(
                f"try {entry.attempt} of repetition {entry.repetition} stands twice; take one out",
                file=store.path,
                task=key[0],
            )
        seen.add(entry.key)
        tries[key] = max(tries[key], entry.attempt + 1)
        if entry.outcome != "system_error":
            outcomes[key] = entry.outcome
    return Plan(tasks, wanted, outcomes, tries)
