"""What the episode loop costs, and what it survives, against a stand-in endpoint (no model).

Three parts, each a run of its own; the endpoint and the tool servers are processes of their own, so
that the CPU time of this process is that of the harness alone.

    ./pants run tools/bench:rollout -- cost [--episodes 100]
        CPU an episode, and the same calls made on sessions directly, in one run
    ./pants run tools/bench:rollout -- flight [--live 500]
        so many episodes in flight at a moment: memory, file descriptors
    ./pants run tools/bench:rollout -- soak [--episodes 2000] [--rate 0.2]
        a run against an endpoint that does all that endpoints do, and one against a quiet one
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx
from stamina.instrumentation import set_on_retry_hooks

from outcomebox.reward.rows import read_rows
from outcomebox.rollout.digest import digest
from outcomebox.rollout.executors.base import Job
from outcomebox.rollout.executors.local import LocalExecutor
from outcomebox.rollout.plan import make_plan
from outcomebox.rollout.runner import Bounds, run_plan
from outcomebox.rollout.spec import RunSpec
from outcomebox.rollout.stages.native import judged
from outcomebox.rollout.standin import KINDS
from outcomebox.rollout.store import EpisodeStore
from outcomebox.rollout.worker import Worker
from outcomebox.sandbox import load_tasks, open_session, sandbox, start_domains

TASKS = ("retail", "travel")
GOAL_MS = 50.0
Given = TypeVar("Given")


def main() -> None:
    """Runs one part and prints what it measured as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", choices=("cost", "flight", "soak"))
    parser.add_argument("--episodes", type=int, default=None)
    parser.add_argument("--live", type=int, default=500)
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=16)
    given = parser.parse_args()
    set_on_retry_hooks([])  # counted in the rows
    if given.part == "cost":
        found = anyio.run(cost, given.episodes or 100)
    elif given.part == "flight":
        found = anyio.run(flight, given.live)
    else:
        found = anyio.run(soak, given.episodes or 2000, given.rate, given.concurrency)
    sys.stdout.write(json.dumps({"model": "stand-in: no model", **found}, indent=1) + "\n")


