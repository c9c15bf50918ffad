"""The row an episode leaves: one JSON object, the same for the same run but for its timing."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from outcomebox.reward.rows import Row
from outcomebox.rollout.episode import Episode, EpisodeSetting
from outcomebox.rollout.errors import ErrorRecord
from outcomebox.sandbox import Domain, Task, change_to_json
from outcomebox.sandbox.recorded import initial_hash

Key = tuple[str, int]
"""uid and repetition."""

_NOT_COMPARED = ("timing", "checksum")
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
    task: Task,
    domain: Domain,
    *,
    repetition: int,
    attempt: int,
    episode: Episode,
    error: ErrorRecord | None,
) -> Row:
    """The row of one try.

    Args:
        setting: What the run shares.
        task: The task.
        domain: Its domain.
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
    state = episode.state
    return {
        "uid": task.uid,
        "repetition": repetition,
        "try": attempt,
        "domain": task.domain,
        "family": task.family,
        "tags": list(task.tags),
        "verdict": judged,
        "finish_reason": episode.finish_reason,
        "messages": episode.messages,
        "changes": [] if state is None else [change_to_json(change) for change in state.changes],
        # What the indices in `changes` stand for.
        "calls": [] if state is None else list(state.calls),
        "schema_changes": [] if state is None else list(state.schema_changes),
        "effects": None,
        "usage": episode.spent.tokens,
        "timing": {name: round(value, 6) for name, value in episode.spent.seconds.items()},
        "policy": dict(setting.policy.describe()),
        "user": dict(setting.user.describe()),
        "judge": None if setting.judge is None else dict(setting.judge.describe()),
        "seeds": {"episode": setting.seed_of(task.uid, repetition)},
        "error": None if error is None else error.to_json(),
        "versions": {
            "packages": dict(package_versions()),
            "task": task.hash,
            "content": task.content_hash,
            "domain": domain.hash,
            "initial": initial_hash(domain, task),
            "profile": setting.profile,
            "format": setting.policy.format,
        },
    }


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of what a run found.

    Rows are sorted by key and written as compact JSON with sorted keys, each ended by LF. Left out
    are timing, checksum, and what a judge's answer cost this time, asked for or taken from a cache.
    Two runs found the same exactly when their digests are equal.
    """
    lines = sorted(((row["uid"], row["repetition"], row["try"]), _compared(row)) for row in rows)
    total = hashlib.sha256()
    for _, line in lines:
        total.update(line)
    return total.hexdigest()


def _compared(row: Mapping[str, Any]) -> bytes:
    kept = {name: value for name, value in row.items() if name not in _NOT_COMPARED}
    said = row.get("verdict", {}).get("details", {}).get("judge")
    if said is not None:
        verdict = kept["verdict"]
        told = [{name: each[name] for name in each if name != "votes"} for each in said]
        for entry, each in zip(told, said, strict=True):
            if "votes" in each:
                entry["votes"] = [
                    {name: vote[name] for name in vote if name != "cached"}
                    for vote in each["votes"]
                ]
        kept["verdict"] = {**verdict, "details": {**verdict["details"], "judge": told}}
        kept["usage"] = {role: row["usage"][role] for role in row["usage"] if role != "judge"}
    return json.dumps(kept, sort_keys=True, separators=(",", ":")).encode() + b"\n"
