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
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client

from outcomebox.reward.thinkingbox import CheckGrader, CheckOrder, check_grader, plain_process
from outcomebox.reward.thinkingbox.replaying import LAST_WORDS
from outcomebox.sandbox import Sandbox, ServerSpec, load_servers, open_world, sandbox
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask, load_thinkingbox
from outcomebox.sandbox.world import EFFECTS, INIT, TEARDOWN
from tools.bench.harness import Times, add_flags, measure, python_path, report, sdk_client

DESK = Path(__file__).parents[2] / "examples" / "desk"


async def answer_yes(_question: Any) -> str:
    """The judge of a replay: a stand-in."""
    return "yes"


def order_of(task: ThinkingBoxTask, effects: Mapping[str, Any], init: Any) -> CheckOrder:
    """What a grader is told."""
    context = {"response": LAST_WORDS, "effects": dict(effects), "init_result": init}
    return CheckOrder(task.test_code, task.name, task.file, task.uid, context, task.fixtures)


class Worlds:
    """The tasks and servers of a run; see :class:`tools.bench.harness.Bench`."""

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

    @asynccontextmanager
    async def sides(self, box: Sandbox) -> AsyncIterator[None]:
        """Start all servers in use, and the grader."""
        for name in dict.fromkeys(server for state in self.states for server in state):
            await box.start(self.specs[name])
        async with check_grader(box, ahead=self.given.concurrency) as self.grader:
            yield

    async def ours(self, box: Sandbox, number: int, into: Times) -> None:
        """A forked session, and a forked check."""
        task = self.tasks[number % len(self.tasks)]
        started = time.perf_counter()
        async with self.world(box, number) as world:
            into["open"].append(time.perf_counter() - started)
            for call in task.golden:
                await world.call_server(call.server, call.tool, call.arguments)
            effects = await world.effects()
            began = time.perf_counter()
            order = order_of(task, effects, world.init_result)
            verdict = await self.grader.grade(order, ask=answer_yes)
            into["grade"].append(time.perf_counter() - began)
        into["episode"].append(time.perf_counter() - started)
        if verdict.outcome != "passed":
            raise AssertionError(f"{task.uid}: {verdict}")

    async def plain(self, number: int, into: Times) -> None:
        """A server started anew, and a check in a new interpreter."""
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

    async def _plain_client(self, stack: AsyncExitStack, spec: ServerSpec) -> ClientSession:
        parameters = StdioServerParameters(
            command=spec.command[0],
            args=[_beside(spec, word) for word in spec.command[1:]],
            env={**spec.env, "FASTMCP_LOG_LEVEL": "WARNING", **python_path(spec.command)},
            cwd=spec.cwd,
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

    @asynccontextmanager
    async def live(self, box: Sandbox, number: int) -> AsyncIterator[Sequence[int]]:
        """A session that has made its calls and told its effects."""
        async with self.world(box, number) as world:
            for call in self.tasks[number % len(self.tasks)].golden:
                await world.call_server(call.server, call.tool, call.arguments)
            await world.effects()
            yield world.pids


def _beside(spec: ServerSpec, word: str) -> str:
    """A script beside servers.yaml as an absolute path; any other word as it is."""
    script = (spec.home or Path()) / word
    return str(script) if word.endswith(".py") and script.is_file() else word


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, default=DESK)
    parser.add_argument("--servers", type=Path, default=DESK / "servers.yaml")
    parser.add_argument("--list", type=Path, default=DESK / "list.yaml")
    parser.add_argument("--server-python", type=Path, default=None)
    parser.add_argument("--tasks", type=int, default=None, help="only the first tasks of the list")
    parser.add_argument(
        "--search", action="store_true", help="also set up what servers search in (sources)"
    )
    add_flags(parser)
    given = parser.parse_args()
    report(anyio.run(measure, Worlds(given), given, sandbox()), given.json)


if __name__ == "__main__":
    main()
