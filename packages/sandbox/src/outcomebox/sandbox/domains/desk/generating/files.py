"""Tasks as files: a folder with a YAML file a family, which ``--tasks FOLDER`` takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import yaml

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.task import Task


def family_files(tasks: Iterable[Task]) -> dict[str, str]:
    """File name -> text, a file a family; the same tasks give the same bytes."""
    families: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        families[task.family].append(task)
    return {f"{name}.yaml": _text(name, families[name]) for name in sorted(families)}


def write_tasks(tasks: Iterable[Task], folder: Path) -> list[Path]:
    """Write tasks into a folder, which is made where it is not there.

    Returns:
        The files.

    Raises:
        InputError: The folder holds task files already, or cannot be written.
    """
    files = family_files(tasks)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if old := sorted(folder.rglob("*.yaml")):
            raise InputError(
                "holds task files already, which would be mixed with the new ones; give another "
                "folder or remove them",
                file=folder,
                value=old[0].name,
            )
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from error
    return [folder / name for name in files]


def _text(family: str, tasks: Iterable[Task]) -> str:
    tasks = list(tasks)
    plain = {
        "domain": tasks[0].domain,
        "family": family,
        "tasks": [
            task.model_dump(mode="json", exclude_defaults=True, exclude={"domain", "family"})
            # A check that expects nothing says so.
            | ({} if task.expect else {"expect": {}})
            for task in tasks
        ],
    }
    return yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, width=110)
