"""Keeps the books of one step: which groups are asked for, kept, thrown away, asked for again.

A batch of N groups is filled like this. N groups are asked for; that is round 1. When all attempts
of a group have ended, it is kept or thrown away, and for one thrown away one more is asked for, in
the round behind that of the one it replaces. So at each moment the groups kept and the groups under
way are N together: none is run in vain, and none is preferred for being short. The bounds say how
many rounds one place in the batch may take, and how many groups a step may throw away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from outcomebox.train.errors import BatchUnfilled, TrainError
from outcomebox.train.groups.judging import Group, Kind


@dataclass(frozen=True, slots=True)
class StepGroups:
    """What a step's groups were.

    Attributes:
        kept: Groups that the step trains on, in the order in which they ended.
        dropped: Groups thrown away, in the same order.
        rounds: The most rounds that a place in the batch took.
    """

    kept: tuple[Group, ...]
    dropped: tuple[Group, ...]
    rounds: int

    @property
    def tried(self) -> tuple[Group, ...]:
        """All groups of the step."""
        return self.kept + self.dropped

    def number(self, *kinds: Kind) -> int:
        """How many of all groups are of some kinds."""
        return sum(each.kind in kinds for each in self.tried)


class Ledger:
    """The books of one step.

    Args:
        places: Groups that the batch takes.
        max_rounds: Rounds of sampling for one place, the first included.
        max_dropped: Groups that may be thrown away.
        drop_uniform: Whether groups whose attempts all ended alike are thrown away.
    """

    def __init__(
        self, places: int, *, max_rounds: int, max_dropped: int, drop_uniform: bool
    ) -> None:
        self.places = places
        self.max_rounds = max_rounds
        self.max_dropped = max_dropped
        self.drop_uniform = drop_uniform
        self._due: list[int] = [1] * places  # rounds of the groups asked for and not yet seen
        self._rounds: dict[str, int] = {}  # group under way -> its round
        self._kept: list[Group] = []
        self._dropped: list[Group] = []
        self._again: list[int] = []  # rounds of the places that are empty
        self._highest = 1

    def see(self, uids: Iterable[str]) -> None:
        """Take note of groups under way; those known already are no news.

        Raises:
            TrainError: There are more than were asked for.
        """
        settled = {each.uid for each in (*self._kept, *self._dropped)}
        for uid in sorted(set(uids) - self._rounds.keys() - settled):
            if not self._due:
                raise TrainError(
                    f"group {uid} was not asked for: {self.places} groups make a batch, and verl "
                    "runs more; set data.train_batch_size to groups_per_step"
                )
            self._rounds[uid] = self._due.pop(0)

    def settle(self, group: Group) -> bool:
        """Enter a group whose attempts have all ended.

        Returns:
            Whether it is kept.

        Raises:
            TrainError: It was not under way.
        """
        if group.uid not in self._rounds:
            raise TrainError(f"group {group.uid} ended and was not under way")
        taken = self._rounds.pop(group.uid)
        self._highest = max(self._highest, taken)
        drop = group.kind is Kind.SYSTEM_ERROR or (self.drop_uniform and group.kind.is_uniform)
        if drop:
            self._dropped.append(group)
            self._again.append(taken + 1)
        else:
            self._kept.append(group)
        return not drop

    def refill(self) -> int:
        """Groups to ask for now, one for each place that became empty; they count as asked for.

        Raises:
            BatchUnfilled: The bounds do not allow another one.
        """
        if len(self._dropped) > self.max_dropped or any(
            each > self.max_rounds for each in self._again
        ):
            raise self._unfilled()
        number = len(self._again)
        self._due += sorted(self._again)
        self._again.clear()
        return number

    @property
    def kept_uids(self) -> set[str]:
        """Names of the groups kept so far, verl's."""
        return {each.uid for each in self._kept}

    @property
    def full(self) -> bool:
        """Whether the batch is filled; nothing is under way then."""
        return len(self._kept) == self.places

    def close(self) -> StepGroups:
        """The books, once the batch is full.

        Raises:
            TrainError: It is not.
        """
        if not self.full:
            raise TrainError(f"the batch has {len(self._kept)} of {self.places} groups")
        return StepGroups(tuple(self._kept), tuple(self._dropped), self._highest)

    def _unfilled(self) -> BatchUnfilled:
        counts: Counter[str] = Counter()
        for group in self._dropped:
            if group.kind is Kind.SYSTEM_ERROR:
                counts.update(f"system_error in {phase}" for phase in phases(group))
            else:
                counts[group.kind.value] += 1
        broken = sum(group.kind is Kind.SYSTEM_ERROR for group in self._dropped)
        bounds = (
            f"kept {len(self._kept)} of {self.places} groups within refill.max_rounds "
            f"{self.max_rounds} and refill.max_wasted_groups {self.max_dropped}"
        )
        if 2 * broken >= len(self._dropped):
            first = next(
                (
                    f"{one.kind}: {one.message}"
                    for g in self._dropped
                    for one in g.faults
                    if one.kind
                ),
                "no attempt said why, see the log of the agent loop's processes",
            )
            mend = f"{bounds}; mend what failed ({first}) and resume"
        else:
            mend = (
                f"{bounds}; train on a pool with more mixed tasks (probe with the present policy "
                "and select anew), or raise the bounds"
            )
        return BatchUnfilled(counts, mend)


def phases(group: Group) -> tuple[str, ...]:
    """The phases in which a group's attempts failed, each once, by name."""
    return tuple(sorted({each.phase for each in group.faults}))
