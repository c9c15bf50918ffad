"""Hot paths against a plain reference, measured in one run: session open, tool call, grade, parse.

The reference of a session is the official SDK's own stdio client, which starts the same server as a
fresh process; that of a tool call is the same call on that client. Grading and parsing are measured
alone, against the cost of a tool call. Every figure is a median, and each line says the ratio.

    ./pants run tools/bench:sessions -- [--sessions 40] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client

from outcomebox.interpret import interpret, render
from outcomebox.rollout.episode import judged
from outcomebox.sandbox import (
    Domain,
    Image,
    Sandbox,
    Task,
    load_tasks,
    open_session,
    sandbox,
    start_domains,
)
from outcomebox.sandbox.toolserver import DATABASE_VARIABLE, NOW_VARIABLE, SEED_VARIABLE


async def timed(action: Callable[[], Awaitable[Any]]) -> float:
    """Seconds that an action takes."""
    started = perf_counter()
    await action()
    return perf_counter() - started


async def reference(domain: Domain, image: Image, task: Task, sessions: int) -> dict[str, float]:
    """A fresh stdio process a session, as the SDK starts it."""
    opened, calls = [], []
    call = task.golden[0]
    for _ in range(sessions):
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder) / "database.sqlite"
            database.write_bytes(image.data)
            parameters = StdioServerParameters(
                command=sys.executable,
                args=["-m", domain.settings.server.module or ""],
                env={
                    DATABASE_VARIABLE: str(database),
                    NOW_VARIABLE: domain.settings.now,
                    SEED_VARIABLE: "0",
                    "PYTHONPATH": ":".join(sys.path),
                },
            )
            started = perf_counter()
            async with (
                stdio_client(parameters) as (read, write),
                ClientSession(read, write) as client,
            ):
                await client.initialize()
                opened.append(perf_counter() - started)
                await client.call_tool(call.tool, dict(call.arguments))
                calls += [
                    await timed(lambda: client.call_tool(call.tool, dict(call.arguments)))
                    for _ in range(20)
                ]
    return {"open": statistics.median(opened), "call": statistics.median(calls)}


async def ours(
    box: Sandbox, domain: Domain, image: Image, task: Task, sessions: int
) -> dict[str, float]:
    """Forked sessions, and what follows a call."""
    opened, calls, closed, graded, parsed = [], [], [], [], []
    call = task.golden[0]
    for _ in range(sessions):
        started = perf_counter()
        async with open_session(box, domain, image, seed=0) as session:
            opened.append(perf_counter() - started)
            await session.call(call.tool, call.arguments)
            calls += [
                await timed(lambda: session.call(call.tool, call.arguments)) for _ in range(20)
            ]
            for golden in task.golden:
                await session.call(golden.tool, golden.arguments)
            started = perf_counter()
            state = await session.close()
            closed.append(perf_counter() - started)
            started = perf_counter()
            judged(task, state, None, [])
            graded.append(perf_counter() - started)
            tools = [tool.openai() for tool in session.tools]
            text = render(
                reasoning="x" * 200, content=None, tool_calls=[(call.tool, call.arguments)]
            )
            started = perf_counter()
            interpret(text, tools=tools, prompt_state="assistant_start")
            parsed.append(perf_counter() - started)
    names = ("open", "call", "close", "grade", "parse")
    return dict(
        zip(names, map(statistics.median, (opened, calls, closed, graded, parsed)), strict=True)
    )


async def measure(sessions: int) -> dict[str, Any]:
    """Both sides, interleaved in one process."""
    tasks = load_tasks(["retail"])
    task = max(tasks.tasks, key=lambda task: len(task.golden))
    domain, image = tasks.domain(task), tasks.image(task)
    plain = await reference(domain, image, task, max(3, sessions // 10))
    async with sandbox() as box:
        await start_domains(box, [domain])
        forked = await ours(box, domain, image, task, sessions)
    return {"reference": plain, "outcomebox": forked}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=40, help="sessions to open (default 40)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    result = anyio.run(measure, given.sessions)
    if given.json:
        print(json.dumps(result))
        return
    plain, forked = result["reference"], result["outcomebox"]
    for name, value in forked.items():
        against = plain.get(name, plain["call"])
        what = "fresh stdio process" if name in plain else "one tool call there"
        print(
            f"{name:6} {value * 1e3:8.2f} ms   {against / value:6.1f} x   against {what} "
            f"({against * 1e3:.2f} ms)"
        )


if __name__ == "__main__":
    main()
