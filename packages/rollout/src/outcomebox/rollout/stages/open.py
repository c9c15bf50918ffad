"""From selectors to the tasks of a run, whatever form they are written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outcomebox.rollout.stage import Tasks
from outcomebox.rollout.stages.native import NativeTasks
from outcomebox.rollout.stages.thinkingbox import ThinkingBoxSettings, ThinkingBoxTasks
from outcomebox.sandbox import SQLITE, Backend, InputError, ServerSpec, load_tasks
from outcomebox.sandbox.thinkingbox import load_thinkingbox


def open_tasks(
    selectors: Sequence[str],
    *,
    backend: Backend[Any] = SQLITE,
    dataset: Path | None = None,
    servers: Mapping[str, ServerSpec] | None = None,
    list_file: Path | None = None,
    agent: str = "think",
    settings: ThinkingBoxSettings | None = None,
) -> Tasks:
    """The tasks that some selectors name.

    Args:
        selectors: Without a dataset: domains, task files and folders of our own form. With one:
            ``file.py:test``, test files, lists, folders or hydrated rows of the ThinkingBox form.
        backend: Where databases of our own form are to be.
        dataset: A folder in the ThinkingBox form. A selector that is such a folder (it has
            ``test_case`` and ``scenario``) may stand for it and for all its tasks.
        servers: The dataset's tool servers by name.
        list_file: A YAML list of the dataset's tasks.
        agent: The dataset's agent.
        settings: What the ThinkingBox form leaves open.

    Raises:
        InputError: A selector names nothing, a file is wrong, or no tool servers are given.
    """
    given = list(selectors)
    if dataset is None:
        folders = [Path(each) for each in given if _is_dataset(Path(each))]
        if not folders:
            return NativeTasks(load_tasks(given, backend=backend))
        if len(given) > 1:
            raise InputError(
                "a dataset in the ThinkingBox form is run by itself; start a run for each",
                field="tasks",
                value=", ".join(given),
            )
        dataset, given = folders[0], []
    if servers is None:
        raise InputError(
            "a dataset in the ThinkingBox form needs its tool servers; give --servers servers.yaml",
            file=dataset,
            field="servers",
        )
    found = load_thinkingbox(dataset, given or None, agent=agent, list_file=list_file)
    tasks = [task for task in found if not task.tags.skip]
    if not tasks:
        raise InputError(
            "there is nothing to run: no task was selected, or all are tagged skip", file=dataset
        )
    return ThinkingBoxTasks(tasks, servers, settings)


def _is_dataset(folder: Path) -> bool:
    return (folder / "test_case").is_dir() and (folder / "scenario").is_dir()
