"""Helpers with which test code computes a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outcomebox.reward.thinkingbox.effects import LazyEffects


def average_reward(
    rewards: Mapping[str, float], weights: Mapping[str, float] | None = None
) -> float:
    """The mean of some scores by name; with weights, the weighted mean of those that have one.

    Raises:
        ZeroDivisionError: The weights that count add up to 0.
    """
    if not rewards:
        return 0.0
    if not weights:
        return sum(rewards.values()) / len(rewards)
    counted = [name for name in rewards if name in weights]
    if not counted:
        return 0.0
    total = sum(weights[name] for name in counted)
    return sum(rewards[name] * weights[name] for name in counted) / total


def match_score(
    result: Any, expected: Any, partial: bool = False, is_critical: bool = False
) -> float:
    """1.0 if two values of one type are equal, else 0.0.

    Args:
        result: What is there.
        expected: What should be.
        partial: Compare dicts, key by key of ``expected``: the share of keys that are equal.
        is_critical: Whether less than 1.0 fails the check.

    Raises:
        ValueError: The types differ, or ``partial`` is asked of something else than dicts.
        AssertionError: ``is_critical``, and the values differ.
    """
    if _type(result) is not _type(expected):
        raise ValueError(
            f"a {type(result).__name__} cannot match a {type(expected).__name__}; compare values "
            "of one type"
        )
    if partial:
        if not isinstance(expected, dict):
            raise ValueError(f"only dicts match in part, not a {type(expected).__name__}")
        same = [key for key in expected if key in result and result[key] == expected[key]]
        score = len(same) / len(expected)
    else:
        score = float(bool(result == expected))
    if is_critical and score < 1.0:
        raise AssertionError(f"a critical match failed, score {score}: {result} != {expected}")
    return score


def _type(value: Any) -> type:
    return dict if isinstance(value, LazyEffects) else type(value)
