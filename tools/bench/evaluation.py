"""What an evaluation costs once its episodes are there: from full rows to figures, no model asked.

./pants run tools/bench:evaluation -- rows --out FOLDER [--tasks 507] [--attempts 20]
    a folder like a run's: real episodes of the simulated policy, spread over so many tasks
./pants run tools/bench:evaluation -- read FOLDER
    its rows, transcripts and all, to the table of tries and the proof of completeness
./pants run tools/bench:evaluation -- report FOLDER
    its rows to the full report in all formats, transcripts in side files
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console

from outcomebox.eval.completeness import completeness
from outcomebox.eval.metrics.summary import summarize
from outcomebox.eval.report import Run, write_report
from outcomebox.eval.results import by_task, read_results
from outcomebox.reward.rows import Row, read_rows
from outcomebox.rollout.commands.running import run_it
from outcomebox.rollout.commands.runsettings import RunSettings
from outcomebox.rollout.runfolder import run_files
from outcomebox.rollout.spec import RunSpec
from outcomebox.rollout.store import EpisodeStore

DOMAINS = ("retail", "auto_insurance", "travel", "neobank", "consulting")
PASS_SHAPE = (0.68, 0.64)
"""Beta shape of the tasks' pass rates: mean .517, spread as in published runs of hard tasks."""
BROKEN = 0.01
"""Share of attempts whose first try is a system error."""
MODEL = "stand-in-27b"


def main() -> None:
    """Runs one part and prints what it measured as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", required=True)
    rows = parts.add_parser("rows")
    rows.add_argument("--out", type=Path, required=True)
    rows.add_argument("--tasks", type=int, default=507)
    rows.add_argument("--attempts", type=int, default=20)
    rows.add_argument("--seed", type=int, default=0)
    rows.add_argument("--lift", type=float, default=0.0, help="added to every task's pass rate")
    read = parts.add_parser("read")
    read.add_argument("folder", type=Path)
    read.add_argument("--counts", action="store_true", help="the index alone")
    parts.add_parser("report").add_argument("folder", type=Path)
    given = parser.parse_args()
    if given.part == "rows":
        found = write_rows(
            given.out,
            tasks=given.tasks,
            attempts=given.attempts,
            seed=given.seed,
            lift=given.lift,
        )
    elif given.part == "report":
        found = measure_report(given.folder)
    else:
        found = measure_reading(given.folder, counts=given.counts)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


def measure_reading(folder: Path, *, counts: bool = False) -> dict[str, Any]:
    """From a run's folder to counts of every task: seconds, rows, bytes, peak memory."""
    started = time.perf_counter()
    results = read_results([str(folder)], counts=counts)
    read = time.perf_counter()
    proof = completeness(results)
    tasks = by_task(results)
    ended = time.perf_counter()
    size = run_files(folder).rows.stat().st_size
    return {
        "rows": results.attempts.height,
        "tasks": tasks.height,
        "final": proof.final,
        "bytes": size,
        "read_s": round(read - started, 3),
        "mb_per_s": round(size / 1e6 / (read - started), 1),
        "completeness_s": round(ended - read, 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1),
    }


def measure_report(folder: Path) -> dict[str, Any]:
    """From a run's folder to a report's: seconds of each step and of the processor, peak memory."""
    started, used = time.perf_counter(), time.process_time()
    results = read_results([str(folder)])
    read = time.perf_counter()
    summary = summarize(results, by=("domain", "tag"))
    summed = time.perf_counter()
    with tempfile.TemporaryDirectory() as out:
        written = write_report([Run("bench", results, summary)], Path(out))
        ended, spent = time.perf_counter(), time.process_time()
    return {
        "rows": results.attempts.height,
        "transcripts": written.transcripts,
        "final": summary.final,
        "read_s": round(read - started, 3),
        "figures_s": round(summed - read, 3),
        "write_s": round(ended - summed, 3),
        "all_s": round(ended - started, 3),
        "cpu_s": round(spent - used, 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1),
    }


