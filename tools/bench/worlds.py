"""Golden episodes in the ThinkingBox form: ours against the plain way, in one run on one machine.

The plain way starts, for each session, the tool server anew with the official SDK's stdio client,
and for each check a new interpreter that imports the check's names. Both sides replay the same
tasks on the same server, several at a time; every figure is of this run.

    ./pants run tools/bench:worlds -- [--episodes 200] [--plain 12] [--live 256] [--soak 10000]

Without --dataset it replays examples/desk.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import TypeAdapter

from outcomebox.eval.replay import LAST_WORDS
from outcomebox.reward.thinkingbox import CheckGrader, CheckOrder, check_grader, plain_process
from outcomebox.sandbox import (
    Process,
    Sandbox,
    ServerSpec,
    load_servers,
    open_world,
    sandbox,
)
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask, load_thinkingbox
from outcomebox.sandbox.world import EFFECTS, INIT, TEARDOWN

DESK = Path(__file__).parents[2] / "examples" / "desk"
Times = dict[str, list[float]]


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


async def answer_yes(_question: Any) -> str:
    """The judge of a replay: a stand-in."""
    return "yes"


def order_of(task: ThinkingBoxTask, effects: Mapping[str, Any], init: Any) -> CheckOrder:
    """What a grader is told."""
    context = {"response": LAST_WORDS, "effects": dict(effects), "init_result": init}
    return CheckOrder(task.test_code, task.name, task.file, task.uid, context, task.fixtures)


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


class Bench:
    """The tasks and servers of a run."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.specs = load_servers(given.servers, python=given.server_python)
        if not given.search:
            self.specs = {
                name: spec.model_copy(update={"search": False}) for name, spec in self.specs.items()
            }
        tasks = load_thinkingbox(given.dataset, None, list_file=given.list)
        self.tasks = [task for task in tasks if not task.tags.skip][: given.tasks]
        self.states = [self._state(task) for task in self.tasks]

    def _state(self, task: ThinkingBoxTask) -> dict[str, Any]:
        if self.given.search:
            return task.servers
        return {
            server: {name: value for name, value in config.items() if name != "sources"}
            for server, config in task.servers.items()
        }

    def world(self, box: Sandbox, number: int) -> Any:
        """A fresh world of the task that comes at ``number``."""
        index = number % len(self.tasks)
        tools = [tool.name for tool in self.tasks[index].tools]
        name = f"bench-{number}"
        return open_world(box, self.specs, self.states[index], tools, seed=0, session_id=name)

    async def start(self, box: Sandbox) -> None:
        """Start all servers in use."""
        for name in dict.fromkeys(server for state in self.states for server in state):
            await box.start(self.specs[name])

    async def ours(self, box: Sandbox, grader: CheckGrader, count: int, into: Times) -> float:
        """Golden episodes our way; returns the seconds of all."""

        async def one(number: int) -> None:
            task = self.tasks[number % len(self.tasks)]
            started = time.perf_counter()
            async with self.world(box, number) as world:
                into["open"].append(time.perf_counter() - started)
                for call in task.golden:
                    await world.call_server(call.server, call.tool, call.arguments)
                effects = (await world.effects()).by_server
                began = time.perf_counter()
                order = order_of(task, effects, world.init_result)
                verdict = await grader.grade(order, ask=answer_yes)
                into["grade"].append(time.perf_counter() - began)
            into["episode"].append(time.perf_counter() - started)
            if verdict.outcome != "passed":
                raise AssertionError(f"{task.uid}: {verdict}")

        return await several(count, self.given.concurrency, one)

    async def plain(self, count: int, into: Times) -> float:
        """Golden episodes the plain way; returns the seconds of all."""

        async def one(number: int) -> None:
            index = number % len(self.tasks)
            task = self.tasks[index]
            started = time.perf_counter()
            effects: dict[str, Any] = {}
            async with AsyncExitStack() as stack:
                clients = {}
                for name, config in self.states[index].items():
                    client = await self._plain_client(stack, self.specs[name])
                    await client.call_tool(INIT, {"config": config})
                    clients[name] = client
                into["open"].append(time.perf_counter() - started)
                for call in task.golden:
                    await clients[call.server].call_tool(call.tool, dict(call.arguments))
                for name, client in clients.items():
                    result: Any = await client.call_tool(EFFECTS, {})
                    effects[name] = json.loads(result.content[0].text)
                began = time.perf_counter()
                verdict = await CheckGrader(plain_process).grade(
                    order_of(task, effects, {}), ask=answer_yes
                )
                into["grade"].append(time.perf_counter() - began)
                for client in clients.values():
                    await client.call_tool(TEARDOWN, {})
            into["episode"].append(time.perf_counter() - started)
            if verdict.outcome != "passed":
                raise AssertionError(f"{task.uid}: {verdict}")

        return await several(count, self.given.concurrency, one)

    async def _plain_client(self, stack: AsyncExitStack, spec: ServerSpec) -> ClientSession:
        parameters = StdioServerParameters(
            command=spec.command[0],
            args=list(spec.command[1:]),
            env={**spec.env, "FASTMCP_LOG_LEVEL": "WARNING", **_python_path(spec)},
            cwd=spec.cwd or spec.home,
        )
        read, write = await stack.enter_async_context(stdio_client(parameters))
        client = await stack.enter_async_context(ClientSession(read, write))
        await client.initialize()
        await client.list_tools()
        return client

    async def calls(self, box: Sandbox, into: Times) -> None:
        """The first golden call by turns, ours and the SDK client's, on two forks of one server."""
        index = next(index for index, task in enumerate(self.tasks) if task.golden)
        call = self.tasks[index].golden[0]
        spec = self.specs[call.server]
        async with (
            self.world(box, index) as world,
            box.process(spec, seed=0) as process,
            sdk_client(process) as direct,
        ):
            config = self.states[index][call.server]
            await direct.call_tool(INIT, {"config": config})
            await direct.call_tool(call.tool, dict(call.arguments))
            for _ in range(300):
                started = time.perf_counter()
                await world.call(call.tool, call.arguments)
                between = time.perf_counter()
                await direct.call_tool(call.tool, dict(call.arguments))
                into["call"].append(between - started)
                into["direct"].append(time.perf_counter() - between)

    async def live(self, box: Sandbox, count: int) -> dict[str, float]:
        """Private memory of many sessions that are open at once and have done their calls."""
        sizes: list[float] = []
        ready = anyio.Event()
        waiting = 0

        async def one(number: int) -> None:
            nonlocal waiting
            async with self.world(box, number) as world:
                for call in self.tasks[number % len(self.tasks)].golden:
                    await world.call_server(call.server, call.tool, call.arguments)
                await world.effects()
                waiting += 1
                if waiting == count:
                    ready.set()
                await ready.wait()
                sizes.append(sum(private_mb(pid) for pid in world.pids))

        await several(count, count, one)
        return {"sessions": count, **spread(sizes, 1.0), "max": max(sizes)}

    async def soak(self, box: Sandbox, grader: CheckGrader, count: int) -> list[dict[str, Any]]:
        """Many episodes, with what is held after the first tenth and after all."""
        held = []
        for part in (count // 10, count - count // 10):
            await self.ours(box, grader, part, _times())
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


def _times() -> Times:
    return {name: [] for name in ("open", "grade", "episode", "call", "direct")}


def _children(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return sum(len(task.read_text().split()) for task in tasks)


def _open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _python_path(spec: ServerSpec) -> dict[str, str]:
    """Our own interpreter may find its packages by its search path alone."""
    return {"PYTHONPATH": ":".join(sys.path)} if spec.command[0] == sys.executable else {}


async def measure(given: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    bench = Bench(given)
    result: dict[str, Any] = {"tasks": len(bench.tasks), "concurrency": given.concurrency}
    plain = _times()
    if given.plain:
        before = process_cpu(os.getpid())
        seconds = await bench.plain(given.plain, plain)
        result["plain"] = _figures(plain, given.plain, seconds, process_cpu(os.getpid()) - before)
    async with sandbox() as box, check_grader(box) as grader:
        await bench.start(box)
        await bench.ours(box, grader, given.concurrency, _times())
        times = _times()
        pids = [os.getpid(), *box.supervisors]
        before = sum(map(process_cpu, pids))
        seconds = await bench.ours(box, grader, given.episodes, times)
        spent = sum(map(process_cpu, pids)) - before
        result["ours"] = _figures(times, given.episodes, seconds, spent)
        await bench.calls(box, times)
        call, direct = spread(times["call"]), spread(times["direct"])
        result["call"] = {"ours": call, "direct": direct, "added_p50": call["p50"] - direct["p50"]}
        if given.live:
            result["live"] = await bench.live(box, given.live)
        if given.soak:
            result["soak"] = await bench.soak(box, grader, given.soak)
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, default=DESK)
    parser.add_argument("--servers", type=Path, default=DESK / "servers.yaml")
    parser.add_argument("--list", type=Path, default=DESK / "list.yaml")
    parser.add_argument("--server-python", type=Path, default=None)
    parser.add_argument("--tasks", type=int, default=None, help="only the first tasks of the list")
    parser.add_argument("--episodes", type=int, default=200, help="ours (default 200)")
    parser.add_argument("--plain", type=int, default=12, help="the plain way (default 12; 0: none)")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--live", type=int, default=0, help="sessions to hold open at once")
    parser.add_argument("--soak", type=int, default=0, help="episodes to look for growth in")
    parser.add_argument(
        "--search", action="store_true", help="also set up what servers search in (sources)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    result = anyio.run(measure, parser.parse_args())
    if parser.parse_args().json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
