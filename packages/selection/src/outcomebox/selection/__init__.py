"""Difficulty bands, pool and split from recorded episodes of one policy.

The way of the data is `read_episodes` -> `task_results` -> `curate` -> `write_selection`; settings
come from `load_curation`. Nothing here runs a model.
"""

from outcomebox.selection.bands import BAND_NAMES, DEFAULT_EDGES, DEFAULT_RETAIN, Band, make_bands
from outcomebox.selection.curate import Selection, curate
from outcomebox.selection.curation import Curation
from outcomebox.selection.decision import REASONS, Estimate, TaskDecision
from outcomebox.selection.episodes import Episodes, find_episode_files, read_episodes
from outcomebox.selection.errors import EmptyPoolError, InputError, SelectionError
from outcomebox.selection.manifest import verify
from outcomebox.selection.mixed import expected_useful_groups, mixed_chance
from outcomebox.selection.pool import Pool, read_pool
from outcomebox.selection.posterior import band_index, band_masses, interval, posterior_mean
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.results import TaskResult, task_results
from outcomebox.selection.settings_file import ListFile, load_curation, resolve_excluded
from outcomebox.selection.stopping import settled
from outcomebox.selection.summary import summary, summary_json
from outcomebox.selection.tasks import TaskInfo, read_tasks, tasks_digest, tasks_jsonl
from outcomebox.selection.write import write_selection

__all__ = [
    "BAND_NAMES",
    "DEFAULT_EDGES",
    "DEFAULT_RETAIN",
    "REASONS",
    "Band",
    "Curation",
    "EmptyPoolError",
    "Episodes",
    "Estimate",
    "InputError",
    "ListFile",
    "Pool",
    "Provenance",
    "Selection",
    "SelectionError",
    "TaskDecision",
    "TaskInfo",
    "TaskResult",
    "band_index",
    "band_masses",
    "curate",
    "expected_useful_groups",
    "find_episode_files",
    "interval",
    "load_curation",
    "make_bands",
    "mixed_chance",
    "posterior_mean",
    "read_episodes",
    "read_pool",
    "read_tasks",
    "resolve_excluded",
    "settled",
    "summary",
    "summary_json",
    "task_results",
    "tasks_digest",
    "tasks_jsonl",
    "verify",
    "write_selection",
]
