"""The errors of grading: the two ways in which there is no verdict although the state was read.

Neither is ever a failure of the agent. :func:`outcomebox.reward.verdict_of` turns both, and every
other exception, into a ``system_error``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CheckError(ValueError):
    """A check cannot be applied: it says nothing, contradicts itself or does not fit the database.

    The message names the part of the check and what to write instead.
    """


class JudgeError(Exception):
    """A judge was needed and gave no readable answer.

    Attributes:
        record: What is known about the question, as JSON, for the verdict's details.
    """

    def __init__(self, message: str, record: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.record = dict(record or {})
