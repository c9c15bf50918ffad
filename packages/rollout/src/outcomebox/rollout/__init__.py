"""One episode (policy, tools, simulated user, verdict) and many (bounded, resumable, recorded)."""

from outcomebox.reward.chat import StructuredCall, Usage
from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.rows import Row, read_rows
from outcomebox.rollout.episode import Episode, EpisodeSetting, FinishReason, run_episode
from outcomebox.rollout.errors import ErrorRecord, PolicyError, UserError, classify
from outcomebox.rollout.judges import make_judge
from outcomebox.rollout.policies import make_policy, policy_names
from outcomebox.rollout.policy import (
    Completion,
    EpisodeContext,
    Message,
    Policy,
    PolicyEpisode,
)
from outcomebox.rollout.record import digest, episode_row, package_versions
from outcomebox.rollout.runner import Observer, Plan, Progress, RunReport, make_plan, run_all
from outcomebox.rollout.seeds import episode_seed, seeder
from outcomebox.rollout.store import EpisodeStore
from outcomebox.rollout.turns import check_profile
from outcomebox.rollout.users import ModelUser, ScriptedUser, User, make_user

__all__ = [
    "AsyncJudge",
    "Completion",
    "Episode",
    "EpisodeContext",
    "EpisodeSetting",
    "EpisodeStore",
    "ErrorRecord",
    "FinishReason",
    "Message",
    "ModelUser",
    "Observer",
    "Plan",
    "Policy",
    "PolicyEpisode",
    "PolicyError",
    "Progress",
    "Row",
    "RunReport",
    "ScriptedUser",
    "StructuredCall",
    "Usage",
    "User",
    "UserError",
    "check_profile",
    "classify",
    "digest",
    "episode_row",
    "episode_seed",
    "make_judge",
    "make_plan",
    "make_policy",
    "make_user",
    "package_versions",
    "policy_names",
    "read_rows",
    "run_all",
    "run_episode",
    "seeder",
]
