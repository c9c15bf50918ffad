"""Everything that a selection from recorded episodes is made from, read as the settings say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from outcomebox.selection.content import Contents, read_contents
from outcomebox.selection.curate import Selection, curate
from outcomebox.selection.curation import Curation
from outcomebox.selection.episodes import Episodes, find_episode_files, read_episodes
from outcomebox.selection.errors import InputError
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.reading.fields import Fields
from outcomebox.selection.results import TaskResult, task_results
from outcomebox.selection.settings_file import COMMAND_LINE, resolve_excluded
from outcomebox.selection.stopped import refuse_without_rule
from outcomebox.selection.tasks import TaskInfo, read_tasks
from outcomebox.selection.tries import Tries, read_tries

LISTING = "tasks.jsonl"


@dataclass(frozen=True)
class Inputs:
    """Everything a selection is made from, read.

    Attributes:
        tasks: the tasks to choose from.
        results: what their probes came to.
        curation: the settings, exclusion lists resolved.
        reference: results of the golden actions, if there are any.
        reference_model: results of the reference model, if there are any.
        contents: what the tasks say, as far as it is asked for and known.
        protected: what excluded tasks say.
        provenance: where all this came from.
        files: the files of the episodes that decide.
    """

    tasks: tuple[TaskInfo, ...]
    results: tuple[TaskResult, ...]
    curation: Curation
    reference: tuple[TaskResult, ...] | None
    reference_model: tuple[TaskResult, ...] | None
    contents: Contents
    protected: Contents
    provenance: Provenance
    files: tuple[Path, ...]

    def select(self, tries: Tries | None = None) -> Selection:
        """Makes the selection; see `curate`."""
        return curate(
            self.tasks,
            self.results,
            self.curation,
            reference=self.reference,
            reference_model=self.reference_model,
            contents=self.contents.by_uid,
            protected=self.protected.by_uid,
            tries=tries,
        )

    def tries(self) -> Tries | None:
        """What the tries cost and how they broke, which decides nothing."""
        return read_tries(self.files, self.provenance.policy)


def read_inputs(curation: Curation) -> Inputs:
    """Reads what the settings name.

    Args:
        curation: settings with `sources.episodes`.

    Raises:
        InputError: if something cannot be used.
    """
    sources = curation.sources
    if not sources.episodes:
        raise InputError(
            COMMAND_LINE,
            "--episodes",
            "is missing",
            "Name episodes.jsonl files, or set sources.episodes in the settings",
        )
    resolved, lists = resolve_excluded(curation)
    fields = Fields(sources.form, {str(name): place for name, place in sources.fields.items()})
    files = find_episode_files(sources.episodes)
    refuse_without_rule(files, curation.probe.stop)
    episodes = read_episodes(files, policy=sources.policy, fields=fields)
    reference = model = None
    if sources.reference:
        reference = read_episodes(find_episode_files(sources.reference))
    if sources.reference_model:
        model = read_episodes(find_episode_files(sources.reference_model), fields=fields)
    protected = read_contents(map(Path, curation.exclude.content))
    tasks = _tasks(curation, episodes)
    contents = _contents(curation, files, tasks, protected)
    return Inputs(
        tasks=tasks,
        results=task_results(episodes),
        curation=resolved,
        reference=None if reference is None else task_results(reference),
        reference_model=None if model is None else task_results(model),
        contents=contents,
        protected=protected,
        provenance=Provenance.of(
            episodes,
            reference,
            lists,
            reference_model=model,
            files=[
                *(("exclude_content", *file) for file in protected.files),
                *(("contents", *file) for file in contents.files),
            ],
        ),
        files=files,
    )


def _tasks(curation: Curation, episodes: Episodes) -> tuple[TaskInfo, ...]:
    """The task lists that the settings name; the tasks of the episodes where there is none."""
    lists = [Path(name) for name in curation.sources.tasks if name.endswith(".jsonl")]
    if not lists:
        _refuse_without_domain(episodes.tasks)
        return episodes.tasks
    found: dict[str, tuple[TaskInfo, Path]] = {}
    for path in lists:
        for task in read_tasks(path):
            known, first = found.setdefault(task.uid, (task, path))
            if known != task:
                raise InputError(
                    str(path), "uid", f"{task.uid!r} differs from the one in {first}", "Keep one"
                )
    return tuple(task for task, _ in found.values())


def _refuse_without_domain(tasks: tuple[TaskInfo, ...]) -> None:
    lacking = [task.uid for task in tasks if not task.domain]
    if lacking:
        raise InputError(
            "episodes",
            "domain",
            f"is not told of {lacking[0]!r} and {len(lacking) - 1} other tasks",
            "Name a task list with --tasks, or where rows have it with --field domain=NAME",
        )


def _contents(
    curation: Curation, files: tuple[Path, ...], tasks: tuple[TaskInfo, ...], protected: Contents
) -> Contents:
    """What the tasks say, where something is compared with it.

    Raises:
        InputError: it is not known of a task that would have to be compared.
    """
    asked = curation.gates.duplicates == "near" or protected.files
    if not asked and not curation.exclude.uids and not curation.exclude.lists:
        return Contents({})
    paths = [Path(name) for name in curation.sources.tasks if Path(name).exists()]
    paths += [path for file in files if (path := file.with_name(LISTING)).is_file()]
    contents = read_contents(dict.fromkeys(paths))
    lacking = [
        t.uid for t in tasks if t.uid not in contents.by_uid and t.uid not in protected.by_uid
    ]
    if asked and lacking:
        raise InputError(
            "exclude.content" if protected.files else "gates.duplicates: near",
            "",
            f"needs the texts of all tasks, and has none of {lacking[0]!r} and {len(lacking) - 1} "
            "others",
            "Name their task files, or lists with text and state, with --tasks (sources.tasks)",
        )
    return contents