def write_rows(
    out: Path, *, tasks: int = 507, attempts: int = 20, seed: int = 0, lift: float = 0.0
) -> dict[str, Any]:
    """Write a folder like that of a finished run.

    Transcripts, changes and reasons are those of real episodes; which task passes when is drawn.

    Args:
        out: The folder; it must not hold a run.
        tasks: How many tasks, spread over five domains.
        attempts: Attempts at each.
        seed: Of the draw.
        lift: Added to every task's pass rate, for a second policy.
    """
    templates = _templates()
    draw = random.Random(seed)
    rates = [draw.betavariate(*PASS_SHAPE) for _ in range(tasks)]
    # Outcomes have a seed of their own, so that two policies share their tasks' difficulty.
    draw = random.Random(f"{seed}/{lift}")
    uids = [f"{DOMAINS[number % 5]}/bench/{number:04d}" for number in range(tasks)]
    run = run_files(out)
    out.mkdir(parents=True, exist_ok=True)
    settings = {
        "plan": {
            "uids": sorted(uids),
            "domains": [uid.partition("/")[0] for uid in sorted(uids)],
            "tags": [_tags(uid) for uid in sorted(uids)],
            "repetitions": list(range(attempts)),
        }
    }
    run.settings.write_text(json.dumps(settings, indent=1) + "\n")
    written = 0
    with EpisodeStore(run.rows) as store:
        for repetition in range(attempts):
            for number, uid in enumerate(uids):
                passed = draw.random() < min(1.0, rates[number] + lift)
                kind = templates["passed" if passed else "failed"]
                row = _row(kind[draw.randrange(len(kind))], uid, repetition, draw)
                if draw.random() < BROKEN:
                    store.append(_broken(row))
                    row |= {"try": 1}
                    written += 1
                store.append(row)
                written += 1
    return {"folder": str(out), "rows": written, "bytes": run.rows.stat().st_size}


def _templates() -> Mapping[str, Sequence[Row]]:
    """Rows of real episodes, by outcome."""
    with tempfile.TemporaryDirectory() as folder:
        settings = RunSettings(
            run_files(Path(folder) / "run"),
            RunSpec(tasks=("retail", "travel"), policy="simulated", limit_tasks=30),
            attempts=2,
        )
        anyio.run(run_it, settings, None, Console(stderr=True, quiet=True))
        rows = list(read_rows(settings.run.rows))
    return {
        outcome: [row for row in rows if row["verdict"]["outcome"] == outcome]
        for outcome in ("passed", "failed")
    }


def _tags(uid: str) -> list[str]:
    number = int(uid.rpartition("/")[2])
    return ["long" if number % 3 else "short", *(["two-systems"] if number % 4 == 0 else [])]


def _row(template: Row, uid: str, repetition: int, draw: random.Random) -> Row:
    spent = draw.randrange(20_000, 60_000)
    return {
        **template,
        "uid": uid,
        "repetition": repetition,
        "try": 0,
        "domain": uid.partition("/")[0],
        "family": "bench",
        "tags": _tags(uid),
        "usage": {
            "policy": {"prompt": spent, "completion": draw.randrange(800, 4000)},
            "user": {"prompt": spent // 8, "completion": draw.randrange(60, 400)},
        },
        "policy": {"name": "openai", "simulated": False, "model": MODEL},
        "user": {"name": "model", "model": "stand-in-user"},
        "versions": {**template["versions"], "task": f"{uid}-of-the-bench"},
    }


def _broken(row: Row) -> Row:
    """The same attempt as it breaks before its first answer."""
    error = {"type": "PolicyError", "message": "503 from the endpoint", "phase": "policy"}
    return {
        **row,
        "verdict": {
            "outcome": "system_error",
            "score": None,
            "reasons": [],
            "details": {"error": error},
        },
        "finish_reason": None,
        "messages": row["messages"][:2],
        "changes": [],
        "error": error,
    }


if __name__ == "__main__":
    main()
