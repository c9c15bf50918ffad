"""What a worker opens around each try, so that it is recorded, replayed, both or neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from outcomebox.rollout.recording.exchanges import Exchanges, running
from outcomebox.rollout.recording.keeping import RecordedPolicy, actors_of
from outcomebox.rollout.recording.replaying import ReplayPolicy

if TYPE_CHECKING:
    from outcomebox.rollout.episode import EpisodeSetting
    from outcomebox.rollout.executors.base import Job


@contextmanager
def exchanging(setting: EpisodeSetting, job: Job) -> Iterator[Exchanges]:
    """The exchanges of a try, around all of it.

    Args:
        setting: What the run shares; :func:`recording` and :func:`replaying` made it.
        job: The try.

    Raises:
        ReplayError: The recording has no such try.
    """
    policy = setting.policy
    kept = policy.policy if isinstance(policy, RecordedPolicy) else policy
    recorded = None
    if isinstance(kept, ReplayPolicy):
        recorded = kept.recording.exchanges_of(job.uid, job.repetition, job.attempt)
    actors = actors_of(setting) if isinstance(policy, RecordedPolicy) else None
    exchanges = Exchanges(job, actors=actors, recorded=recorded)
    with running(exchanges):
        yield exchanges