@asynccontextmanager
async def endpoint(*flags: str, port: str = "0") -> AsyncIterator[str]:
    """A stand-in endpoint in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "address"
        command = [sys.executable, "-m", "outcomebox.rollout.commands.app", "stand-in"]
        # An end of its own, should this process be killed before it can end it.
        command += ["--port", port, "--address-file", str(told), "--seconds", "7200", *flags]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(  # noqa: ASYNC220 -- it starts once
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while not told.exists():
                if process.poll() is not None:
                    raise SystemExit("the stand-in did not start")
                await anyio.sleep(0.05)
            yield told.read_text().strip()
        finally:
            process.kill()
            process.wait()


def spec(address: str, limit: int | None = None, **options: str) -> RunSpec:
    """A run against the endpoint."""
    given = {"base_url": address, "model": "stand-in", **options}
    return RunSpec(tasks=TASKS, policy="openai", policy_options=given, limit_tasks=limit)


async def cost(episodes: int) -> dict[str, Any]:
    """CPU of the harness an episode, beside the same calls made directly.

    All episodes of a task, four at a time, then those of the next: the line through the tasks'
    (calls, CPU an episode) by least squares says what an episode of ten calls costs.
    """
    rows: list[Mapping[str, Any]] = []
    ours: list[tuple[float, float]] = []
    async with (
        endpoint("--skill", "1000", "--malformed", "0", "--parallel", "0") as address,
        spec(address).open() as worker,
    ):
        uids = [task.uid for task in worker.tasks.tasks]
        each = max(1, round(episodes / len(uids)))

        async def one(job: Job) -> None:
            rows.append((await worker.attempt(job)).row)

        await _four_at_a_time(one, [Job(uid, each) for uid in uids[:8]])  # what is loaded once
        rows.clear()
        for uid in uids:
            started, first = time.process_time(), len(rows)
            await _four_at_a_time(one, [Job(uid, at) for at in range(each)])
            spent = 1e3 * (time.process_time() - started) / each
            ours.append((sum(len(row["calls"]) for row in rows[first:]) / each, spent))
    direct = await _direct(uids, each)
    one_ms, other_ms = _of_ten_calls(ours), _of_ten_calls(direct)
    return {
        "episodes": len(rows),
        "outcomes": Counter(row["verdict"]["outcome"] for row in rows),
        "calls_an_episode": statistics.fmean(calls for calls, _ in ours),
        "requests_an_episode": sum(r["traffic"]["policy"]["requests"] for r in rows) / len(rows),
        "cpu_ms_an_episode": statistics.fmean(ms for _, ms in ours),
        "cpu_ms_a_10_call_episode": one_ms,
        "goal_ms": GOAL_MS,
        "direct_cpu_ms_a_10_call_episode": other_ms,
        "ratio": one_ms / other_ms,
    }


def _of_ten_calls(pairs: Sequence[tuple[float, float]]) -> float:
    """Milliseconds where the line through (calls, milliseconds) has ten calls."""
    slope, base = statistics.linear_regression(*zip(*pairs, strict=True))
    return base + 10 * slope


async def _direct(uids: Sequence[str], each: int) -> list[tuple[float, float]]:
    """Number and CPU milliseconds of each task's golden calls on a session, with the verdict."""
    tasks = load_tasks(TASKS)
    pairs: list[tuple[float, float]] = []
    async with sandbox() as box:
        await start_domains(box, list(tasks.domains.values()))

        async def one(uid: str) -> None:
            task = tasks.by_uid[uid]
            async with open_session(box, tasks.domain(task), tasks.image(task), seed=0) as session:
                for call in task.golden:
                    await session.call(call.tool, call.arguments)
                judged(task, await session.close(), None, [])

        await _four_at_a_time(one, uids[:8])
        for uid in uids:
            started = time.process_time()
            await _four_at_a_time(one, [uid] * each)
            spent = 1e3 * (time.process_time() - started) / each
            pairs.append((float(len(tasks.by_uid[uid].golden)), spent))
    return pairs


async def _four_at_a_time(
    one: Callable[[Given], Coroutine[Any, Any, None]], given: Sequence[Given]
) -> None:
    limit = anyio.CapacityLimiter(4)

    async def limited(what: Given) -> None:
        async with limit:
            await one(what)

    async with anyio.create_task_group() as group:
        for what in given:
            group.start_soon(limited, what)


async def flight(live: int) -> dict[str, Any]:
    """Memory and descriptors with so many episodes waiting for the endpoint's answer."""
    async with (
        endpoint("--delay", "3600") as address,
        spec(address, timeout_s="3600").open() as worker,
        httpx.AsyncClient(base_url=f"{address}/", timeout=60) as client,
    ):
        before = _held()
        started = time.monotonic()
        async with anyio.create_task_group() as group:
            for job in _jobs(worker, live):
                group.start_soon(worker.attempt, job)
            while (await client.get("stand-in")).json()["most_inside"] < live:  # noqa: ASYNC110
                await anyio.sleep(0.2)
            seconds = time.monotonic() - started
            after = _held()
            group.cancel_scope.cancel()
    return {
        "in_flight": live,
        "cores": len(os.sched_getaffinity(0)),
        "seconds_until_all_were": seconds,
        "before": before,
        "with_all": after,
        "runner_kib_an_episode": (after["runner_kib"] - before["runner_kib"]) / live,
        "servers_pss_kib_an_episode": (after["below_pss_kib"] - before["below_pss_kib"]) / live,
    }


