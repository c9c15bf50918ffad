"""Golden episodes of a bundled domain: ours against the plain way, in one run on one machine.

The plain way starts, for each session, the domain's server anew with the official SDK's stdio
client, and for each check a new interpreter that imports the grader. Both sides make the same calls
on the same server, several at a time; every figure is of this run.

    ./pants run tools/bench:sessions -- [--domain retail] [--episodes 200] [--live 256]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client

from outcomebox.interpret import interpret, render
from outcomebox.rollout.stages.native import judged
from outcomebox.sandbox import (
    Sandbox,
    Session,
    Task,
    load_tasks,
    open_session,
    sandbox,
    start_domains,
)
from outcomebox.sandbox.image import SqliteImage
from outcomebox.sandbox.toolserver import DATABASE_VARIABLE, NOW_VARIABLE, SEED_VARIABLE
from tools.bench.harness import Times, add_flags, measure, python_path, report, sdk_client

# What a check in a process of its own comes to: its names, one task, and the states of two files.
_CHECK = """
import sys
from outcomebox.reward import Check, grade
from outcomebox.sandbox import Task, read_state, terminal_state
task = Task.model_validate_json(sys.argv[1], strict=False)
initial = read_state(sys.argv[2])
state = terminal_state(initial, read_state(sys.argv[3], like=initial))
print(grade(Check.from_task(task), state, judge=None, transcript=[]).outcome)
"""


class Episodes:
    """The tasks of a domain; see :class:`tools.bench.harness.Bench`."""

    def __init__(self, domain: str) -> None:
        self.set = load_tasks([domain])
        self.tasks = self.set.tasks
        self.domain = self.set.domain(self.tasks[0])
        for task in self.tasks:
            self.set.image(task)

    def _file(self, task: Task) -> bytes:
        image = self.set.image(task)
        assert isinstance(image, SqliteImage)  # noqa: S101 -- what tasks are loaded for
        return image.data

    @asynccontextmanager
    async def sides(self, box: Sandbox) -> AsyncIterator[None]:
        """Start the domain's server."""
        await start_domains(box, [self.domain])
        yield

    @asynccontextmanager
    async def _session(self, box: Sandbox, number: int) -> AsyncIterator[Session]:
        image = self.set.image(self.tasks[number % len(self.tasks)])
        async with open_session(box, self.domain, image, seed=number) as session:
            yield session

    async def ours(self, box: Sandbox, number: int, into: Times) -> None:
        """A forked session; the verdict in this process."""
        task = self.tasks[number % len(self.tasks)]
        started = time.perf_counter()
        async with self._session(box, number) as session:
            into["open"].append(time.perf_counter() - started)
            for call in task.golden:
                await session.call(call.tool, call.arguments)
            state = await session.close()
        began = time.perf_counter()
        verdict = judged(task, state, None, [])
        ended = time.perf_counter()
        into["grade"].append(ended - began)
        into["episode"].append(ended - started)
        if verdict.outcome != "passed":
            raise AssertionError(f"{task.uid}: {verdict}")

    async def plain(self, number: int, into: Times) -> None:
        """A server started anew, and a check in a new interpreter."""
        task = self.tasks[number % len(self.tasks)]
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder) / "database.sqlite"
            before = Path(folder) / "before.sqlite"
            for copy in (before, database):
                copy.write_bytes(self._file(task))
            async with (
                stdio_client(self._parameters(database)) as (read, write),
                ClientSession(read, write) as client,
            ):
                await client.initialize()
                await client.list_tools()
                into["open"].append(time.perf_counter() - started)
                for call in task.golden:
                    await client.call_tool(call.tool, dict(call.arguments))
            began = time.perf_counter()
            given = (task.model_dump_json(), str(before), str(database))
            check = [sys.executable, "-c", _CHECK, *given]
            done = await anyio.run_process(check, env=python_path(check))
        ended = time.perf_counter()
        into["grade"].append(ended - began)
        into["episode"].append(ended - started)
        if done.stdout.decode().strip() != "passed":
            raise AssertionError(f"{task.uid}: {done.stdout.decode()}")

    def _parameters(self, database: Path) -> StdioServerParameters:
        command = self.domain.server.command
        env = {NOW_VARIABLE: self.domain.settings.now, SEED_VARIABLE: "0"}
        return StdioServerParameters(
            command=command[0],
            args=list(command[1:]),
            env={DATABASE_VARIABLE: str(database), **env, **python_path(command)},
        )

    async def calls(self, box: Sandbox, into: Times) -> None:
        """The first golden call by turns, ours and the SDK client's, on two forks of one server."""
        call = self.tasks[0].golden[0]
        env = {NOW_VARIABLE: self.domain.settings.now, SEED_VARIABLE: "0"}
        env[DATABASE_VARIABLE] = "{folder}/database.sqlite"
        files = {"database.sqlite": self._file(self.tasks[0])}
        async with (
            self._session(box, 0) as session,
            box.process(self.domain.server, seed=0, env=env, files=files) as process,
            sdk_client(process) as direct,
        ):
            await direct.call_tool(call.tool, dict(call.arguments))
            for _ in range(300):
                started = time.perf_counter()
                await session.call(call.tool, call.arguments)
                between = time.perf_counter()
                await direct.call_tool(call.tool, dict(call.arguments))
                into["call"].append(between - started)
                into["direct"].append(time.perf_counter() - between)

    @asynccontextmanager
    async def live(self, box: Sandbox, number: int) -> AsyncIterator[Sequence[int]]:
        """A session that has made its calls."""
        async with self._session(box, number) as session:
            for call in self.tasks[number % len(self.tasks)].golden:
                await session.call(call.tool, call.arguments)
            yield [] if session.pid is None else [session.pid]

    def parse_ms(self) -> float:
        """Milliseconds to read a turn of 200 characters of reasoning and one call; a median."""
        call = self.tasks[0].golden[0]
        text = render(reasoning="x" * 200, content=None, tool_calls=[(call.tool, call.arguments)])
        spent = []
        for _ in range(200):
            started = time.perf_counter()
            interpret(text, tools=[], prompt_state="assistant_start")
            spent.append(time.perf_counter() - started)
        return 1e3 * sorted(spent)[100]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", default="retail", help="a bundled domain (default retail)")
    add_flags(parser)
    given = parser.parse_args()
    bench = Episodes(given.domain)
    result = anyio.run(measure, bench, given, sandbox())
    report({**result, "parse_ms": bench.parse_ms()}, given.json)


if __name__ == "__main__":
    main()
