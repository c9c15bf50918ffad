"""What an adaptive probe still has to do: one more wave at every task that is not decided.

A task never has more attempts under way than it needs before a decision about it can fall
(`StopRule.least_more`), so none is made in vain, and which rows there are depends on what they say
alone: not on the concurrency, on who finishes first, or on where a run was killed. The tasks with
the fewest attempts come first. So all slots are busy as long as there are that many attempts to
make; no wave waits for the one before it to be complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from outcomebox.rollout import Plan
from outcomebox.selection.stopped import Stopped
from outcomebox.selection.stopping import StopRule

Key = tuple[str, int]
Tell = Callable[[Mapping[str, Stopped]], None]

_GROWTH = 1.05
"""The marks are written when there are this many times more of them: the bytes written in all stay
a small multiple of the last file's, however many tasks there are."""


@dataclass
class _Task:
    """A task while it is probed."""

    uid: str
    place: int
    todo: deque[int]
    passes: int = 0
    failures: int = 0
    running: set[int] = field(default_factory=set)
    made: int = 0

    @property
    def clean(self) -> int:
        return self.passes + self.failures

    def count(self, outcome: str) -> None:
        if outcome == "passed":
            self.passes += 1
        else:
            self.failures += 1


class AdaptivePlan:
    """The attempts that a rule asks for, as the runner takes them (`rollout.plan.Planned`).

    Attributes:
        outcomes: outcomes of the attempts that were done before.
        stopped: the tasks that were left before all attempts.
    """

    def __init__(self, plan: Plan, rule: StopRule, tell: Tell | None = None) -> None:
        """Takes up a probe where it stands.

        Args:
            plan: all attempts that the rule may ask for, with what is done of them.
            rule: when a task is left.
            tell: told of the stopped tasks now and then; see `told` for the last time.
        """
        self.outcomes = plan.outcomes
        self.stopped: dict[str, Stopped] = {}
        self._rule = rule
        self._tries = plan.tries
        self._tell = tell
        self._told = 0
        self._running = 0
        self._tasks: dict[str, _Task] = {}
        self._ready: list[tuple[int, int, str]] = []
        for place, task in enumerate(plan.tasks.tasks):
            done = {r: plan.outcomes.get((task.uid, r)) for r in plan.repetitions}
            probed = _Task(task.uid, place, deque(r for r, word in done.items() if word is None))
            for word in filter(None, done.values()):
                probed.count(word)
            probed.made = probed.clean
            self._tasks[task.uid] = probed
        self._total = sum(task.clean + len(task.todo) for task in self._tasks.values())
        for probed in self._tasks.values():
            self._judge(probed)

    @property
    def total(self) -> int:
        """Attempts of the whole run: those made, and those that open tasks may still need."""
        return self._total

    @property
    def left(self) -> int:
        """Attempts that have no verdict yet, when the run begins."""
        return self._total - len(self.outcomes)

    def todo(self) -> Iterator[tuple[Key, int] | None]:
        """The attempts, fewest at their task first; None while the next one is not known."""
        while True:
            task = self._next()
            if task is not None:
                repetition = task.todo.popleft()
                task.running.add(repetition)
                task.made += 1
                self._running += 1
                self._offer(task)
                yield (task.uid, repetition), self._tries.get((task.uid, repetition), 0)
            elif self._running:
                yield None
            else:
                return

    def ended(self, key: Key, outcome: str | None) -> None:
        """Counts an attempt and decides about its task.

        Args:
            key: the attempt.
            outcome: its outcome; None where it was given up, which decides nothing.
        """
        task = self._tasks[key[0]]
        if key[1] in task.running:
            task.running.remove(key[1])
            self._running -= 1
        if outcome is not None:
            task.count(outcome)
        self._judge(task)
        if len(self.stopped) > self._told * _GROWTH:
            self.told()

    def told(self) -> None:
        """Tells of the stopped tasks as they are now."""
        self._told = len(self.stopped)
        if self._tell is not None:
            self._tell(self.stopped)

    def _judge(self, task: _Task) -> None:
        """Closes a decided task, or offers an open one."""
        if self._rule.decision(task.passes, task.failures) is None:
            self._offer(task)
            return
        self._total -= len(task.todo)
        task.todo.clear()
        if task.clean < self._rule.most:
            self.stopped[task.uid] = Stopped(self._rule.kind, task.clean)

    def _offer(self, task: _Task) -> None:
        if self._needs(task):
            heappush(self._ready, (task.made, task.place, task.uid))

    def _needs(self, task: _Task) -> bool:
        return bool(task.todo) and len(task.running) < self._rule.least_more(
            task.passes, task.failures
        )

    def _next(self) -> _Task | None:
        """The task that comes next; entries that time has overtaken are thrown away."""
        while self._ready:
            made, _, uid = heappop(self._ready)
            task = self._tasks[uid]
            if made == task.made and self._needs(task):
                return task
        return None
