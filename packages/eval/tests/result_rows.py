"""Rows as runs write them, small: what a reader takes from them and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outcomebox.reward.rows import seal

DOMAIN = "shelf"


def row(uid: str, repetition: int, outcome: str = "passed", **more: Any) -> dict[str, Any]:
    """A row of ours.

    Args:
        uid: The task.
        repetition: Index of the attempt.
        outcome: Of its verdict.
        more: Fields that replace these.
    """
    failed = outcome == "failed"
    broke = outcome == "system_error"
    return {
        "uid": uid,
        "repetition": repetition,
        "try": 0,
        "domain": DOMAIN,
        "family": "move",
        "tags": ["one", "two"],
        "verdict": {
            "outcome": outcome,
            "score": None if broke else float(not failed),
            "reasons": [{"kind": "missing_insert"}, {"kind": "wrong_value"}] if failed else [],
            "details": {},
        },
        "finish_reason": None if broke else "done",
        "messages": [
            {"role": "system", "content": "policy"},
            {"role": "user", "content": "please"},
            {"role": "assistant", "content": None},
            {"role": "tool", "content": "no such book", "is_error": True},
            {"role": "assistant", "content": None},
            {"role": "tool", "content": "moved"},
            {"role": "assistant", "content": "Moved.", "direct_response": "move"},
            {"role": "assistant", "content": "Done. <DONE>"},
        ],
        "changes": [] if broke else [{"op": "insert", "table": "moves"}],
        "schema_changes": [],
        "effects": None,
        "usage": {"policy": {"prompt": 100, "completion": 20}, "user": {}},
        "timing": {"open": 0.5, "policy": 1.25, "messages": [0.1], "started": "2026-01-01"},
        "policy": {"name": "openai", "model": "m"},
        "user": {"name": "scripted"},
        "judge": None,
        "error": {"type": "PolicyError", "message": "503", "phase": "policy"} if broke else None,
        "versions": {
            "packages": {"outcomebox-rollout": "0.1.0"},
            "task": f"hash of {uid}",
            "domain": "d",
            "profile": "strict",
        },
        **more,
    }


def run_folder(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    *,
    uids: Sequence[str] | None = None,
    attempts: int = 0,
) -> Path:
    """A run's folder with rows, and its plan where uids are given."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "episodes.jsonl").write_bytes(b"".join(map(seal, rows)))
    if uids is not None:
        plan = {
            "uids": list(uids),
            "domains": [DOMAIN] * len(uids),
            "tags": [["one", "two"]] * len(uids),
            "repetitions": list(range(attempts)),
        }
        (folder / "run.json").write_text(json.dumps({"plan": plan}))
    return folder


def lines_file(path: Path, rows: Sequence[Any]) -> Path:
    """Plain JSONL, without checksums."""
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path
