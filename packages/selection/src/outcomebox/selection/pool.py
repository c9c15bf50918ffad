"""Pool files: `train.yaml` and `test.yaml`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.selection.curate import Selection
from outcomebox.selection.decision import Side, TaskDecision
from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.tasks import tasks_digest
from outcomebox.selection.yamlfile import read_yaml, yaml_line, yaml_text

FORMAT = "outcomebox-pool/1"

_HEADER = """\
# {side} side of a pool: {count} tasks, selected by their difficulty for {policy}.
# passes / clean_runs are probe counts. The tasks were chosen by them, so their rate over the pool
# is no pass@1: measure that with episodes of their own.
"""


@dataclass(frozen=True)
class Pool:
    """A pool file that was read.

    Attributes:
        provenance: the `pool` mapping: side, policy, digests and settings.
        tasks: one mapping a task, in file order; `uid` and `hash` are texts.
    """

    provenance: dict[str, Any]
    tasks: tuple[dict[str, Any], ...]

    @property
    def uids(self) -> tuple[str, ...]:
        """The uids in file order."""
        return tuple(task["uid"] for task in self.tasks)


def settings_digest(selection: Selection) -> str:
    """SHA-256 (hex) of the settings that decided the selection."""
    plain = json.dumps(selection.curation.deciding(), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def pool_text(selection: Selection, side: Side, provenance: Provenance) -> str:
    """Writes one side of the split as YAML.

    Args:
        selection: a finished selection.
        side: which side.
        provenance: where its inputs came from.

    Returns:
        The file's text; tasks are sorted by uid.
    """
    curation = selection.curation
    tasks = [_entry(decision) for decision in selection.side(side)]
    head = {
        "format": FORMAT,
        "side": side,
        "policy": provenance.policy,
        "simulated": provenance.simulated,
        "episodes": provenance.episodes,
        "tasks": tasks_digest(decision.task for decision in selection.decisions),
        "settings": settings_digest(selection),
        "bands": {"edges": list(curation.bands.edges), "retain": list(curation.bands.retain)},
        "seed": curation.split.seed,
        "count": len(tasks),
    }
    header = _HEADER.format(
        side=side.capitalize(),
        count=len(tasks),
        policy=provenance.policy_phrase,
    )
    body = yaml_text({"pool": head})
    if not tasks:
        return header + body + "tasks: []\n"
    # One task a line, so that two pools can be compared with diff.
    return header + body + "tasks:\n" + "".join(f"  - {yaml_line(task)}\n" for task in tasks)


def _entry(decision: TaskDecision) -> dict[str, Any]:
    estimate = None if decision.stopped else decision.estimate
    probability = decision.band_probability
    return {
        "uid": decision.uid,
        "domain": decision.task.domain,
        "family": decision.task.family,
        "hash": decision.task.hash,
        "band": decision.band.name if decision.band else None,
        "passes": decision.result.passes,
        "clean_runs": decision.result.clean_runs,
        "posterior_mean": None if estimate is None else round(estimate.mean, 6),
        "band_probability": None if probability is None else round(probability, 6),
    }


def read_pool(path: Path) -> Pool:
    """Reads a pool file.

    Args:
        path: `train.yaml` or `test.yaml`.

    Returns:
        The pool.

    Raises:
        InputError: if it is no pool of this format, or a uid stands twice.
    """
    plain = read_yaml(path)
    head = plain.get("pool") if isinstance(plain, dict) else None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        found = head.get("format") if isinstance(head, dict) else None
        raise InputError(
            str(path),
            "pool.format",
            f"must be {FORMAT}, found {shown(found)}",
            "Select the pool anew",
        )
    tasks = plain.get("tasks")
    if not isinstance(tasks, list):
        raise InputError(str(path), "tasks", "is no list", "Select the pool anew")
    seen: set[str] = set()
    for number, task in enumerate(tasks):
        for name in ("uid", "domain", "family", "hash"):
            value = task.get(name) if isinstance(task, dict) else None
            if not isinstance(value, str) or not value:
                raise InputError(
                    str(path), f"tasks.{number}.{name}", f"is {shown(value)}", "Put text in quotes"
                )
        if task["uid"] in seen:
            raise InputError(
                str(path), f"tasks.{number}.uid", f"{shown(task['uid'])} stands twice", "Keep one"
            )
        seen.add(task["uid"])
    return Pool(head, tuple(tasks))
