"""The rows of a dataset: one a task of the pool, with what the agent loop needs to know of it.

The prompt in them is a placeholder. What the model is told (policy text, tools, question, the
conversation so far) comes from the task's live session in the agent loop, as in an evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.selection import InputError as PoolError
from outcomebox.selection import Pool, read_pool
from outcomebox.train.settings import WorkerSettings, file_digest
from outcomebox.train.verl.numbering import SIDES
from outcomebox.train.verl.reward import DATA_SOURCE

AGENT = "outcomebox"
"""Name of the agent loop in verl's registry."""


def pool_rows(paths: list[Path], settings: WorkerSettings) -> list[dict[str, Any]]:
    """The rows of a pool's files, in file order.

    Args:
        paths: Files of the pool that the run was started with.
        settings: The run's settings, which pin them.

    Raises:
        InputError: A file is not the run's, cannot be used, or has no task.
    """
    rows: list[dict[str, Any]] = []
    for path in paths:
        pool = _pinned(path, settings)
        rows += [_row(task, str(pool.provenance["side"]), settings) for task in pool.tasks]
    if not rows:
        raise InputError("has no task; select a pool", file=paths[0] if paths else "data")
    for index, row in enumerate(rows):
        row["index"] = index
    return rows


def _row(task: Mapping[str, Any], side: str, settings: WorkerSettings) -> dict[str, Any]:
    uid = task["uid"]
    return {
        "raw_prompt": [{"role": "user", "content": uid}],
        "agent_name": AGENT,
        "uid_task": uid,
        "data_source": DATA_SOURCE,
        "reward_model": {"ground_truth": uid},
        "extra_info": {
            "uid": uid,
            "band": settings.pool.bands.get(uid),
            "domain": task["domain"],
            "side": side,
        },
    }


def _pinned(path: Path, settings: WorkerSettings) -> Pool:
    """A file of the pool, which has to be one that the run was started with."""
    pool = settings.pool
    due = {pool.sha256: pool.path}
    if pool.test_path is not None and pool.test_sha256 is not None:
        due[pool.test_sha256] = pool.test_path
    if (found := file_digest(path)) not in due:
        raise InputError(
            f"is not a file of the pool that this run was started with ({pool.path}); restore it, "
            "or start a run in another folder",
            file=path,
            field="sha256",
            value=found,
        )
    read = read_pool_file(path)
    if read.provenance.get("side") not in SIDES:
        raise InputError(
            "is neither train nor test; select the pool anew",
            file=path,
            field="pool.side",
            value=read.provenance.get("side"),
        )
    return read


def read_pool_file(path: Path) -> Pool:
    """A file of a pool.

    Args:
        path: ``train.yaml`` or ``test.yaml``.

    Raises:
        InputError: It cannot be used.
    """
    try:
        return read_pool(path)
    except PoolError as error:
        raise InputError(str(error)) from error
