"""The tasks that are kept for evaluation, by name and by what they ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from outcomebox.rollout import RunSpec
from outcomebox.rollout.stage import Tasks
from outcomebox.sandbox import SQLITE, InputError
from outcomebox.train.config.model import RunConfig

FIELD = "pool.benchmark"


@dataclass(frozen=True)
class Marks:
    """What tells a benchmark's tasks.

    Attributes:
        uids: uid -> the entry of the settings that names it.
        contents: Digest of what a task asks, its name left out -> its uid. Tasks that are named in
            a list and found nowhere have none.
    """

    uids: Mapping[str, str]
    contents: Mapping[str, str]


def read_benchmark(config: RunConfig, spec: RunSpec, file: str) -> Marks:
    """Read the benchmark.

    Args:
        config: The run.
        spec: Its episodes; lists of names are looked up among its tasks.
        file: The settings file, for messages.

    Raises:
        InputError: An entry cannot be read, or names nothing.
    """
    uids: dict[str, str] = {}
    contents: dict[str, str] = {}
    everything: Tasks | None = None
    for entry in config.pool.benchmark:
        listed = _listed(Path(entry), file)
        if listed is None:
            tasks = _tasks(replace(spec, tasks=(entry,), only=()), entry, file)
            listed = tuple(tasks.by_uid)
        else:
            everything = everything or _tasks(replace(spec, only=()), entry, file)
            tasks = everything
        for uid in listed:
            uids[uid] = entry
            if uid in tasks.by_uid:
                content = tasks.versions(tasks.by_uid[uid]).get("content")
                if content is not None:
                    contents[content] = uid
    return Marks(uids, contents)


def _tasks(spec: RunSpec, entry: str, file: str) -> Tasks:
    try:
        return spec.tasks_on(SQLITE)
    except InputError as error:
        raise InputError(str(error), file=file, field=FIELD, value=entry) from None


def _listed(path: Path, file: str) -> tuple[str, ...] | None:
    """The uids that a list or a pool names; None for tasks themselves."""
    if not path.is_file() or path.suffix not in {".txt", ".yaml", ".yml"}:
        return None
    try:
        text = path.read_text(encoding="utf-8")
        plain: Any = text.splitlines() if path.suffix == ".txt" else yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        told = " ".join(str(error).split())
        raise InputError(
            f"cannot be read ({told}); mend it", file=file, field=FIELD, value=str(path)
        ) from error
    if isinstance(plain, dict):
        if "pool" not in plain:
            return None  # a file of tasks
        plain = plain.get("tasks")
    if path.suffix == ".txt":
        plain = [line.strip() for line in plain if line.strip() and not line.startswith("#")]
    plain = plain if isinstance(plain, list) else []
    plain = [each.get("uid") if isinstance(each, dict) else each for each in plain]
    named = tuple(each for each in plain if isinstance(each, str))
    if not named or len(named) != len(plain):
        raise InputError(
            "is no list of uids; write one uid a line", file=file, field=FIELD, value=str(path)
        )
    return named