async def soak(episodes: int, rate: float, concurrency: int) -> dict[str, Any]:
    """The same run against a quiet endpoint and one that misbehaves, half of it streamed."""
    told: dict[str, Any] = {"episodes": episodes, "rate": rate}
    finds: list[dict[tuple[str, int], Mapping[str, Any]]] = []
    injected: Counter[str] = Counter()
    for name, flags in (("quiet", ()), ("broken", ("--chaos", f"{rate}"))):
        last: dict[tuple[str, int], Mapping[str, Any]] = {}
        rows = doubled = broken = 0
        started = time.monotonic()
        async with endpoint(*flags) as address:
            for part, stream in enumerate(("false", "true")):
                for row in await _run(address, stream, episodes // 2, part, concurrency):
                    key = (f"{part}/{row['uid']}", row["repetition"])
                    rows += 1
                    before = last.get(key)
                    doubled += before is not None and not _is_broken(before)
                    broken += _is_broken(row)
                    last[key] = row
            async with httpx.AsyncClient() as client:
                injected += Counter((await client.get(f"{address}/stand-in")).json()["injected"])
        finds.append(last)
        told[name] = {
            "seconds": time.monotonic() - started,
            "rows": rows,
            "doubled": doubled,
            "tries_that_broke": broken,
            "outcomes": Counter(row["verdict"]["outcome"] for row in last.values()),
            "requests": sum(row["traffic"]["policy"]["requests"] for row in last.values()),
            "retries": sum(row["traffic"]["policy"]["retries"] for row in last.values()),
        }
    quiet, broken_ones = finds
    told["injected"] = dict(sorted(injected.items()))
    told["kinds_that_never_happened"] = sorted(set(KINDS) - set(injected))
    told["lost"] = len(quiet.keys() - broken_ones.keys())
    told["other_verdicts"] = sum(
        quiet[key]["verdict"] != row["verdict"] for key, row in broken_ones.items()
    )
    told["same_digest"] = _digest(quiet) == _digest(broken_ones)
    return told


async def _run(
    address: str, stream: str, episodes: int, part: int, concurrency: int
) -> list[Mapping[str, Any]]:
    """All rows of a run of so many episodes."""
    options = {"stream": stream, "timeout_s": "20"}
    async with spec(address, episodes, **options).open() as worker:
        attempts = -(-episodes // len(worker.tasks.tasks))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{part}.jsonl"
            with EpisodeStore(path) as store:
                await run_plan(
                    LocalExecutor(worker, concurrency),
                    make_plan(worker.tasks, attempts, store),
                    store,
                    # What is refused here is drawn, and slowing down makes it no rarer.
                    bounds=Bounds(concurrency=concurrency, min_concurrency=concurrency),
                    check=_up,
                )
            return list(read_rows(path))


async def _up(_: str) -> None:
    """The endpoint is up as long as this runs."""


def _is_broken(row: Mapping[str, Any]) -> bool:
    return bool(row["verdict"]["outcome"] == "system_error")


def _digest(rows: Mapping[Any, Mapping[str, Any]]) -> str:
    """Of the results, without the address, whose port is another each time."""
    kept = []
    for (uid, _), row in rows.items():
        policy = {name: row["policy"][name] for name in row["policy"] if name != "base_url"}
        kept.append({**row, "uid": uid, "policy": policy})
    return digest(kept, results=True)


def _jobs(worker: Worker, number: int) -> list[Job]:
    uids = [task.uid for task in worker.tasks.tasks]
    return [Job(uids[at % len(uids)], at // len(uids)) for at in range(number)]


def _held() -> dict[str, int]:
    """KiB and file descriptors of this process, and KiB and number of those below it."""
    own = Path("/proc/self/status").read_text()
    below = [pid for pid in _below(os.getpid()) if not _is_endpoint(pid)]
    return {
        "runner_kib": int(own.partition("VmRSS:")[2].split()[0]),
        "runner_peak_kib": int(own.partition("VmHWM:")[2].split()[0]),
        "runner_descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "processes_below": len(below),
        "below_pss_kib": sum(map(_pss_kib, below)),
    }


def _is_endpoint(pid: int) -> bool:
    try:
        return b"stand-in" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return True  # it went meanwhile


def _pss_kib(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0  # it went meanwhile
    return int(text.partition("\nPss:")[2].split()[0])


def _below(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it went meanwhile
            parents.setdefault(parent, []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        inner = parents.get(left.pop(), [])
        found += inner
        left += inner
    return found


if __name__ == "__main__":
    main()
