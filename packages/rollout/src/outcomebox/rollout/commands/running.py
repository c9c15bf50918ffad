"""A run from its settings to its report, and its clean end when somebody stops it."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio
import stamina
from rich.console import Console

from outcomebox.rollout.commands.runsettings import RunSettings
from outcomebox.rollout.executors import open_executor
from outcomebox.rollout.plan import Plan, make_plan
from outcomebox.rollout.progress import policy_label, progress_display
from outcomebox.rollout.report import RunReport
from outcomebox.rollout.runner import Bounds, run_plan
from outcomebox.rollout.spec import Loaded
from outcomebox.rollout.store import EpisodeStore
from outcomebox.sandbox import BACKEND_VARIABLE

Result = TypeVar("Result")


class Interrupted(Exception):
    """Somebody asked the run to end.

    Attributes:
        signal: How.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number


@dataclass(frozen=True)
class Done:
    """A run that has ended.

    Attributes:
        settings: What was run.
        label: What tables call its policy.
        tasks: How many tasks it has.
        report: How it ended.
    """

    settings: RunSettings
    label: str
    tasks: int
    report: RunReport


async def run_it(
    settings: RunSettings,
    backend: str | None,
    console: Console,
    *,
    planned: Callable[[Plan], None] = lambda _: None,
) -> Done:
    """Make a run, or what is left of it. What can be seen to be wrong is seen before it begins.

    Args:
        settings: What to run, where, how.
        backend: Where sessions keep their rows; handed on in the environment, never written down.
        console: Where progress goes.
        planned: Told what is to be done, before the first attempt.

    Raises:
        InputError: Something cannot be used.
        SessionOpenError: A server cannot be started.
        Interrupted: SIGINT or SIGTERM; what was finished is kept.
    """
    if backend is not None:
        os.environ[BACKEND_VARIABLE] = backend

    async def body() -> Done:
        async with settings.spec.loaded() as loaded:
            await loaded.actors.check()
            return await _run(settings, loaded, console, planned)

    return await interruptible(body)


async def _run(
    settings: RunSettings, loaded: Loaded, console: Console, planned: Callable[[Plan], None]
) -> Done:
    how = settings.how
    opening = open_executor(
        how.executor,
        settings.spec,
        concurrency=how.concurrency,
        options=how.executor_options,
        loaded=loaded,
    )

    bounds = how.bounds
    if settings.spec.replay is not None:
        bounds = Bounds.replaying(how.concurrency)
    async with opening as executor:
        settings.save(loaded.tasks)
        with EpisodeStore(settings.run.rows) as store:
            plan = make_plan(
                loaded.tasks, settings.attempts, store, repetitions=settings.repetitions
            )
            planned(plan)
            label = policy_label(loaded.actors.policy)
            with progress_display(label, console) as tell:
                report = await run_plan(
                    executor,
                    plan,
                    store,
                    bounds=bounds,
                    check=loaded.actors.check,
                    may_try=loaded.may_try,
                    observe=tell,
                )
    return Done(settings, label, len(loaded.tasks.tasks), report)


def quiet_retries() -> None:
    """Log no retries: rows count them and the progress line shows them, which logs break up."""
    stamina.instrumentation.set_on_retry_hooks([])


async def interruptible(body: Callable[[], Awaitable[Result]]) -> Result:
    """Do something that SIGINT and SIGTERM end in order: its contexts are left as usual.

    Raises:
        Interrupted: There was such a signal.
    """
    caught: list[int] = []
    results: list[Result] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for number in signals:
                    caught.append(number)
                    group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            results.append(await body())
        except Exception as error:  # noqa: BLE001 -- raised below, as it is and in no group
            failures.append(error)
        group.cancel_scope.cancel()
    if caught and not results:
        raise Interrupted(caught[0])
    if failures:
        raise failures[0]
    return results[0]
