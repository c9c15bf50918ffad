"""What the settings of a run say of the attempts that it is to make, and those of shards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.sandbox import InputError

_FREE = frozenset({"only", "judge_cache", "record", "replay"})
"""Settings in which the shards of one run may differ: which tasks, and what decides no row."""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """The settings that a run was started with.

    Attributes:
        file: Its ``run.json``.
        plain: What that holds.
        repetitions: The attempts at each task.
    """

    file: Path
    plain: Mapping[str, Any]
    repetitions: tuple[int, ...]

    @property
    def spec(self) -> Mapping[str, Any]:
        """What decides the run's rows."""
        spec: Mapping[str, Any] = self.plain["spec"]
        return spec


def saved_run(file: Path) -> SavedRun | None:
    """The settings of a run; None where there are none.

    Args:
        file: Its ``run.json``.

    Raises:
        InputError: They cannot be used.
    """
    try:
        plain = json.loads(file.read_bytes())
        repetitions = plain["repetitions"]
        wanted = range(plain["attempts"]) if repetitions is None else repetitions
        return SavedRun(
            file, {**plain, "spec": dict(plain["spec"])}, tuple(int(each) for each in wanted)
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot be used ({error!r}); restore it", file=file) from error


def _plan(plans: Sequence[Any]) -> dict[str, Any]:
    """The plan of all shards, where each tells its own: every task, every attempt."""
    if not all(plan and "domains" in plan for plan in plans):
        return {"plan": None}
    tasks = {
        uid: told
        for plan in plans
        for uid, *told in zip(plan["uids"], plan["domains"], plan["tags"], strict=True)
    }
    return {
        "plan": {
            "uids": sorted(tasks),
            "domains": [tasks[uid][0] for uid in sorted(tasks)],
            "tags": [tasks[uid][1] for uid in sorted(tasks)],
            "repetitions": sorted({each for plan in plans for each in plan["repetitions"]}),
        }
    }


def together(runs: Sequence[SavedRun]) -> bytes:
    """The settings of the run that shards are of.

    Args:
        runs: Theirs; at least one.

    Raises:
        InputError: They are not of one run.
    """
    first = runs[0]
    for run in runs[1:]:
        for name in sorted({*first.spec, *run.spec} - _FREE):
            before, now = first.spec.get(name), run.spec.get(name)
            if before != now:
                raise InputError(
                    f"is {before!r} in {first.file}; merge shards of one run",
                    file=run.file,
                    field=f"spec.{name}",
                    value=now,
                )
    repetitions = sorted({each for run in runs for each in run.repetitions})
    whole = repetitions == list(range(len(repetitions)))
    only = [run.spec.get("only") or [] for run in runs]
    spec = {
        **first.spec,
        # A shard of all tasks makes the whole one of all tasks.
        "only": sorted({uid for uids in only for uid in uids}) if all(only) else [],
        "record": all(run.spec.get("record") for run in runs),
    }
    plain = {
        **first.plain,
        "spec": spec,
        "attempts": max(repetitions, default=-1) + 1,
        "repetitions": None if whole else repetitions,
        **_plan([run.plain.get("plan") for run in runs]),
    }
    return (json.dumps(plain, ensure_ascii=False, indent=1) + "\n").encode(
        "utf-8", "backslashreplace"
    )
