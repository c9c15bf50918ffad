"""Trajectories of one task, played up to a bound; and what keeps a task from being linted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outcomebox.reward.thinkingbox.replaying import Adapt, Played, Replaying, Trajectory, play
from outcomebox.reward.thinkingbox.standin import StandIn
from outcomebox.sandbox.thinkingbox import GoldenCall, ThinkingBoxTask

NAME = "golden"
"""Every trajectory's: a server may put the session's name in its state."""


class NotLinted(Exception):
    """Infrastructure failed, so nothing can be said about the task.

    Attributes:
        error: Type, message and phase of what broke.
    """

    def __init__(self, error: Mapping[str, str]) -> None:
        super().__init__(f"{error['type']}: {error['message']}")
        self.error = dict(error)


@dataclass
class Replays:
    """Plays trajectories of one task, up to a bound.

    Attributes:
        run: Servers and grader.
        task: The task.
        limit: How many, at most.
        made: How many were made.
        left: How many were not, for the bound.
    """

    run: Replaying
    task: ThinkingBoxTask
    limit: int
    made: int = 0
    left: int = 0

    @property
    def stand_in(self) -> bool:
        """Whether questions to a judge are answered by no judge."""
        return isinstance(self.run.judge, StandIn)

    async def play(
        self,
        calls: Sequence[GoldenCall],
        *,
        on: Replaying | None = None,
        adapt: Adapt | None = None,
        look: bool = False,
        twice: bool = False,
    ) -> Played | None:
        """A trajectory, on other servers if some are given; None if the bound is reached."""
        if self.made >= self.limit:
            self.left += 1
            return None
        self.made += 1
        made = Trajectory(NAME, tuple(calls), adapt=adapt, look=look, twice=twice)
        return await play(on or self.run, self.task, made)
