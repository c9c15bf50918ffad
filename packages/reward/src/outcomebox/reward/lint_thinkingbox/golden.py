"""The golden end of a task, against which everything else is held; or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.lint_thinkingbox import words
from outcomebox.reward.lint_thinkingbox.moments import Moments, answers_later, golden_later
from outcomebox.reward.lint_thinkingbox.order import Told
from outcomebox.reward.lint_thinkingbox.replays import NotLinted, Replays
from outcomebox.reward.lint_thinkingbox.tables import (
    Tables,
    differences,
    same,
    scalars,
    tables_of,
)
from outcomebox.reward.thinkingbox.replaying import Played
from outcomebox.sandbox.thinkingbox import GoldenCall, ThinkingBoxTask


@dataclass(frozen=True)
class Golden:
    """What the golden calls did.

    Attributes:
        told: The answers, and which value came from which.
        start: The state before the first call.
        end: The state after the last.
        mutating: Indices of the calls after which the state was another.
        asked: Questions of the check to a judge.
        findings: What is to be mended, none of which keeps the rest from being tried.
    """

    told: Told
    start: Tables
    end: Tables
    mutating: tuple[int, ...]
    asked: int
    findings: list[Finding] = field(default_factory=list)

    @cached_property
    def given(self) -> frozenset[object]:
        """Scalars in golden arguments that came from no answer: nobody made them up."""
        calls = self.told.task.golden
        values = {value for call in calls for value in scalars(call.arguments)}
        return frozenset(values - self.told.from_answers)


async def golden_of(
    replays: Replays, moments: Moments | None, *, frozen: bool
) -> Golden | list[Finding]:
    """Replay the golden calls, look at the state on the way, and replay them again.

    The second time is at another moment where there is one to be had: if they leave the same
    then, neither chance nor the clock has a part in it. If not, a third time at the first moment
    tells which of the two it was.

    Args:
        replays: Of the task.
        moments: Another moment to try.
        frozen: Whether the servers' clock stands still.

    Returns:
        What they did; or the findings for which nothing else can be tried.

    Raises:
        NotLinted: Infrastructure failed.
    """
    task = replays.task
    looked = await _once(replays, look=True, twice=True)
    stopped = _refused(task, looked)
    if stopped is not None:
        return [words.golden_error(*stopped)]
    states = [tables_of(told) for told in (*looked.before, looked.effects or {})]
    findings = []
    if looked.untouched is not None and looked.untouched.outcome == "passed":
        findings.append(words.noop_passes(idle=same(states[0], states[-1])))
    wrong = _verdict(looked)
    if wrong is not None:
        return [*findings, wrong]
    found = await _again(replays, looked, moments, frozen=frozen)
    if found is not None:
        findings.append(found)
        if found.code == "golden_nondeterministic":
            return findings
    mutating = [
        index for index in range(len(task.golden)) if not same(states[index], states[index + 1])
    ]
    told = Told(task, looked.answers)
    asked = len(looked.asked)
    return Golden(told, states[0], states[-1], tuple(mutating), asked, findings)


async def _again(
    replays: Replays, looked: Played, moments: Moments | None, *, frozen: bool
) -> Finding | None:
    """What is wrong if golden does not do the same again, or others do not at another moment."""
    other = await _once(replays, later=moments)
    if _as(looked, other) and (moments is None or looked.answers == other.answers):
        return None if moments is None else await answers_later(replays, looked.answers, moments)
    again = other if moments is None else await _once(replays)
    if not _as(looked, again):
        cells = differences(tables_of(looked.effects or {}), tables_of(again.effects or {}))
        return words.nondeterministic(cells, frozen=frozen)
    if moments is None or (_as(looked, other) and looked.answers != again.answers):
        return None  # answers that chance has a part in, and nothing comes of it
    return golden_later(replays, looked, other, moments)


async def _once(
    replays: Replays, *, later: Moments | None = None, look: bool = False, twice: bool = False
) -> Played:
    on = None if later is None else later.later
    played = await replays.play(replays.task.golden, on=on, look=look, twice=twice)
    if played is None:
        raise ValueError("the bound on replays is below what golden takes")
    if played.error is not None and played.error["phase"] != "golden":
        raise NotLinted(played.error)
    return played


def _refused(task: ThinkingBoxTask, played: Played) -> tuple[int, GoldenCall, str] | None:
    """The first call that was refused, and the answer to it."""
    if played.error is not None:
        index = len(played.answers)
        return index, task.golden[index], played.error["message"]
    for index in played.refused:
        return index, task.golden[index], played.answers[index].text
    return None


def _verdict(played: Played) -> Finding | None:
    """What is wrong with the verdict on golden's end, if anything is."""
    first, again = played.verdict, played.again
    if first is None or again is None:
        raise NotLinted({"type": "RuntimeError", "message": "no verdict", "phase": "check"})
    for verdict in (first, again):
        if verdict.error is not None:
            if verdict.error["phase"] == "judge":
                raise NotLinted(verdict.error)
            return words.check_error(verdict.error)
    if first.outcome != again.outcome:
        return words.verdict_differs([first.outcome, again.outcome])
    return words.golden_fails(first.reasons[0].message) if first.outcome == "failed" else None


def _as(one: Played, other: Played) -> bool:
    """Whether the golden calls did the same twice: were taken, passed, and left the same."""
    return (
        not other.refused
        and other.error is None
        and other.passed == one.passed
        and same(tables_of(one.effects or {}), tables_of(other.effects or {}))
    )
