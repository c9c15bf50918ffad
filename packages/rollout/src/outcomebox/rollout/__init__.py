"""One episode (policy, tools, simulated user, verdict) and many (bounded, resumable, recorded)."""

from outcomebox.reward.chat import StructuredCall, Usage
from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.rows import Row, read_rows
from outcomebox.rollout.digest import digest
from outcomebox.rollout.episode import Episode, EpisodeSetting, FinishReason, run_episode
from outcomebox.rollout.errors import ErrorRecord, PolicyError, UserError, classify
from outcomebox.rollout.executors import Executor, Job, Tried, WorkerLost, open_executor
from outcomebox.rollout.judges import make_judge
from outcomebox.rollout.plan import Plan, make_plan
from outcomebox.rollout.policies import make_policy, policy_names
from outcomebox.rollout.policy import (
    Completion,
    EpisodeContext,
    Message,
    Policy,
    PolicyEpisode,
)
from outcomebox.rollout.record import episode_row, package_versions
from outcomebox.rollout.report import Left, Progress, RunReport
from outcomebox.rollout.runner import Bounds, Observer, run_all, run_plan
from outcomebox.rollout.seeds import episode_seed, seeder
from outcomebox.rollout.spec import RunSpec
from outcomebox.rollout.store import EpisodeStore
from outcomebox.rollout.turns import check_profile
from outcomebox.rollout.users import ModelUser, ScriptedUser, User, make_user
from outcomebox.rollout.worker import Worker

__all__ = [
    "AsyncJudge",
    "Bounds",
    "Completion",
    "Episode",
    "EpisodeContext",
    "EpisodeSetting",
    "EpisodeStore",
    "ErrorRecord",
    "Executor",
    "FinishReason",
    "Job",
    "Left",
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
    "RunSpec",
    "ScriptedUser",
    "StructuredCall",
    "Tried",
    "Usage",
    "User",
    "UserError",
    "Worker",
    "WorkerLost",
    "check_profile",
    "classify",
    "digest",
    "episode_row",
    "episode_seed",
    "make_judge",
    "make_plan",
    "make_policy",
    "make_user",
    "open_executor",
    "package_versions",
    "policy_names",
    "read_rows",
    "run_all",
    "run_episode",
    "run_plan",
    "seeder",
]
