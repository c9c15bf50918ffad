"""Reading tasks: from a domain, a folder or a YAML file, each problem named with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from outcomebox.sandbox._yaml import load_yaml
from outcomebox.sandbox.domain import (
    BUNDLED,
    DOMAIN_FILE,
    Domain,
    domain_above,
    domain_names,
    find_domain,
)
from outcomebox.sandbox.errors import InputError, input_error
from outcomebox.sandbox.expect import TableExpect
from outcomebox.sandbox.image import Image, domain_image, task_image
from outcomebox.sandbox.task import Task, TaskFile


@dataclass(frozen=True)
class TaskSet:
    """Tasks with the domains they need.

    Attributes:
        tasks: Sorted by uid, each uid once.
        domains: The domains of these tasks, by name.
    """

    tasks: tuple[Task, ...]
    domains: Mapping[str, Domain]

    @cached_property
    def _bases(self) -> dict[str, Image]:
        return {name: domain_image(domain) for name, domain in self.domains.items()}

    @cached_property
    def _images(self) -> dict[str, Image]:
        return {}

    @cached_property
    def by_uid(self) -> dict[str, Task]:
        """The tasks by uid."""
        return {task.uid: task for task in self.tasks}

    def domain(self, task: Task) -> Domain:
        """The domain a task belongs to."""
        return self.domains[task.domain]

    def image(self, task: Task) -> Image:
        """The initial state of a task: the seed with its own rows; made once."""
        if task.uid not in self._images:
            self._images[task.uid] = task_image(self._bases[task.domain], task)
        return self._images[task.uid]


def load_tasks(selectors: Sequence[str] = BUNDLED) -> TaskSet:
    """All tasks that some selectors name.

    Args:
        selectors: Each a domain's name, a task file, or a folder that is searched for ``*.yaml``
            (a folder with ``domain.yaml`` brings its own domain).

    Raises:
        InputError: A selector names nothing, a file is wrong, a uid stands twice, or a task does
            not fit the tables of its domain.
    """
    domains: dict[str, Domain] = {}
    found: dict[str, tuple[Task, Path]] = {}
    for selector in selectors:
        for file, own in _files(selector):
            for task in read_task_file(file):
                if task.uid in found:
                    if found[task.uid][1] == file.resolve():
                        continue  # the same file through two selectors
                    raise InputError(
                        f"this uid stands in {found[task.uid][1]} too; give each task its own",
                        file=file,
                        task=task.uid,
                        field="uid",
                    )
                if task.domain not in domains:
                    domains[task.domain] = _domain_for(task, own, file)
                found[task.uid] = (task, file.resolve())
    tasks = tuple(found[uid][0] for uid in sorted(found))
    result = TaskSet(tasks, domains)
    for task in tasks:
        check_task(task, result.image(task), found[task.uid][1])
    return result


def read_task_file(file: Path) -> tuple[Task, ...]:
    """The tasks of one YAML file, in its order.

    Raises:
        InputError: The file is not such a file; the message names task, field, value and mend.
    """
    data = load_yaml(file)
    if not isinstance(data, dict) or not isinstance(data.get("tasks"), list):
        raise InputError(
            "is not a task file: it needs a list `tasks`, see the page on writing tasks", file=file
        )
    defaults = {name: data[name] for name in ("domain", "family") if name in data}
    filled = {
        **data,
        "tasks": [
            {**defaults, **item} if isinstance(item, dict) else item for item in data["tasks"]
        ],
    }
    try:
        tasks = TaskFile.model_validate(filled).tasks
    except ValidationError as error:
        raise input_error(error, file=file, data=filled) from error
    seen: set[str] = set()
    for task in tasks:
        if task.uid in seen:
            raise InputError(
                "this uid stands twice in the file; give each task its own",
                file=file,
                task=task.uid,
                field="uid",
            )
        seen.add(task.uid)
    return tasks


def check_task(task: Task, image: Image, file: Path | None = None) -> None:
    """See that every table, column and key a task expects is there in its initial state.

    Raises:
        InputError: One is not.
    """
    place = _Place(task, image, file)
    blocks: list[tuple[str, Mapping[str, TableExpect]]] = [("expect", task.expect)]
    blocks += [
        (f"accept_also.{index}.expect", alternative.expect)
        for index, alternative in enumerate(task.accept_also)
    ]
    for block, tables in blocks:
        for table, expected in tables.items():
            _check_table(place, f"{block}.{table}", table, expected)
    for table, reasons in task.ignore.items():
        if table != "*":
            place.columns(f"ignore.{table}", table, reasons)


@dataclass(frozen=True)
class _Place:
    """A task that is looked at: knows its tables and raises errors that name it."""

    task: Task
    image: Image
    file: Path | None

    def error(self, message: str, field: str, value: object = None) -> InputError:
        return InputError(message, file=self.file, task=self.task.uid, field=field, value=value)

    def columns(self, field: str, table: str, names: Iterable[str]) -> None:
        """See that a table has some columns."""
        info = self.image.state.tables.get(table)
        if info is None:
            known = ", ".join(sorted(self.image.state.tables))
            raise self.error(f"the domain has no table {table}; it has {known}", field)
        for name in names:
            if name not in info.columns and name != "*":
                has = ", ".join(info.columns)
                raise self.error(f"table {table} has no column {name}; it has {has}", field)

    def key(self, field: str, table: str, given: Mapping[str, Any]) -> None:
        """See that a key has all columns of its table's, and no others."""
        key = self.image.state.tables[table].key
        if set(given) != set(key):
            message = f"the key of {table} is ({', '.join(key)}); give exactly these columns"
            raise self.error(message, field, dict(given))


def _check_table(place: _Place, field: str, table: str, expected: TableExpect) -> None:
    place.columns(field, table, ())
    for index, row in enumerate(expected.insert):
        place.columns(f"{field}.insert.{index}", table, row)
    for index, update in enumerate(expected.update):
        place.columns(f"{field}.update.{index}.set", table, update.set)
        place.key(f"{field}.update.{index}.key", table, update.key)
    for index, delete in enumerate(expected.delete):
        if delete.key is not None:
            place.key(f"{field}.delete.{index}.key", table, delete.key)


def _files(selector: str) -> list[tuple[Path, Domain | None]]:
    """The task files of a selector, each with the domain whose folder it lies in, if any."""
    path = Path(selector)
    # A known name means the domain, whatever lies in the working folder; ./NAME is the folder.
    if selector in domain_names():
        domain = find_domain(selector)
        return [(file, domain) for file in sorted(domain.tasks_folder.rglob("*.yaml"))]
    if path.is_file():
        return [(path, domain_above(path.resolve().parent))]
    if path.is_dir():
        own = domain_above(path.resolve())
        files = sorted(file for file in path.rglob("*.yaml") if file.name != DOMAIN_FILE)
        if not files:
            raise InputError("there is no task file (*.yaml) in this folder", file=path)
        return [(file, own or domain_above(file.resolve().parent)) for file in files]
    if path.suffix or len(path.parts) > 1:
        raise InputError(
            "there is no such file or folder; give a task file, a folder or a domain's name",
            file=path,
        )
    find_domain(selector)  # raises with the names that are known
    raise AssertionError(selector)


def _domain_for(task: Task, own: Domain | None, file: Path) -> Domain:
    if own is not None and own.name == task.domain:
        return own
    try:
        return find_domain(task.domain)
    except InputError as error:
        raise InputError(
            str(error).removeprefix("domain: "), file=file, task=task.uid, field="domain"
        ) from error
