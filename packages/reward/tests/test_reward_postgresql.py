"""Every bundled task has the same changes and the same verdicts on PostgreSQL as on SQLite.

Needs a server: ``python3 -m tools.postgresql run -- COMMAND`` starts one for a command.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import Any

import anyio
import pytest

from outcomebox.reward import Check, grade
from outcomebox.reward.golden import GoldenRun, Replay, golden_sandbox, run_goldens
from outcomebox.sandbox import BACKEND_VARIABLE, Backend, SandboxFault, find_backend, load_tasks

DSN = os.environ.get(BACKEND_VARIABLE, "")

pytestmark = pytest.mark.skipif(
    not DSN.startswith(("postgresql://", "postgres://")),
    reason=f"no PostgreSQL: set {BACKEND_VARIABLE}, or run this with "
    "`python3 -m tools.postgresql run -- ...`",
)


def replayed(backend: Backend[Any], domain: str) -> list[dict[str, Any]]:
    """What the golden calls of each task leave, and what doing nothing leaves."""
    tasks = load_tasks([domain], backend=backend)

    async def run() -> list[GoldenRun | SandboxFault]:
        replays = [Replay(task, calls) for task in tasks.tasks for calls in (None, ())]
        async with golden_sandbox(tasks, in_process=True) as (box, started):
            return await run_goldens(box, started, replays)

    told = []
    for run_ in anyio.run(run):
        assert isinstance(run_, GoldenRun), run_
        state = run_.state
        verdict = grade(Check.from_task(tasks.by_uid[run_.uid]), state)
        told.append(
            {
                "uid": run_.uid,
                "answers": [(each.tool, each.text, each.is_error) for each in run_.results],
                "changes": [(change, change.calls) for change in state.changes],
                "schema": state.schema_changes,
                "calls": state.calls,
                "tables": {name: dict(rows) for name, rows in state.terminal.keyed.items()},
                "verdict": verdict.to_json(),
            }
        )
    return told


@pytest.mark.parametrize("domain", ["retail", "travel"])
def test_bundled_tasks_are_the_same_on_both_databases(domain: str) -> None:
    on_sqlite = replayed(find_backend("sqlite"), domain)
    with closing(find_backend(DSN)) as backend:
        on_postgresql = replayed(backend, domain)
    assert len(on_sqlite) == 2 * len(load_tasks([domain]).tasks)
    for one, other in zip(on_sqlite, on_postgresql, strict=True):
        assert one == other
    assert {each["verdict"]["outcome"] for each in on_sqlite[::2]} == {"passed"}
