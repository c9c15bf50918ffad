"""What a group of attempts is worth, once all of them have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from outcomebox.train.errors import TrainError

UNREPORTED = "unreported"
"""Phase of an attempt that is missing though nobody said why: its process, or verl, failed."""


class Kind(StrEnum):
    """What a group is."""

    USEFUL = "useful"
    """Attempts that passed and attempts that failed."""
    ALL_PASS = "all_pass"  # noqa: S105 -- not a password
    ALL_FAIL = "all_fail"
    SYSTEM_ERROR = "system_error"
    """At least one attempt has no verdict."""

    @property
    def is_uniform(self) -> bool:
        """Whether all attempts ended alike, so that their advantages are 0."""
        return self in {Kind.ALL_PASS, Kind.ALL_FAIL}


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt with a verdict.

    Attributes:
        session: Its number in the group, from 0.
        score: The reward, 1.0 or 0.0.
        figures: The agent loop's figures of it.
    """

    session: int
    score: float
    figures: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Fault:
    """An attempt without a verdict.

    Attributes:
        session: Its number in the group.
        phase: The boundary that the failure crossed.
        kind: Name of the error's class.
        message: What it said.
        task: The task's uid.
    """

    session: int
    phase: str
    kind: str = ""
    message: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A group whose attempts have all ended.

    Attributes:
        uid: verl's name of the group.
        kind: What it is.
        attempts: Those with a verdict, by session.
        faults: Those without, by session.
    """

    uid: str
    kind: Kind
    attempts: tuple[Attempt, ...]
    faults: tuple[Fault, ...]

    @property
    def task(self) -> str | None:
        """The task's uid; None where no attempt says."""
        told = [str(each.figures.get("uid", "")) for each in self.attempts]
        told += [each.task for each in self.faults]
        return next((uid for uid in told if uid), None)

    @property
    def band(self) -> str | None:
        """The task's band; None where no attempt says."""
        return next(
            (str(each.figures["band"]) for each in self.attempts if "band" in each.figures), None
        )

    @property
    def tokens(self) -> int:
        """Tokens that the model wrote in the attempts with a verdict."""
        return sum(int(each.figures.get("sampled_tokens", 0)) for each in self.attempts)


def judge(
    uid: str, *, size: int, attempts: Sequence[Attempt], faults: Sequence[Fault], failed: bool
) -> Group:
    """Judge a group.

    Args:
        uid: verl's name of the group.
        size: How many attempts it has when it is whole.
        attempts: Those with a verdict.
        faults: Those known to have none.
        failed: Whether verl says that one of its attempts failed.

    Raises:
        TrainError: It has more attempts than were asked for, one of them twice, or a reward that
            is neither 1 nor 0.
    """
    ended = sorted(attempts, key=lambda each: each.session)
    sessions = [each.session for each in ended]
    if len(set(sessions)) != len(sessions) or not set(sessions) <= set(range(size)):
        raise TrainError(
            f"group {uid} has the attempts {sessions}, not each of 0 to {size - 1} once"
        )
    for each in ended:
        if each.score not in {0.0, 1.0}:
            raise TrainError(
                f"group {uid}: attempt {each.session} has the reward {each.score}; "
                "a verdict's is 1 or 0"
            )
    reported = {each.session: each for each in faults}
    missing = [each for each in range(size) if each not in set(sessions) | set(reported)]
    broken = sorted(
        [*reported.values(), *(Fault(each, UNREPORTED) for each in missing)],
        key=lambda each: each.session,
    )
    if failed and not broken:
        # All verdicts are there, and yet an attempt raised behind its own.
        broken = [Fault(-1, UNREPORTED)]
    return Group(uid, _kind(ended, broken), tuple(ended), tuple(broken))


def _kind(attempts: Sequence[Attempt], faults: Sequence[Fault]) -> Kind:
    if faults:
        return Kind.SYSTEM_ERROR
    scores = {each.score for each in attempts}
    if len(scores) > 1:
        return Kind.USEFUL
    return Kind.ALL_PASS if scores == {1.0} else Kind.ALL_FAIL
