"""What a task does at another moment: golden, and what else an agent could ask for.

A world whose data stand still must not depend on when it is opened. That golden leaves the same
does not show it: a tool that golden never calls may tell an agent another thing every day. So the
other tools that the agent sees are asked too, in a fresh world at each of the two moments, with
what golden and the task's own data hold under the names of their parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from typing import Any

from outcomebox.reward.lint.findings import Finding
from outcomebox.reward.lint_thinkingbox import words
from outcomebox.reward.lint_thinkingbox.replays import Replays
from outcomebox.reward.lint_thinkingbox.tables import canonical, differences, scalars, tables_of
from outcomebox.reward.thinkingbox.replaying import Answer, Played, Replaying
from outcomebox.sandbox import ToolSpec
from outcomebox.sandbox.connection import RESERVED
from outcomebox.sandbox.thinkingbox import GoldenCall, ThinkingBoxTask

PROBES = 6
"""Calls of each tool, at most."""
APART = timedelta(days=30)
"""How far two moments have to be from one another, at least."""
_LATER = timedelta(days=400, hours=5, minutes=7, seconds=11)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+(Z|[+-][0-9:]+)?)?")


@dataclass(frozen=True)
class Moments:
    """Servers whose clock stands at another moment.

    Attributes:
        later: They.
        first: The moment of the others.
        second: Theirs.
    """

    later: Replaying
    first: str
    second: str


def other_moment(tasks: Sequence[ThinkingBoxTask], first: str) -> str:
    """A moment that tells another story than the first: where the tasks' data stand.

    What is valid, due or expired depends on the moments in the data, so a clock that stands far
    from all of them may move and change nothing. The middle of those in the tasks' own data and
    golden arguments is taken; a year and a month after the first where that is no other moment, or
    there are none.

    Args:
        tasks: The tasks.
        first: ISO 8601 with an offset.
    """
    then = datetime.fromisoformat(first)
    found = sorted(moment for task in tasks for moment in _moments(task))
    middle = found[len(found) // 2] if found else then
    return (then + _LATER if abs(middle - then) < APART else middle).isoformat()


def _moments(task: ThinkingBoxTask) -> Iterator[datetime]:
    for value in scalars(task.init):
        if isinstance(value, str) and _MOMENT.fullmatch(value):
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                continue
            yield moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def golden_later(replays: Replays, looked: Played, other: Played, moments: Moments) -> Finding:
    """What the golden calls did at the other moment that they did not do at the first."""
    task = replays.task
    cells = differences(tables_of(looked.effects or {}), tables_of(other.effects or {}))
    told = _told_otherwise(task.golden, looked.answers, other.answers)
    if other.error is not None or other.refused:
        index = other.refused[0] if other.refused else len(other.answers)
        said = other.answers[index].text if other.refused else (other.error or {})["message"]
        what = f"golden call {index}, {task.golden[index].tool}, is refused: {words.line(said)}"
    elif other.failed and other.verdict is not None:
        what = f"golden fails: {words.line(other.verdict.reasons[0].message)}"
    elif cells:
        what = f"golden leaves another state: it differs in {words.places(cells)}"
    else:
        what = f"golden calls of {', '.join(told)} are answered otherwise"
    return words.reads_real_clock(cells, what, (moments.first, moments.second), told)


async def answers_later(
    replays: Replays, answers: list[Answer], moments: Moments
) -> Finding | None:
    """Which tools that the agent sees answer otherwise at the other moment, if any do.

    Args:
        replays: Of the task.
        answers: To the golden calls, for what they hold.
        moments: The other moment.
    """
    calls = [*probes(replays, answers)]
    if not calls:
        return None
    here = await replays.play(calls)
    there = await replays.play(calls, on=moments.later)
    if here is None or there is None:
        return None
    told = _told_otherwise(calls, here.answers, there.answers)
    if not told:
        return None
    again = await replays.play(calls)
    chance = [] if again is None else _told_otherwise(calls, here.answers, again.answers)
    told = [tool for tool in told if tool not in chance]
    if not told:
        return None
    what = f"{', '.join(told)}, which an agent may call, answer otherwise"
    return words.reads_real_clock([], what, (moments.first, moments.second), told)


def probes(replays: Replays, answers: list[Answer]) -> Iterator[GoldenCall]:
    """Calls of the tools that the agent sees.

    Each required parameter takes the values that stand under its name in golden's arguments and
    answers and in the task's own data; ``order_id`` also those under ``id`` in a table of orders.
    """
    task = replays.task
    known: dict[str, dict[str, Any]] = {}
    for call in task.golden:
        _gather(call.arguments, known)
    for answer in answers:
        try:
            _gather(json.loads(answer.text), known)
        except ValueError:
            continue
    _gather(task.init, known)
    shown = {tool.name for tool in task.tools}
    made = {(call.tool, canonical(call.arguments)) for call in task.golden}
    for server in task.servers:
        for tool in replays.run.box.tools(replays.run.specs[server]).values():
            if tool.name not in shown or tool.name.startswith(RESERVED):
                continue
            for arguments in islice(_arguments(tool, known), PROBES):
                if (tool.name, canonical(arguments)) not in made:
                    yield GoldenCall.model_construct(
                        server=server, tool=tool.name, arguments=arguments
                    )


def _arguments(tool: ToolSpec, known: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    names = [*tool.input_schema.get("required", ())]
    for values in product(*(known.get(name, {}).values() for name in names)):
        yield dict(zip(names, values, strict=True))


def _gather(value: Any, known: dict[str, dict[str, Any]]) -> None:
    """Note the scalars of a JSON value by the name that they stand under."""
    if isinstance(value, dict):
        for name, each in value.items():
            if isinstance(each, dict | list):
                _gather(each, known)
                _gather_keys(name, each, known)
            elif each is not None:
                known.setdefault(name, {}).setdefault(canonical(each), each)
    elif isinstance(value, list):
        for each in value:
            _gather(each, known)


def _gather_keys(table: str, rows: Any, known: dict[str, dict[str, Any]]) -> None:
    """Note the ids of rows by the name that they have elsewhere: ``order_id`` for ``orders``."""
    name = re.split(r"[^a-z]", table.lower())[-1].removesuffix("s") + "_id"
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(key := row.get("id"), str | int):
            known.setdefault(name, {}).setdefault(canonical(key), key)


def _told_otherwise(
    calls: tuple[GoldenCall, ...] | list[GoldenCall], one: list[Answer], other: list[Answer]
) -> list[str]:
    """Tools whose answers differ, each once."""
    pairs = zip(calls, one, other, strict=False)
    return [*dict.fromkeys(call.tool for call, left, right in pairs if left != right)]
