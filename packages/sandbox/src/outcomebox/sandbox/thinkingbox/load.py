"""Loading tasks: selectors in, hydrated tasks out."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.thinkingbox.choice import Chosen, choose, choose_listed, read_list
from outcomebox.sandbox.thinkingbox.dataset import Dataset
from outcomebox.sandbox.thinkingbox.hydrate import hydrate
from outcomebox.sandbox.thinkingbox.jsonl import hydrate_jsonl
from outcomebox.sandbox.thinkingbox.task import ThinkingBoxTask


def load_thinkingbox(
    dataset: Path,
    selectors: Sequence[str] | None = None,
    *,
    agent: str = "think",
    list_file: Path | None = None,
) -> tuple[ThinkingBoxTask, ...]:
    """The tasks that selectors name, each once, in the order in which they are first named.

    A task or scenario tagged ``skip`` is left out, except where it is named by ``file.py:test`` or
    stands in a hydrated file: then it is there, with ``tags.skip`` set.

    Args:
        dataset: Folder with ``agent/``, ``scenario/`` and ``test_case/``.
        selectors: Each ``file.py:test``, a test file, a YAML list of ``file.py:test``, a folder, or
            hydrated rows (``.jsonl``, which bring their own agent). None, where there is no
            ``list_file`` either: all of ``test_case``.
        agent: Name of the agent.
        list_file: A YAML list of ``file.py:test``; its tasks follow those of ``selectors``.

    Raises:
        InputError: Something in a file, or a selector, is wrong. Nothing is half loaded.
    """
    with _collector_at_rest():
        source = Dataset(dataset)
        chosen: list[Chosen | Path] = []
        if selectors is None and list_file is None:
            selectors = [str(source.tests)]
        chosen += choose(source, selectors or ())
        if list_file is not None:
            chosen += choose_listed(source, read_list(source, list_file), list_file)
        named = {(one.path, one.name) for one in chosen if isinstance(one, Chosen) and one.by_name}
        tasks: dict[str, ThinkingBoxTask] = {}
        origin: dict[str, object] = {}
        for one in dict.fromkeys(_unmarked(one) for one in chosen):
            for task in _tasks(source, one, agent, named):
                if task.uid in tasks:
                    message = f"this uid comes from {origin[task.uid]} too; select one of the two"
                    raise InputError(message, file=task.file, task=task.uid)
                tasks[task.uid] = task
                origin[task.uid] = one[0] if isinstance(one, tuple) else one
        return tuple(tasks.values())


def _unmarked(one: Chosen | Path) -> tuple[Path, str] | Path:
    return (one.path, one.name) if isinstance(one, Chosen) else one


def _tasks(
    source: Dataset, one: tuple[Path, str] | Path, agent: str, named: set[tuple[Path, str]]
) -> Sequence[ThinkingBoxTask]:
    if isinstance(one, Path):
        return hydrate_jsonl(one)
    path, name = one
    task = hydrate(source, path, source.test_file(path).case(name), agent)
    return () if task.tags.skip and one not in named else (task,)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Parsing makes and frees millions of small objects, none in a cycle: nothing to collect.

    What was loaded will live long. Freezing and unfreezing moves it to the oldest generation
    without the search through all of it that the next collection would begin with.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():  # else we would unfreeze what is not ours
                gc.freeze()
                gc.unfreeze()
            gc.enable()
