"""The tools of a run's tasks: rows do not repeat them, so they are asked of the servers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from outcomebox.rollout.spec import RunSpec
from outcomebox.rollout.storing.index import Entry, versions_mark
from outcomebox.sandbox import BACKEND_VARIABLE, InputError, find_backend, sandbox


async def run_tools(spec: RunSpec, entries: Iterable[Entry]) -> dict[str, list[dict[str, Any]]]:
    """The tools that an agent has on each task, as the API has them, by uid.

    Args:
        spec: What the run was made from.
        entries: Rows of the tasks that are wanted.

    Raises:
        InputError: The tasks cannot be loaded, or one has changed since its row was written.
        SessionOpenError: A server cannot be started.
    """
    wanted = {entry.uid: entry.versions for entry in entries}
    found: dict[str, list[dict[str, Any]]] = {}
    backend = find_backend(os.environ.get(BACKEND_VARIABLE))
    try:
        tasks = spec.tasks_on(backend)
        for uid, mark in wanted.items():
            if uid not in tasks.by_uid or versions_mark(tasks.versions(tasks.by_uid[uid])) != mark:
                raise InputError(
                    "has changed since its rows were written, so its tools may be others; export "
                    "with the tasks of the run, or leave the tools out with --no-tools",
                    task=uid,
                )
        async with sandbox() as box, tasks.started(box):
            for uid in sorted(wanted):
                async with tasks.open(tasks.by_uid[uid], seed=0, repetition=0) as stage:
                    found[uid] = [tool.spec.openai() for tool in stage.tools]
    finally:
        backend.close()
    return found
