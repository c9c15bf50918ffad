"""What the benchmarks of sessions share: golden episodes our way and the plain way, in one run.

A side gives episodes; this measures them: latencies, CPU, memory, and what is held after many.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import TypeAdapter

from outcomebox.sandbox import Process, Sandbox

Times = dict[str, list[float]]


class Bench(Protocol):
    """What is measured."""

    @property
    def tasks(self) -> Sequence[Any]:
        """The tasks that episodes come from."""
        ...

    def sides(self, box: Sandbox) -> AbstractAsyncContextManager[None]:
        """Start what episodes need; entered once, before all others."""
        ...

    async def ours(self, box: Sandbox, number: int, into: Times) -> None:
        """A golden episode our way.

        Raises:
            AssertionError: It did not pass.
        """
        ...

    async def plain(self, number: int, into: Times) -> None:
        """A golden episode the plain way.

        Raises:
            AssertionError: It did not pass.
        """
        ...

    async def calls(self, box: Sandbox, into: Times) -> None:
        """One tool call many times, ours (``call``) and the SDK client's (``direct``) by turns."""
        ...

    def live(self, box: Sandbox, number: int) -> AbstractAsyncContextManager[Sequence[int]]:
        """A session that has made its calls; gives its process ids."""
        ...


def process_cpu(pid: int) -> float:
    """Seconds of CPU of a process and of all it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def private_mb(pid: int) -> float:
    """Memory that a process shares with no other, in MB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = (int(line.split()[1]) for line in rollup if line.startswith("Private_"))
    return sum(sizes) * 1024 / 1e6


def spread(values: Sequence[float], scale: float = 1e3) -> dict[str, float]:
    """Median and 95th percentile."""
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return {"p50": statistics.median(ordered) * scale, "p95": high * scale}


async def several(count: int, concurrency: int, one: Any) -> float:
    """Run ``one(number)`` for all numbers, some at a time; returns the seconds."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await one(number)

    started = time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(concurrency):
            group.start_soon(work)
    return time.perf_counter() - started


@asynccontextmanager
async def sdk_client(process: Process) -> AsyncIterator[ClientSession]:
    """The official SDK's client on a live process."""
    adapter: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)
    incoming, read = anyio.create_memory_object_stream[Any](16)
    write, outgoing = anyio.create_memory_object_stream[Any](16)

    async def receive() -> None:
        lines = BufferedByteReceiveStream(process.stream)
        while True:
            line = await lines.receive_until(b"\n", 1 << 26)
            await incoming.send(SessionMessage(adapter.validate_json(line)))

    async def send() -> None:
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stream.send(text.encode() + b"\n")

    async with incoming, outgoing, anyio.create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(send)
        async with ClientSession(read, write) as client:
            await client.initialize()
            yield client
        group.cancel_scope.cancel()


def times() -> Times:
    """Empty lists for all that is timed."""
    return {name: [] for name in ("open", "grade", "episode", "call", "direct")}


def python_path(command: Sequence[str]) -> dict[str, str]:
    """Our own interpreter may find its packages by its search path alone."""
    return {"PYTHONPATH": ":".join(sys.path)} if command[0] == sys.executable else {}


async def _live(bench: Bench, box: Sandbox, count: int) -> dict[str, float]:
    """Private memory of many sessions that are open at once and have done their calls."""
    sizes: list[float] = []
    ready = anyio.Event()
    waiting = 0

    async def one(number: int) -> None:
        nonlocal waiting
        async with bench.live(box, number) as pids:
            waiting += 1
            if waiting == count:
                ready.set()
            await ready.wait()
            sizes.append(sum(private_mb(pid) for pid in pids))

    await several(count, count, one)
    return {"sessions": count, **spread(sizes, 1.0), "max": max(sizes)}


