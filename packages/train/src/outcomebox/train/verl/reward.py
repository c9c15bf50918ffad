"""The reward: 1 for an episode that passed, 0 for one that failed, and nothing else.

The number is made here and nowhere else. The agent loop calls :func:`compute` with the verdict's
details and hands the number to verl, so that verl asks no reward worker; the same function stands
in verl's ``reward.custom_reward_function``, so that no other function can ever decide. It reads the
verdict that the grader gave; text is not looked at, and an episode without a verdict raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outcomebox.train.errors import TrainError

DATA_SOURCE = "outcomebox"
"""verl's name for where a row comes from."""

DETAILS = "outcomebox"
"""Field of verl's extra information that holds an episode's figures and its verdict."""

_SCORES: Mapping[str, float] = {"passed": 1.0, "failed": 0.0}


class NoVerdict(TrainError):
    """A reward was asked for where there is no verdict: it has none, not 0."""


def compute(
    data_source: str,
    solution_str: str,  # noqa: ARG001 -- verl's face; the text decides nothing
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **_: Any,
) -> dict[str, Any]:
    """The reward of an episode, with the figures of it.

    There is no ``acc`` among them: where a validation attempt has none, verl 0.9.1 counts one of 0,
    and an attempt that infrastructure broke would become a failure.

    Args:
        data_source: verl's name of the source.
        solution_str: The text of the response; not looked at.
        ground_truth: The uid of the task.
        extra_info: Holds the figures under :data:`DETAILS`, ``uid`` and ``outcome`` among them.

    Returns:
        ``score``, 1.0 or 0.0, and every figure.

    Raises:
        NoVerdict: There is no verdict, or it is another task's.
    """
    if data_source != DATA_SOURCE:
        raise NoVerdict(
            f"data_source is {data_source!r}, not {DATA_SOURCE!r}; rewards are given to this "
            "package's own rows alone"
        )
    details = (extra_info or {}).get(DETAILS)
    if not isinstance(details, Mapping):
        raise NoVerdict(f"{ground_truth}: there is no verdict in extra_info.{DETAILS}")
    if details.get("uid") != ground_truth:
        raise NoVerdict(f"{ground_truth}: the verdict is of {details.get('uid')!r}")
    outcome = details.get("outcome")
    score = _SCORES.get(str(outcome))
    if score is None:
        raise NoVerdict(f"{ground_truth}: the outcome is {outcome!r}, neither passed nor failed")
    return {**details, "score": score}
