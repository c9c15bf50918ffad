"""Record what is said to models and back; replay a run from it, with no network."""

from outcomebox.rollout.recording.exchanges import Exchanges
from outcomebox.rollout.recording.keeping import recording
from outcomebox.rollout.recording.reading import Recording
from outcomebox.rollout.recording.replaying import (
    Replay,
    ReplayJudge,
    ReplayPolicy,
    ReplayUser,
    replaying,
)
from outcomebox.rollout.recording.requests import ReplayError
from outcomebox.rollout.recording.trying import exchanging

__all__ = [
    "Exchanges",
    "Recording",
    "Replay",
    "ReplayError",
    "ReplayJudge",
    "ReplayPolicy",
    "ReplayUser",
    "exchanging",
    "recording",
    "replaying",
]
