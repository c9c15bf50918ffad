"""The row an episode leaves: one JSON object, the same for the same run but for its timing."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from functools import cache
from typing import Any

from outcomebox.reward.rows import Row
from outcomebox.rollout.episode import Episode, EpisodeSetting
from outcomebox.rollout.errors import ErrorRecord
from outcomebox.rollout.stage import AnyTask, Tasks
from outcomebox.sandbox import change_to_json

Key = tuple[str, int]
"""uid and repetition."""

PACKAGES = ("outcomebox-interpret", "outcomebox-sandbox", "outcomebox-reward", "outcomebox-rollout")


@cache
def package_versions() -> Mapping[str, str]:
    """Versions of the packages that decide a row, and of the protocol library under them."""
    versions = {}
    for name in (*PACKAGES, "mcp"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            # Run from sources, without distribution metadata.
            versions[name] = "source"
    return versions


def episode_row(
    setting: EpisodeSetting,
    tasks: Tasks,
    task: AnyTask,
    *,
    repetition: int,
    attempt: int,
    episode: Episode,
    error: ErrorRecord | None,
) -> Row:
    """The row of one try.

    Args:
        setting: What the run shares.
        tasks: The run's tasks.
        task: The task.
        repetition: Index of the attempt, from 0.
        attempt: Index of the try at this attempt, from 0; above 0 after a system error.
        episode: What was reached.
        error: The infrastructure failure, if there was one; then the verdict is ``system_error``.
    """
    verdict = episode.verdict
    if error is not None:
        judged: dict[str, Any] = {
            "outcome": "system_error",
            "score": None,
            "reasons": [],
            "details": {"error": error.to_json()},
        }
    elif verdict is not None:
        judged = verdict.to_json()
        if verdict.error is not None:
            error = ErrorRecord(**verdict.error)
    else:
        raise ValueError(f"{task.uid} #{repetition}: an episode with neither verdict nor error")
    state, spent = episode.state, episode.spent
    return {
        "uid": task.uid,
        "repetition": repetition,
        "try": attempt,
        "domain": task.domain,
        "family": task.family,
        "tags": list(tasks.tags(task)),
        "verdict": judged,
        "finish_reason": episode.finish_reason,
        "messages": episode.messages,
        "changes": [] if state is None else [change_to_json(change) for change in state.changes],
        # What the indices in `changes` stand for.
        "calls": [] if state is None else list(state.calls),
        "schema_changes": [] if state is None else list(state.schema_changes),
        "effects": None if episode.effects is None else dict(episode.effects),
        "warnings": list(episode.warnings),
        "usage": spent.tokens,
        "timing": {
            **{name: round(value, 6) for name, value in spent.seconds.items()},
            "messages": [round(value, 6) for value in spent.messages],
            "started": episode.started.isoformat(timespec="milliseconds"),
        },
        "traffic": episode.traffic.to_json(),
        "policy": dict(setting.policy.describe()),
        "user": dict(setting.user.describe()),
        "judge": None if setting.judge is None else dict(setting.judge.describe()),
        "seeds": {"episode": setting.seed_of(task.uid, repetition)},
        "error": None if error is None else error.to_json(),
        "versions": {
            "packages": dict(package_versions()),
            **tasks.versions(task),
            "profile": setting.profile,
            "format": setting.policy.format,
        },
    }