async def _soak(bench: Bench, box: Sandbox, count: int, concurrency: int) -> list[dict[str, Any]]:
    """Many episodes, with what is held after the first tenth and after all."""
    held = []
    for part in (count // 10, count - count // 10):
        into = times()
        await several(part, concurrency, lambda number: bench.ours(box, number, into))  # noqa: B023
        pids = [os.getpid(), *box.supervisors]
        held.append(
            {
                "episodes": part,
                "processes": sum(_children(pid) for pid in pids),
                "descriptors": [_open_files(pid) for pid in pids],
                "private_mb": [round(private_mb(pid), 1) for pid in pids],
                "files": sum(1 for _ in box.root.rglob("*")),
            }
        )
    return held


def _children(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return sum(len(task.read_text().split()) for task in tasks)


def _open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


async def measure(
    bench: Bench, given: argparse.Namespace, sandboxed: AbstractAsyncContextManager[Sandbox]
) -> dict[str, Any]:
    """All figures of one run.

    Args:
        bench: What is measured.
        given: The flags of :func:`add_flags`.
        sandboxed: Where our sessions are.
    """
    result: dict[str, Any] = {"tasks": len(bench.tasks), "concurrency": given.concurrency}
    if given.plain:
        into, before = times(), process_cpu(os.getpid())
        seconds = await several(
            given.plain, given.concurrency, lambda number: bench.plain(number, into)
        )
        spent = process_cpu(os.getpid()) - before
        result["plain"] = _figures(into, given.plain, seconds, spent)
    async with sandboxed as box, bench.sides(box):

        def ours(into: Times) -> Callable[[int], Awaitable[None]]:
            return lambda number: bench.ours(box, number, into)

        # Not counted: what the first sessions of a kind teach the later ones.
        await several(4 * given.concurrency, given.concurrency, ours(times()))
        mine = times()
        pids = [os.getpid(), *box.supervisors]
        before = sum(map(process_cpu, pids))
        seconds = await several(given.episodes, given.concurrency, ours(mine))
        spent = sum(map(process_cpu, pids)) - before
        result["ours"] = _figures(mine, given.episodes, seconds, spent)
        await bench.calls(box, mine)
        call, direct = spread(mine["call"]), spread(mine["direct"])
        result["call"] = {"ours": call, "direct": direct, "added_p50": call["p50"] - direct["p50"]}
        if given.live:
            result["live"] = await _live(bench, box, given.live)
        if given.soak:
            result["soak"] = await _soak(bench, box, given.soak, given.concurrency)
        result["notes"] = box.notes
    if given.plain:
        rate = "episodes_per_s"
        result["times_as_many_episodes"] = result["ours"][rate] / result["plain"][rate]
    return result


def _figures(times: Times, count: int, seconds: float, cpu: float) -> dict[str, Any]:
    return {
        "episodes": count,
        "episodes_per_s": count / seconds,
        "cpu_ms_per_episode": 1e3 * cpu / count,
        "open_ms": spread(times["open"]),
        "grade_ms": spread(times["grade"]),
        "episode_ms": spread(times["episode"]),
    }


def show(result: Mapping[str, Any]) -> None:
    """Print the figures as a table."""
    plain, ours = result.get("plain"), result["ours"]
    print(f"{result['tasks']} tasks, {result['concurrency']} at a time")
    print(f"{'':26} {'plain':>12} {'ours':>12} {'ratio':>8}")

    def line(name: str, theirs: float | None, mine: float, form: str = "10.1f") -> None:
        ratio = (
            "" if theirs is None else f"{max(theirs, mine) / max(1e-9, min(theirs, mine)):7.1f}x"
        )
        left = "" if theirs is None else format(theirs, form)
        print(f"{name:26} {left:>12} {format(mine, form):>12} {ratio:>8}")

    for name, key in (("open + init", "open_ms"), ("grade", "grade_ms"), ("episode", "episode_ms")):
        for part in ("p50", "p95"):
            theirs = None if plain is None else plain[key][part]
            line(f"{name} {part}, ms", theirs, ours[key][part])
    for name, key in (
        ("CPU an episode, ms", "cpu_ms_per_episode"),
        ("episodes a second", "episodes_per_s"),
    ):
        line(name, None if plain is None else plain[key], ours[key], "10.2f")
    call = result["call"]
    line("tool call p50, ms (SDK)", call["direct"]["p50"], call["ours"]["p50"], "10.3f")
    for name in ("live", "soak", "notes"):
        if result.get(name):
            print(f"{name}: {json.dumps(result[name])}")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that all benchmarks of sessions have."""
    parser.add_argument("--episodes", type=int, default=200, help="ours (default 200)")
    parser.add_argument("--plain", type=int, default=12, help="the plain way (default 12; 0: none)")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--live", type=int, default=0, help="sessions to hold open at once")
    parser.add_argument("--soak", type=int, default=0, help="episodes to look for growth in")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def report(result: Mapping[str, Any], as_json: bool) -> None:
    """Print what was measured."""
    if as_json:
        print(json.dumps(result))
    else:
        show(result)
