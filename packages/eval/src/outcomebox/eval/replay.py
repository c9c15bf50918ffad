"""Replaying the golden calls of a ThinkingBox task, or a mutation of them: a row a trajectory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from outcomebox.reward.thinkingbox.mutations import Variant
from outcomebox.reward.thinkingbox.replaying import Played, Replaying, Trajectory, play
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox import InputError
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask

Row = dict[str, Any]


async def replay(run: Replaying, task: ThinkingBoxTask, variant: Variant) -> Row:
    """Make a trajectory's calls in a fresh world and grade what they left.

    Returns:
        A row: what was done, the verdict, the database hashes where the servers give them, and what
        it cost. Whatever breaks on the way is a ``system_error`` in it.
    """
    started = time.monotonic()
    played = await _played(run, task, variant)
    row: Row = {
        "uid": task.uid,
        "family": task.family,
        "policy": variant.name,
        "task": task.hash,
        "calls": len(variant.calls),
        "call_errors": len(played.refused),
        "verdict": "system_error",
        "score": None,
        "reason": None,
        "error": played.error,
        "result_db_hash": None,
        "golden_db_hash": None,
        "judge": None,
    }
    if played.warnings:
        row["warnings"] = list(played.warnings)
    if played.effects is not None:
        _hashes(row, played.effects)
    if played.verdict is not None:
        _tell(row, played.verdict)
    if played.asked:
        row["judge"] = {**run.judge.describe(), "questions": len(played.asked)}
        replies = [{**each} for each in played.asked]
        for each in replies:
            del each["question"]  # long: most of it is the text under judgement
        if any(replies):
            row["judge"]["replies"] = replies
    row["isolation"] = _isolation(run, task)
    row["cpu_s"] = round(played.cpu_s, 4)
    row["wall_s"] = round(time.monotonic() - started, 4)
    return row


async def _played(run: Replaying, task: ThinkingBoxTask, variant: Variant) -> Played:
    try:
        calls = tuple(task.golden[index] for index in variant.calls)
    except InputError as error:
        told = {"type": type(error).__name__, "message": str(error), "phase": "task"}
        return Played(error=told)
    strict = variant.name == "golden"
    return await play(run, task, Trajectory(variant.name, calls, strict=strict))


def _hashes(row: Row, effects: Mapping[str, Any]) -> None:
    """The servers' database hashes: of one server as it is, of several joined by a comma."""
    for name in ("result_db_hash", "golden_db_hash"):
        told = [value[name] for value in effects.values() if value.get(name)]
        row[name] = ",".join(told) if told else None


def _tell(row: Row, verdict: Verdict) -> None:
    row["verdict"], row["score"] = verdict.outcome, verdict.score
    if verdict.reasons:
        row["reason"] = verdict.reasons[0].message
    if verdict.error is not None:
        row["error"] = dict(verdict.error)


def _isolation(run: Replaying, task: ThinkingBoxTask) -> dict[str, Any]:
    return {
        name: run.box.isolation(run.specs[name]).to_json()
        for name in task.servers
        if name in run.specs
    }
