"""Recorded episodes executed again under another interpreter profile: what it does to verdicts.

Nothing is sampled: the recorded outputs are read again, their calls are made in a fresh session,
and the task's own check judges the state they leave. Two profiles that read one output differently
may still leave the same state; this tells where they do not.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from outcomebox.eval.replay_recorded import RecordedPolicy, RecordedUser, format_of
from outcomebox.reward.judging import RecordedJudge
from outcomebox.rollout import (
    Episode,
    EpisodeSetting,
    Row,
    check_profile,
    classify,
    read_rows,
    run_episode,
)
from outcomebox.rollout.stages import NativeTasks
from outcomebox.sandbox import InputError, Sandbox, TaskSet, load_tasks, sandbox, start_domains

Key = tuple[str, int]

_REFUSED = "tools_refused"
"""Diagnostic of a profile whose reader does not accept the tools, and so reads nothing."""


@dataclass(frozen=True)
class ReparseSettings:
    """What to read again and how.

    Attributes:
        episodes: The recorded rows.
        tasks: Domains, task files or folders that the episodes are of.
        profile: The interpreter profile.
        out: Where the rows go.
        concurrency: Episodes at a time.
        plain_schemas: Whether the profile is told one plain type for each parameter.
    """

    episodes: Path
    tasks: Sequence[str]
    profile: str
    out: Path
    concurrency: int = 4
    plain_schemas: bool = False


@dataclass(frozen=True)
class Reparsed:
    """A finished run.

    Attributes:
        rows: A row an episode, in the recorded order.
        wall_s: Seconds it took.
    """

    rows: tuple[Row, ...]
    wall_s: float

    def changes(self) -> Counter[tuple[str, str]]:
        """How many episodes went from which verdict to which."""
        return Counter((row["recorded"]["verdict"], row["verdict"]) for row in self.rows)


Observer = Callable[[int, int], None]
"""Called with the episodes that are done and those there are."""


async def run_reparse(settings: ReparseSettings, observe: Observer) -> Reparsed:
    """Execute recorded episodes again.

    Of each (uid, repetition) the last clean try is taken.

    Raises:
        InputError: There is no such episode, one is of another version of its task, holds no raw
            output, or the profile does not read it.
        SessionOpenError: A server cannot be started.
    """
    started = time.monotonic()
    tasks = load_tasks(settings.tasks)
    places = _clean(settings, tasks)
    rows: dict[int, Row] = {}
    async with sandbox() as box:
        domains = {tasks.by_uid[uid].domain for uid, _ in places.values()}
        await start_domains(box, [tasks.domains[name] for name in sorted(domains)])
        native = NativeTasks(tasks, box)
        queue = _recorded(settings.episodes, places)
        observe(0, len(places))

        async def work() -> None:
            for place, row in queue:
                rows[place] = await _again(settings, box, native, row)
                observe(len(rows), len(places))

        async with anyio.create_task_group() as group:
            for _ in range(min(settings.concurrency, len(places))):
                group.start_soon(work)
    return Reparsed(tuple(rows[place] for place in sorted(rows)), time.monotonic() - started)


def _clean(settings: ReparseSettings, tasks: TaskSet) -> Mapping[int, Key]:
    """Return the number of the row of each attempt that counts, with its key."""
    episodes = settings.episodes
    formats: set[str] = set()
    last: dict[Key, int] = {}
    for number, row in enumerate(read_rows(episodes)):
        if row["verdict"]["outcome"] == "system_error":
            continue
        task = tasks.by_uid.get(row["uid"])
        if task is None:
            raise InputError(
                "is an episode of a task that is not loaded; name its domain or file with --tasks",
                file=episodes,
                task=row["uid"],
            )
        if row["versions"]["task"] != task.hash:
            raise InputError(
                "was recorded of another version of this task; use the task as it was then",
                file=episodes,
                task=row["uid"],
                field="versions.task",
                value=row["versions"]["task"],
            )
        form = format_of(row)
        if form not in formats:
            check_profile(settings.profile, form)
            formats.add(form)
        last[row["uid"], row["repetition"]] = number
    if not last:
        raise InputError("holds no episode with a verdict", file=episodes)
    return {number: key for key, number in last.items()}


def _recorded(episodes: Path, places: Mapping[int, Key]) -> Iterator[tuple[int, Row]]:
    for number, row in enumerate(read_rows(episodes)):
        if number in places:
            yield number, row


async def _again(settings: ReparseSettings, box: Sandbox, tasks: NativeTasks, row: Row) -> Row:
    task = tasks.by_uid[row["uid"]]
    policy, user = RecordedPolicy(row), RecordedUser(row)
    setting = EpisodeSetting(
        sandbox=box,
        policy=policy,
        user=user,
        judge=RecordedJudge(row["verdict"]["details"].get("judge", ())),
        seed_of=lambda _uid, _repetition: row["seeds"]["episode"],
        profile=settings.profile,
        plain_schemas=settings.plain_schemas,
    )
    episode, error = Episode(), None
    try:
        await run_episode(setting, tasks, task, row["repetition"], into=episode)
    except Exception as failure:  # noqa: BLE001 -- recorded as a system error, never as a verdict
        error = classify(failure)
    return _row(settings, row, episode, policy, None if error is None else error.to_json())


def _row(
    settings: ReparseSettings,
    row: Row,
    episode: Episode,
    policy: RecordedPolicy,
    error: Mapping[str, Any] | None,
) -> Row:
    verdict = episode.verdict
    if error is None and verdict is not None and verdict.error is not None:
        error = verdict.error
    reasons = [] if error or verdict is None else verdict.to_json()["reasons"]
    return {
        "uid": row["uid"],
        "repetition": row["repetition"],
        "profile": settings.profile,
        "verdict": "system_error" if error or verdict is None else verdict.outcome,
        "reasons": reasons,
        "finish_reason": episode.finish_reason,
        "first_difference": _first_difference(row["messages"], episode.messages),
        "turns_read": policy.written,
        "turns_recorded": policy.recorded,
        "ran_out": policy.ran_out,
        "tools_refused": any(
            _REFUSED in note
            for message in episode.messages
            for note in message.get("diagnostics", ())
        ),
        "error": None if error is None else dict(error),
        "recorded": {
            "profile": row["versions"]["profile"],
            "verdict": row["verdict"]["outcome"],
            "finish_reason": row["finish_reason"],
        },
    }


def _first_difference(before: Sequence[Any], now: Sequence[Any]) -> Mapping[str, Any] | None:
    """Return the first turn whose executed calls are not the recorded ones; None where all are."""
    turns = [[m for m in messages if m["role"] == "assistant"] for messages in (before, now)]
    for index, (one, other) in enumerate(zip(*turns, strict=False)):
        calls = [_executed(one), _executed(other)]
        if calls[0] != calls[1]:
            return {"turn": index, "recorded": calls[0], "now": calls[1]}
    return None


def _executed(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": call["name"], "arguments": call["arguments"]}
        for call in message.get("tool_calls", ())
        if call["executable"]
    ]
