"""What a process of a training run plays episodes with: its own sandbox, the pool's tasks, a store.

Opened by the settings of the run alone, so that every process, on every machine, plays the same.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path

from outcomebox.reward.secrets import remember
from outcomebox.rollout import EpisodeSetting, EpisodeStore, Worker, make_judge, make_user, seeder
from outcomebox.rollout.recording import recording
from outcomebox.rollout.stage import Tasks
from outcomebox.rollout.turns import check_profile
from outcomebox.sandbox import BACKEND_VARIABLE, SQLITE, InputError, find_backend, sandbox
from outcomebox.train.settings import WorkerSettings
from outcomebox.train.verl.chat import Chat
from outcomebox.train.verl.numbering import Tries
from outcomebox.train.verl.policy import TrainedPolicy
from outcomebox.train.verl.pool_rows import read_pool_file
from outcomebox.train.verl.turnlimit import TurnLimited


@dataclass(frozen=True)
class Opened:
    """What episodes are played with.

    Attributes:
        worker: Plays one try and makes its row.
        store: Where rows go.
        tries: The number of the next try at each attempt.
    """

    worker: Worker
    store: EpisodeStore
    tries: Tries


@asynccontextmanager
async def opened(settings: WorkerSettings, chat: Chat) -> AsyncIterator[Opened]:
    """Open a process's sandbox with the pool's tasks started, user and judge, and its rows.

    It has to be closed by the task that opened it.

    Args:
        settings: The run's settings.
        chat: The model's template and tokenizer.

    Raises:
        InputError: Something of the run cannot be used, or a task is not the one of the pool.
        SessionOpenError: A tool server cannot be started.
    """
    spec = settings.run_spec
    check_profile(spec.profile, chat.format)
    hashes = pool_hashes(settings)
    spec = replace(spec, only=tuple(sorted(hashes)), limit_tasks=None)
    address = os.environ.get(BACKEND_VARIABLE)
    backend = find_backend(address)
    remember(address if backend is not SQLITE else None)
    async with AsyncExitStack() as stack:
        stack.enter_context(closing(backend))
        tasks = spec.tasks_on(backend)
        check_hashes(tasks, hashes, settings)
        cache = None if spec.judge_cache is None else Path(spec.judge_cache)
        judge = make_judge(spec.judge, spec.judge_options, cache, tasks=tasks)
        if judge is not None:
            stack.push_async_callback(judge.aclose)
        user = make_user(spec.user_options)
        stack.push_async_callback(user.aclose)
        box = await stack.enter_async_context(sandbox())
        await stack.enter_async_context(tasks.started(box))
        setting = EpisodeSetting(
            sandbox=box,
            policy=TrainedPolicy(settings.model_path, chat),
            user=user,
            judge=judge,
            profile=spec.profile,
            seed_of=seeder(spec.seed),
        )
        if spec.record:
            setting = recording(setting)
        if settings.max_turns is not None:
            tasks = TurnLimited(tasks, settings.max_turns)
        settings.rows.mkdir(parents=True, exist_ok=True)
        tries = Tries.of_rows(settings.rows)
        store = stack.enter_context(EpisodeStore(rows_file(settings.rows)))
        yield Opened(Worker(setting, tasks), store, tries)


def rows_file(folder: Path) -> Path:
    """The file of this process's rows: no other process of the run writes it.

    Args:
        folder: Where the run's rows are.
    """
    host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname())
    return folder / f"{host}-{os.getpid()}.jsonl"


def pool_hashes(settings: WorkerSettings) -> dict[str, str]:
    """The hash of each task of the pool, both sides, as it was probed.

    Args:
        settings: The run's settings.

    Raises:
        InputError: A file of the pool cannot be used.
    """
    paths = [settings.pool.path, settings.pool.test_path]
    return {
        task["uid"]: task["hash"]
        for path in paths
        if path is not None
        for task in read_pool_file(Path(path)).tasks
    }


def check_hashes(tasks: Tasks, hashes: Mapping[str, str], settings: WorkerSettings) -> None:
    """See that the tasks are still those that were probed.

    Args:
        tasks: The tasks as they are now.
        hashes: Those of the pool.
        settings: The run's settings, for the message.

    Raises:
        InputError: One is another.
    """
    for uid, due in sorted(hashes.items()):
        found = tasks.versions(tasks.by_uid[uid])["task"]
        if found != due:
            raise InputError(
                "is not the task that was probed: it has changed since; probe and select anew, or "
                "restore it",
                file=settings.pool.path,
                task=uid,
                field="hash",
                value=found,
            )
