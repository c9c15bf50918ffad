"""Rubrics: weighted yes/no criteria, and the score they add up to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from outcomebox.reward.thinkingbox import prompts
from outcomebox.reward.thinkingbox.context import TestContext
from outcomebox.reward.thinkingbox.judging import Judge
from outcomebox.reward.thinkingbox.records import Record, one_of

_PENALTY_TYPES = ("deduction", "multiplicative")


@dataclass(kw_only=True)
class RubricConfig(Record):
    """One criterion.

    Attributes:
        criterion: What the judge is asked.
        weight: Points for meeting it; of a penalty the points taken off, or (multiplicative) the
            share of the score taken off, from 0 to 1.
        is_penalty: Whether it describes a fault.
        penalty_type: How a fault counts.
    """

    criterion: str
    weight: float
    is_penalty: bool = False
    penalty_type: Literal["deduction", "multiplicative"] = "deduction"

    def __post_init__(self) -> None:
        self.weight = float(self.weight)
        one_of(self.penalty_type, _PENALTY_TYPES, "penalty_type")
        if not self.weight >= 0:
            raise ValueError(f"weight must not be negative, not {self.weight}")
        if self.is_penalty and self.penalty_type == "multiplicative" and self.weight > 1:
            raise ValueError(f"weight of a multiplicative penalty is at most 1, not {self.weight}")


@dataclass(kw_only=True)
class RubricScore(Record):
    """A criterion that was judged: ``rating`` 1 for yes, and ``score`` its weight times that."""

    criterion: str
    weight: float
    rating: Literal[0, 1]
    score: float
    is_penalty: bool = False
    penalty_type: Literal["deduction", "multiplicative"] = "deduction"


@dataclass(kw_only=True)
class EvaluationResult(Record):
    """All criteria, judged.

    Attributes:
        scores: One a criterion, in their order.
        reward: From 0 to 1.
        passed: Whether the reward reaches the threshold.
        global_threshold: That threshold.
        message: A line a criterion, for people.
    """

    scores: list[RubricScore]
    reward: float
    passed: bool
    global_threshold: float = 0.0
    message: str = ""

    def assert_passed(self) -> float:
        """The reward.

        Raises:
            AssertionError: It is below the threshold.
        """
        if not self.passed:
            raise AssertionError(_below(self.reward, self.global_threshold))
        return self.reward


class RubricJudge:
    """A fixture that judges a text by rubrics.

    Args:
        judge: Who is asked.
        x: The check's context; ``rubric_reward`` and ``rubric_scores`` go to its metadata.
        reward_fn: The reward of some scores, in place of :func:`default_reward`.
        max_workers: Accepted; the questions are asked one after the other.

    Raises:
        ValueError: ``max_workers`` is not positive.
    """

    Config: ClassVar[type[RubricConfig]] = RubricConfig

    def __init__(
        self,
        judge: Judge,
        x: TestContext,
        reward_fn: Callable[[list[RubricScore]], float] | None = None,
        max_workers: int = 1,
    ) -> None:
        if max_workers <= 0:
            raise ValueError(f"max_workers must be positive, not {max_workers}")
        self.judge = judge
        self.x = x
        self.reward_fn = reward_fn
        self.max_workers = max_workers

    def evaluate(
        self,
        response: str,
        rubrics: Sequence[RubricConfig],
        *,
        global_threshold: float = 0.70,
        throw_on_failure: bool = False,
    ) -> EvaluationResult:
        """Judge a text by all rubrics.

        Raises:
            ValueError: There is no rubric, or the text is blank.
            AssertionError: ``throw_on_failure``, and the reward is below the threshold.
        """
        if not rubrics:
            raise ValueError("there is no rubric; give one or more")
        if not response or not response.strip():
            raise ValueError("there is no text to judge by rubrics")
        scores = [self._score(response, rubric) for rubric in rubrics]
        reward = self.compute_reward(scores)
        self.x.metadata["rubric_reward"] = reward
        self.x.metadata["rubric_scores"] = [
            {"criterion": each.criterion, "rating": each.rating, "score": each.score}
            for each in scores
        ]
        return EvaluationResult(
            scores=scores,
            reward=reward,
            passed=self.check_threshold(reward, global_threshold, throw_on_failure),
            global_threshold=global_threshold,
            message=_report(scores, reward, global_threshold),
        )

    def compute_reward(self, scores: list[RubricScore]) -> float:
        """The reward of some scores, from 0 to 1."""
        reward = default_reward(scores) if self.reward_fn is None else self.reward_fn(scores)
        return _unit(float(reward))

    def check_threshold(
        self, reward: float, threshold: float, throw_on_failure: bool = False
    ) -> bool:
        """Whether a reward reaches a threshold.

        Raises:
            AssertionError: It does not, and ``throw_on_failure``.
        """
        if throw_on_failure and reward < threshold:
            raise AssertionError(_below(reward, threshold))
        return reward >= threshold

    def _score(self, response: str, rubric: RubricConfig) -> RubricScore:
        system = prompts.RUBRIC_PENALTY if rubric.is_penalty else prompts.RUBRIC
        user = prompts.about_criterion(response, rubric.criterion)
        rating: Literal[0, 1] = 1 if self.judge.evaluate_bool(system=system, user=user) else 0
        return RubricScore(
            criterion=rubric.criterion,
            weight=rubric.weight,
            rating=rating,
            score=rubric.weight * rating,
            is_penalty=rubric.is_penalty,
            penalty_type=rubric.penalty_type,
        )


def default_reward(scores: Sequence[RubricScore]) -> float:
    """Points earned less deductions, as a share of the points there are, times what is kept.

    Each multiplicative penalty that was found keeps ``1 - weight``. Without points to earn, 0.
    """
    base = [each for each in scores if not each.is_penalty]
    total = sum(each.weight for each in base)
    if total == 0:
        return 0.0
    penalties = [each for each in scores if each.is_penalty]
    taken = sum(each.score for each in penalties if each.penalty_type == "deduction")
    kept = math.prod(
        1.0 - _unit(each.score) for each in penalties if each.penalty_type == "multiplicative"
    )
    return _unit(_unit((sum(each.score for each in base) - taken) / total) * kept)


def _unit(value: float) -> float:
    return max(0.0, min(1.0, value))


def _below(reward: float, threshold: float) -> str:
    return f"the reward {reward:.3f} is below the threshold {threshold:.3f}"


def _report(scores: Sequence[RubricScore], reward: float, threshold: float) -> str:
    lines = []
    for each in scores:
        kind = f"{each.penalty_type} penalty" if each.is_penalty else "criterion"
        said = "yes" if each.rating else "no"
        lines.append(f"{said}: {each.criterion} ({kind}, weight {each.weight:g})")
    lines.append(f"reward {reward:.3f}, threshold {threshold:.3f}")
    return "\n".join(lines)
