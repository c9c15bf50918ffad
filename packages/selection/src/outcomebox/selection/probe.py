"""A probe run: sessions, policy and progress, then the selection from what was recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console

from outcomebox.rollout import Bounds, EpisodeStore, RunReport, make_plan, run_plan
from outcomebox.rollout.commands.running import interruptible
from outcomebox.rollout.executors import open_executor
from outcomebox.rollout.plan import Planned
from outcomebox.rollout.progress import policy_label, progress_display
from outcomebox.rollout.spec import Loaded
from outcomebox.rollout.stages import NativeTasks
from outcomebox.sandbox import BACKEND_VARIABLE, TaskSet, sandbox, start_domains
from outcomebox.selection.content import read_contents
from outcomebox.selection.curate import Selection, curate
from outcomebox.selection.episodes import read_episodes
from outcomebox.selection.errors import EmptyPoolError, InputError
from outcomebox.selection.probe_adaptive import AdaptivePlan
from outcomebox.selection.probe_listing import save_listing, task_contents, task_listing
from outcomebox.selection.probe_settings import RunSettings, save_settings
from outcomebox.selection.probe_tools import known_tools, save_tools
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.results import task_results
from outcomebox.selection.settings_file import resolve_excluded
from outcomebox.selection.stopped import write_stopped
from outcomebox.selection.stopping import stop_rule
from outcomebox.selection.tries import read_tries
from outcomebox.selection.write import write_selection


@dataclass(frozen=True)
class Probed:
    """A finished probe run.

    Attributes:
        folder: where everything lies.
        report: how the episodes went.
        selection: bands and pool.
        provenance: what the selection was made from.
        written: the files of the selection; none if no task was kept.
        empty: why there is no pool, or None.
    """

    folder: Path
    report: RunReport
    selection: Selection
    provenance: Provenance
    written: tuple[Path, ...]
    empty: str | None

    def report_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return self.report.to_json()


def probe_run(settings: RunSettings, console: Console) -> Probed:
    """Makes a run, or what is left of it, and the selection from it.

    Everything that can be seen to be wrong is seen before the first file is written.

    Args:
        settings: what to run and where.
        console: where progress goes.

    Raises:
        InputError: the sandbox's or the selection's, for whatever cannot be used.
    """
    curation, lists = resolve_excluded(settings.curation)
    protected = read_contents(map(Path, curation.exclude.content))
    if settings.backend is not None:
        os.environ[BACKEND_VARIABLE] = settings.backend
    tasks, report = anyio.run(interruptible, _Running(settings, console).run)
    episodes = read_episodes([settings.episodes])
    provenance = Provenance.of(
        episodes,
        None,
        lists,
        files=[("exclude_content", *file) for file in protected.files],
    )
    try:
        selection = curate(
            task_listing(tasks.tasks),
            task_results(episodes),
            curation,
            contents=task_contents(tasks.tasks),
            protected=protected.by_uid,
            tries=read_tries([settings.episodes], episodes.policy),
        )
    except EmptyPoolError as error:
        # Still worth seeing: all tasks too easy or too hard is what a probe may find.
        return Probed(settings.folder, report, error.selection, provenance, (), str(error))
    written = write_selection(selection, settings.folder, provenance)
    return Probed(settings.folder, report, selection, provenance, written, None)


@dataclass(frozen=True)
class _Running:
    settings: RunSettings
    console: Console

    async def run(self) -> tuple[TaskSet, RunReport]:
        """The episodes that the run lacks."""
        async with self.settings.spec().loaded() as loaded:
            await loaded.actors.check()
            return native(loaded), await self._episodes(loaded)

    async def _episodes(self, loaded: Loaded) -> RunReport:
        settings, tasks = self.settings, native(loaded)
        probe = settings.curation.probe
        opening = open_executor(
            probe.executor,
            loaded.spec,
            concurrency=probe.concurrency,
            options=probe.executor_options,
            loaded=loaded,
        )
        bounds = Bounds(
            concurrency=probe.concurrency,
            min_concurrency=min(probe.min_concurrency, probe.concurrency),
            tries=probe.max_tries,
            patience_s=probe.patience_s,
        )
        async with opening as executor:
            save_settings(settings)
            save_listing(tasks.tasks, settings.folder)
            with EpisodeStore(settings.episodes) as store, self._plan(loaded, store) as plan:
                await _save_tools(tasks, settings.folder)
                label = policy_label(loaded.actors.policy)
                with progress_display(label, self.console) as tell:
                    return await run_plan(
                        executor,
                        plan,
                        store,
                        bounds=Bounds.replaying(bounds.concurrency) if probe.replay else bounds,
                        check=loaded.actors.check,
                        may_try=loaded.may_try,
                        observe=tell,
                    )

    @contextmanager
    def _plan(self, loaded: Loaded, store: EpisodeStore) -> Iterator[Planned]:
        """What is to do; tasks that an adaptive probe leaves are marked, however it ends."""
        curation = self.settings.curation
        rule = stop_rule(curation)
        if rule is None:
            yield make_plan(loaded.tasks, curation.probe.attempts, store)
            return
        mark = partial(write_stopped, self.settings.episodes)
        plan = AdaptivePlan(make_plan(loaded.tasks, rule.most, store), rule, mark)
        plan.told()
        try:
            yield plan
        finally:
            plan.told()


def native(loaded: Loaded) -> TaskSet:
    """The tasks of a probe, which have to be of our own form.

    Raises:
        InputError: They are not.
    """
    if not isinstance(loaded.tasks, NativeTasks):
        raise InputError(
            "command line",
            "--tasks",
            "names a dataset in the ThinkingBox form",
            "Run it with outcomebox-rollout run, and select with outcomebox-select",
        )
    return loaded.tasks.set


async def _save_tools(tasks: TaskSet, folder: Path) -> None:
    """Write the tools of domains that no earlier part of the run has told of."""
    told = known_tools(folder)
    needed = sorted({task.domain for task in tasks.tasks} - told.keys())
    asked = [tasks.domains[name] for name in needed]
    if not asked:
        return
    async with sandbox() as box:
        await start_domains(box, asked, backend=tasks.backend)
        await save_tools(box, tasks, asked, folder)
