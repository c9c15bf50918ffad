"""The keys that are due, from files that people keep: lists of tasks, and plans of runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from outcomebox.eval.reading.values import Place, count, optional_text, text, texts
from outcomebox.eval.results import Expected, ExpectedTask, Results, with_expected
from outcomebox.sandbox._yaml import load_yaml
from outcomebox.sandbox.errors import InputError

PLAN = "run.json"
"""Written by a run before its first attempt; its ``plan`` tells uids, domains, tags, attempts."""


def read_expected(path: Path, attempts: int | None = None) -> Expected:
    """The keys that are due.

    Args:
        path: A run's folder, or a list of tasks: text (a uid a line, ``#`` begins a comment), YAML
            or JSON (a list of uids, or uid -> domain), CSV (columns ``uid`` and ``domain``).
        attempts: Attempts at each task; needed where the file does not say.

    Raises:
        InputError: It cannot be read, names no task, names one twice, or does not say how many
            attempts.
    """
    if path.is_dir():
        found = plan_of(path / "episodes.jsonl")
        if found is None:
            raise InputError(
                f"has no {PLAN} with a plan; name a run's folder or a list of tasks", file=path
            )
    else:
        found = _list(path)
    if attempts is not None:
        found = replace(found, repetitions=tuple(range(attempts)))
    if not found.repetitions:
        raise InputError(
            "does not say how many attempts are due; give --attempts", file=path, field="attempts"
        )
    if not found.tasks:
        raise InputError("names no task; list the tasks that are due", file=path)
    return found


def with_attempts(results: Results, attempts: int) -> Results:
    """The tasks that are due as they are known, but so many attempts at each.

    Raises:
        InputError: The run itself says another number.
    """
    expected = results.expected
    if expected is None:
        raise InputError("there are no tasks to expect attempts of", field="attempts")
    if not expected.inferred and expected.attempts != attempts:
        raise InputError(
            f"is another number than the {expected.attempts} of {expected.source}; leave it out, "
            "or name the tasks with --expected",
            field="attempts",
            value=attempts,
        )
    return with_expected(results, replace(expected, repetitions=tuple(range(attempts))))


def plan_of(rows: Path) -> Expected | None:
    """What a run was to do, told beside its rows; None where nothing tells.

    Args:
        rows: Its file of rows.

    Raises:
        InputError: What tells it cannot be used.
    """
    file = beside(rows, PLAN)
    if not file.is_file():
        return None
    plain = plain_json(file)
    plan = plain.get("plan") if isinstance(plain, dict) else None
    if plan is None:
        return None  # of an earlier version
    place = Place(file, 1, "plan")
    if not isinstance(plan, dict):
        raise place.refuse("must be an object; restore the file", value=plan)
    uids = texts(plan.get("uids"), "uids", place)
    domains = _parallel(plan, "domains", len(uids), place)
    tags = _parallel(plan, "tags", len(uids), place)
    numbers = plan.get("repetitions")
    if not isinstance(numbers, list):
        raise place.refuse("must be a list; restore the file", field="repetitions", value=numbers)
    repetitions = sorted({count(each, "repetitions", place) for each in numbers})
    tasks = {
        uid: ExpectedTask(
            optional_text(domain, "domains", place),
            None if told is None else tuple(texts(told, "tags", place)),
        )
        for uid, domain, told in zip(uids, domains, tags, strict=True)
    }
    return Expected(tasks, tuple(repetitions), f"the plan in {file}")


def _parallel(plan: Mapping[str, Any], name: str, length: int, place: Place) -> list[Any]:
    """A list beside the uids; nothing for each where the run is of an earlier version."""
    found = plan.get(name)
    if found is None:
        return [None] * length
    if not isinstance(found, list) or len(found) != length:
        raise place.refuse("must have an entry for each uid; restore the file", field=name)
    return found


def union(plans: list[Expected]) -> Expected | None:
    """What several runs were to do together, as shards of one are."""
    if not plans:
        return None
    if len(plans) == 1:
        return plans[0]
    tasks: dict[str, ExpectedTask] = {}
    for plan in plans:
        tasks |= plan.tasks
    repetitions = sorted({each for plan in plans for each in plan.repetitions})
    return Expected(tasks, tuple(repetitions), f"the plans of {len(plans)} runs")


def plain_json(file: Path) -> Any:
    """A JSON file.

    Raises:
        InputError: It cannot be read, or is not JSON.
    """
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be used ({error}); restore it", file=file) from None


def beside(rows: Path, name: str) -> Path:
    """A file of these rows: rows under a name of their own have files of their own."""
    own = name if rows.name == "episodes.jsonl" else f"{rows.stem}.{name}"
    return rows.with_name(own)


def _list(path: Path) -> Expected:
    if path.suffix in {".json", ".yaml", ".yml"}:
        plain = plain_json(path) if path.suffix == ".json" else load_yaml(path)
        return Expected(_entries(path, plain), (), str(path))
    try:
        data = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read ({error}); name a list of tasks or a run's folder", file=path
        ) from None
    if path.suffix == ".csv":
        lines: Any = list(csv.DictReader(data.splitlines()))
        if not lines or "uid" not in lines[0]:
            raise InputError("needs a column uid and a row a task", file=path, field="uid")
        return Expected(_rows(path, lines), (), str(path))
    named = (line.partition("#")[0].strip() for line in data.split("\n"))
    return Expected(_entries(path, [each for each in named if each]), (), str(path))


def _entries(path: Path, plain: Any) -> dict[str, ExpectedTask]:
    tasks: dict[str, ExpectedTask] = {}
    if not isinstance(plain, list | dict):
        raise InputError("must be a list of uids, or uid: domain", file=path, value=plain)
    domains: Mapping[Any, Any] = plain if isinstance(plain, dict) else {}
    for number, uid in enumerate(plain, 1):
        place = Place(path, number, "task")
        domain = optional_text(domains.get(uid) if domains else None, "domain", place)
        _add(tasks, text(uid, "uid", place), ExpectedTask(domain), place)
    return tasks


def _rows(path: Path, lines: list[dict[str, Any]]) -> dict[str, ExpectedTask]:
    tasks: dict[str, ExpectedTask] = {}
    for number, line in enumerate(lines, 2):
        place = Place(path, number)
        task = ExpectedTask(optional_text(line.get("domain"), "domain", place))
        _add(tasks, text(line.get("uid"), "uid", place), task, place)
    return tasks


def _add(tasks: dict[str, ExpectedTask], uid: str, task: ExpectedTask, place: Place) -> None:
    if uid in tasks:
        raise place.refuse("stands twice; take one out", field="uid", value=uid)
    tasks[uid] = task
