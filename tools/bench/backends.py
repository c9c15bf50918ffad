"""Golden episodes of a bundled domain by backend: SQLite, and PostgreSQL with and without its pool.

One episode at a time, each a session with a server process of its own, the same calls on each side.

    python3 -m tools.postgresql run -- ./pants run tools/bench:backends -- [--episodes 100]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from typing import Any

import anyio

from outcomebox.sandbox import (
    BACKEND_VARIABLE,
    SQLITE,
    Backend,
    find_backend,
    load_tasks,
    open_session,
    sandbox,
    start_domains,
)

Times = dict[str, list[float]]
# Sessions that are not counted: the first ones teach the server's parent what they import.
_WARM_UP = 10


async def episodes(backend: Backend[Any], domain: str, count: int, pause_s: float) -> Times:
    """Seconds of opening, of each tool call, and of closing with its reading."""
    tasks = load_tasks([domain], backend=backend)
    times: Times = {"open": [], "call": [], "close": []}
    async with sandbox() as box:
        await start_domains(box, list(tasks.domains.values()), backend=backend)
        for number in range(count + _WARM_UP):
            if number == _WARM_UP:
                times = {name: [] for name in times}
            task = tasks.tasks[number % len(tasks.tasks)]
            await anyio.sleep(pause_s)
            began = time.perf_counter()
            opening = open_session(box, tasks.domain(task), tasks.image(task), seed=number)
            async with opening as session:
                times["open"].append(time.perf_counter() - began)
                for call in task.golden:
                    began = time.perf_counter()
                    await session.call(call.tool, call.arguments)
                    times["call"].append(time.perf_counter() - began)
                began = time.perf_counter()
                await session.close()
                times["close"].append(time.perf_counter() - began)
    return times


def told(times: Times) -> dict[str, dict[str, float]]:
    """Median and 95th percentile in milliseconds."""
    return {
        name: {
            "p50_ms": round(1e3 * statistics.median(values), 2),
            "p95_ms": round(1e3 * sorted(values)[int(len(values) * 0.95)], 2),
        }
        for name, values in times.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--domain", default="retail")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument(
        "--pause", type=float, default=0.1, help="seconds between episodes, for the pool to fill"
    )
    given = parser.parse_args(arguments)
    sides: dict[str, Backend[Any]] = {"sqlite": SQLITE}
    dsn = os.environ.get(BACKEND_VARIABLE)
    if dsn:
        # Not at the top: psycopg is not needed to measure SQLite.
        from outcomebox.sandbox.backends.postgresql.backend import (  # noqa: PLC0415
            PostgresqlBackend,
        )

        sides["postgresql"] = find_backend(dsn)
        sides["postgresql without a pool"] = PostgresqlBackend(dsn, ready=0)
    found = {}
    for name, backend in sides.items():
        times = anyio.run(episodes, backend, given.domain, given.episodes, given.pause)
        found[name] = told(times)
        backend.close()
    print(json.dumps({"domain": given.domain, "episodes": given.episodes, **found}, indent=2))


if __name__ == "__main__":
    main()
