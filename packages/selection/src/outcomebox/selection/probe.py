"""A probe run: sessions, policy and progress, then the selection from what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from outcomebox.rollout import (
    AsyncJudge,
    EpisodeSetting,
    EpisodeStore,
    Observer,
    Policy,
    RunReport,
    User,
    make_judge,
    make_plan,
    make_policy,
    make_user,
    run_all,
    seeder,
)
from outcomebox.rollout import Progress as RunProgress
from outcomebox.sandbox import (
    TaskSet,
    find_backend,
    load_tasks,
    sandbox,
    start_domains,
)
from outcomebox.selection.curate import Selection, curate
from outcomebox.selection.episodes import read_episodes
from outcomebox.selection.errors import EmptyPoolError, InputError
from outcomebox.selection.probe_settings import RunSettings, save_settings
from outcomebox.selection.probe_tools import known_tools, save_tools
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.results import task_results
from outcomebox.selection.settings_file import resolve_excluded
from outcomebox.selection.tasks import TaskInfo
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
        progress = self.report.progress
        return {
            "attempts": progress.total,
            "outcomes": dict(sorted(progress.outcomes.items())),
            "retried": progress.retried,
            "resumed": progress.resumed,
            "complete": self.report.complete,
            "left": [
                {"uid": item.uid, "repetition": item.repetition, **item.error.to_json()}
                for item in self.report.left
            ],
        }


def probe_run(settings: RunSettings, console: Console) -> Probed:
    """Makes a run, or what is left of it, and the selection from it.

    Everything that can be seen to be wrong is seen before the first file is written.

    Args:
        settings: what to run and where.
        console: where progress goes.

    Raises:
        InputError: the sandbox's or the selection's, for whatever cannot be used.
    """
    probe = settings.curation.probe
    if probe.stop != "never":
        raise InputError(
            "curation",
            "probe.stop",
            f"is {probe.stop}",
            "The probe makes all attempts: write never",
        )
    tasks = load_tasks(settings.curation.sources.tasks)
    curation, lists = resolve_excluded(settings.curation)
    policy = make_policy(probe.policy or "", probe.policy_options)
    user = make_user(probe.user_options)
    with closing(find_backend(settings.backend)) as backend:
        tasks = load_tasks(settings.curation.sources.tasks, backend=backend)
        judge = make_judge(
            probe.judge, probe.judge_options, settings.judge_cache, tasks=tasks.tasks
        )
        report = anyio.run(_run, settings, tasks, _Actors(policy, user, judge), console)
    episodes = read_episodes([settings.episodes])
    listed = [
        TaskInfo(task.uid, task.domain, task.family, task.tags, task.hash, task.content_hash)
        for task in tasks.tasks
    ]
    provenance = Provenance.of(episodes, None, lists)
    try:
        selection = curate(listed, task_results(episodes), curation)
    except EmptyPoolError as error:
        # Still worth seeing: all tasks too easy or too hard is what a probe may find.
        return Probed(settings.folder, report, error.selection, provenance, (), str(error))
    written = write_selection(selection, settings.folder, provenance)
    return Probed(settings.folder, report, selection, provenance, written, None)


@dataclass(frozen=True)
class _Actors:
    policy: Policy
    user: User
    judge: AsyncJudge | None


async def _run(
    settings: RunSettings, tasks: TaskSet, actors: _Actors, console: Console
) -> RunReport:
    probe = settings.curation.probe
    policy, user, judge = actors.policy, actors.user, actors.judge
    try:
        await policy.check()
        await user.check()
        if judge is not None:
            await judge.check()
        save_settings(settings)
        with EpisodeStore(settings.episodes) as store:
            plan = make_plan(tasks, probe.attempts, store)
            async with sandbox() as box:
                used = {tasks.by_uid[uid].domain for uid, _ in plan.todo}
                # A run that was made before tools were kept is asked for them when it is resumed.
                told = known_tools(settings.folder)
                needed = sorted(used | {task.domain for task in tasks.tasks} - told.keys())
                domains = [tasks.domains[name] for name in needed]
                await start_domains(box, domains, backend=tasks.backend)
                asked = [tasks.domains[name] for name in needed if name not in told]
                await save_tools(box, tasks, asked, settings.folder)
                setting = EpisodeSetting(
                    sandbox=box, policy=policy, user=user, judge=judge, seed_of=seeder(probe.seed)
                )
                with _progress(policy, console) as observe:
                    return await run_all(
                        setting,
                        tasks,
                        store,
                        attempts=probe.attempts,
                        concurrency=probe.concurrency,
                        tries=probe.max_tries,
                        observe=observe,
                    )
    finally:
        await policy.aclose()
        await user.aclose()
        if judge is not None:
            await judge.aclose()


@contextmanager
def _progress(policy: Policy, console: Console) -> Iterator[Observer]:
    """A live bar on a terminal; a line for every tenth of the way elsewhere."""
    kind = "simulated policy" if policy.simulated else "policy"
    label = kind if policy.name == "simulated" else f"{kind} {policy.name}"
    if not console.is_terminal:
        tenths = -1

        def tell(state: RunProgress) -> None:
            nonlocal tenths
            now = 10 * state.done // max(1, state.total)
            if now != tenths:
                tenths = now
                console.print(f"{label}: {_counts(state)}, {state.done} of {state.total}")

        yield tell
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[counts]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
    ) as bar:
        task = bar.add_task(label, total=None, counts="", rate="")

        def show(state: RunProgress) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            fresh = state.done - state.resumed
            rate = f"{fresh / elapsed:.1f}/s" if elapsed > 0 and fresh else ""
            bar.update(
                task, total=state.total, completed=state.done, counts=_counts(state), rate=rate
            )

        yield show


def _counts(state: RunProgress) -> str:
    outcomes = state.outcomes
    return (
        f"{outcomes['passed']} passed, {outcomes['failed']} failed, "
        f"{outcomes['system_error']} system errors"
        + (f", {state.retried} retried" if state.retried else "")
    )
