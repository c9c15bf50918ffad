"""Runs to report on: invented attempts as rows of a file, read as anybody's are."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outcomebox.eval.metrics.summary import summarize
from outcomebox.eval.report import Run
from outcomebox.eval.results import Expected, read_results
from outcomebox.reward.rows import seal

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>|`${x}`\u202e\\input{x}_%&"
"""A name that would be more than text wherever one forgets to escape it."""

DOMAINS = ("banking", "retail", "travel")


def row(uid: str, repetition: int, outcome: str, **more: Any) -> dict[str, Any]:
    """A row of an attempt, with a short conversation."""
    failed = outcome == "failed"
    error = {"type": "PolicyError", "message": "503", "phase": "policy"}
    reason = {
        "kind": "wrong_value",
        "table": "orders",
        "key": {"order_id": "O-1"},
        "column": "status",
        "expected": "held",
        "found": "lost",
        "message": "orders O-1: status is lost",
        "calls": [0],
    }
    return {
        "uid": uid,
        "repetition": repetition,
        "try": 0,
        "domain": uid.partition("/")[0],
        "family": "desk",
        "tags": ["short"],
        "verdict": {
            "outcome": outcome,
            "score": None if outcome == "system_error" else float(not failed),
            "reasons": [reason] if failed else [],
            "details": {"error": error} if outcome == "system_error" else {},
        },
        "finish_reason": None if outcome == "system_error" else "done",
        "messages": [
            {"role": "user", "content": f"Please hold my order, it is for {uid}."},
            {
                "role": "assistant",
                "content": "Done.",
                "tool_calls": [
                    {"id": "1", "name": "hold_order", "arguments": {"order_id": "O-1", "n": 2**80}}
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": '{"status": "held"}'},
        ],
        "changes": [
            {
                "op": "update",
                "table": "orders",
                "key": {"order_id": "O-1"},
                "old": {"status": "open"},
                "new": {"status": "lost" if failed else "held"},
                "calls": [0],
            }
        ],
        "calls": ["hold_order"],
        "schema_changes": [],
        "usage": {},
        "timing": {"total": 1.5},
        "traffic": {},
        "policy": {"name": "openai", "model": "invented"},
        "user": None,
        "judge": None,
        "seeds": {"episode": 1},
        "error": error if outcome == "system_error" else None,
        "versions": {"task": "t1"},
        **more,
    }


def drawn(
    tasks: int, attempts: int, *, seed: int = 0, lift: float = 0.0, uid: str = "{domain}/desk/{n}"
) -> list[dict[str, Any]]:
    """Rows of tasks over some domains; the same seed gives tasks of the same difficulty."""
    difficulty = random.Random(seed)
    luck = random.Random(f"{seed} {lift}")
    found = []
    for n in range(tasks):
        rate = min(1.0, difficulty.betavariate(0.7, 0.6) + lift)
        name = uid.format(domain=DOMAINS[n % len(DOMAINS)], n=n)
        found += [
            row(name, repetition, "passed" if luck.random() < rate else "failed")
            for repetition in range(attempts)
        ]
    return found


def write_rows(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A run's folder with these rows, and with what was due: every task, every repetition."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "episodes.jsonl").write_bytes(b"".join(map(seal, rows)))
    tasks = {each["uid"]: each for each in rows}
    plan = {
        "uids": sorted(tasks),
        "domains": [tasks[uid]["domain"] for uid in sorted(tasks)],
        "tags": [tasks[uid]["tags"] for uid in sorted(tasks)],
        "repetitions": sorted({each["repetition"] for each in rows}),
    }
    (folder / "run.json").write_text(json.dumps({"plan": plan}) + "\n")
    return folder


def run_of(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    name: str = "run",
    *,
    attempts: int | None = None,
) -> Run:
    """A run of rows, all read and summed up."""
    write_rows(folder, rows)
    uids = sorted({each["uid"] for each in rows})
    due = None if attempts is None else Expected.of(uids, attempts)
    results = read_results([str(folder)], expected=due)
    summary = summarize(results, by=("domain", "tag"), resamples=200)
    return Run(name, results, summary)
