"""Reading tasks: from a domain, a folder or a YAML file, each problem named with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from outcomebox.sandbox._yaml import load_yaml
from outcomebox.sandbox.backends.base import Backend, Image
from outcomebox.sandbox.backends.sqlite import SQLITE
from outcomebox.sandbox.domain import (
    BUNDLED,
    DOMAIN_FILE,
    Domain,
    domain_above,
    domain_names,
    find_domain,
)
from outcomebox.sandbox.errors import InputError, input_error
from outcomebox.sandbox.expect import Alternative
from outcomebox.sandbox.fitting import contradictions, end_problems, place_of
from outcomebox.sandbox.task import NO_CHANGE, Task, TaskFile


@dataclass(frozen=True)
class TaskSet:
    """Tasks with the domains they need.

    Attributes:
        tasks: Sorted by uid, each uid once.
        domains: The domains of these tasks, by name.
        backend: Where their databases are.
        files: uid -> the file that the task stands in.
    """

    tasks: tuple[Task, ...]
    domains: Mapping[str, Domain]
    backend: Backend[Any] = SQLITE
    files: Mapping[str, Path] = field(default_factory=dict)

    @cached_property
    def _bases(self) -> dict[str, Image]:
        return {name: self.backend.domain_image(domain) for name, domain in self.domains.items()}

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
            self._images[task.uid] = self.backend.task_image(self._bases[task.domain], task)
        return self._images[task.uid]


def load_tasks(
    selectors: Sequence[str] = BUNDLED,
    *,
    backend: Backend[Any] = SQLITE,
    drafts: bool = False,
) -> TaskSet:
    """All tasks that some selectors name.

    Args:
        selectors: Each a domain's name, a task file, or a folder that is searched for ``*.yaml``
            (a folder with ``domain.yaml`` brings its own domain).
        backend: Where the databases of sessions are to be.
        drafts: Take tasks that say nothing of their end yet, as :func:`read_task_file` does.

    Raises:
        InputError: A selector names nothing, a file is wrong, a uid stands twice, or a task does
            not fit the tables of its domain.
    """
    domains: dict[str, Domain] = {}
    found: dict[str, tuple[Task, Path]] = {}
    for selector in selectors:
        for file, own in _files(selector):
            for task in read_task_file(file, drafts=drafts):
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
                    domains[task.domain] = _domain_for(task, own, file).on(backend.network)
                found[task.uid] = (task, file.resolve())
    tasks = tuple(found[uid][0] for uid in sorted(found))
    files = {uid: file for uid, (_, file) in found.items()}
    result = TaskSet(tasks, domains, backend, files)
    for task in tasks:
        check_task(task, result.image(task), found[task.uid][1])
    return result


def read_task_file(file: Path, *, drafts: bool = False) -> tuple[Task, ...]:
    """The tasks of one YAML file, in its order.

    Args:
        file: The file.
        drafts: Take a task without ``expect`` as one whose end is still to be written: it is read
            as if no change were due.

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
            _filled({**defaults, **item}, drafts=drafts) if isinstance(item, dict) else item
            for item in data["tasks"]
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


def _filled(item: dict[str, Any], *, drafts: bool) -> dict[str, Any]:
    tags = item.get("tags", [])
    if not drafts or item.get("expect") or not isinstance(tags, list):
        return item
    return {**item, "expect": {}, "tags": [*(tag for tag in tags if tag != NO_CHANGE), NO_CHANGE]}


def check_task(task: Task, image: Image, file: Path | None = None) -> None:
    """See that a task's check means something and can be met in its initial state's tables.

    Raises:
        InputError: One cannot.
    """
    main = Alternative(name="expect", expect=task.expect, ignore=task.ignore)
    ends = (main, *task.accept_also)
    problems = chain(
        contradictions(ends, read_only=task.read_only),
        (
            replace(problem, field=place_of(number, problem.field))
            for number, end in enumerate(ends)
            for problem in end_problems(end, image.state.tables)
        ),
    )
    if first := next(problems, None):
        raise InputError(
            first.message, file=file, task=task.uid, field=first.field, value=first.value
        )


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
