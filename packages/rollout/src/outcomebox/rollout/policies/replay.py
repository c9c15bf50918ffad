"""The policy that answers from a recording: the run's other actors are made as ever."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outcomebox.rollout.recording import ReplayPolicy


def replay_policy(recording: str) -> ReplayPolicy:
    """The policy of a recorded run, from the recording.

    Args:
        recording: The file of exchanges, or the folder of the recorded run.

    Raises:
        InputError: It cannot be read, is damaged or empty, or is of several runs.
    """
    from outcomebox.rollout.recording import replaying  # noqa: PLC0415 -- it imports policies

    return replaying(Path(recording)).policy
