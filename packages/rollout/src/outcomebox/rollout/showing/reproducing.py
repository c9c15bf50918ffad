"""The one command that makes an attempt again, from what the run was started with."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from outcomebox.rollout.runfolder import RunFolder
from outcomebox.rollout.showing.placing import Json

_FLAGS: Mapping[str, str] = {
    "tasks": "tasks",
    "policy": "policy",
    "policy_options": "policy-option",
    "user_options": "user-option",
    "judge": "judge",
    "judge_options": "judge-option",
    "judge_cache": "judge-cache",
    "seed": "seed",
    "profile": "profile",
    "dataset": "dataset",
    "servers": "servers",
    "server_python": "server-python",
    "clock": "clock",
    "list_file": "list",
    "agent": "agent",
    "user_may_end": "user-may-end",
    "replay": "replay",
}
"""Setting of a run -> the flag that gives it; those that do not decide an attempt are left out."""
_DEFAULTS: Json = {
    "policy": "simulated",
    "profile": "strict",
    "seed": 0,
    "agent": "think",
    "user_may_end": False,
}
_PROBE = "curation.yaml"


def reproducer(run: RunFolder) -> Callable[[Mapping[str, Any]], str | None]:
    """What gives the command for a row.

    Args:
        run: The run's files. Beside the rows stand its settings: ``run.json``, or the
            ``curation.yaml`` of a probe. Without them nobody knows the seed, and there is none.

    Returns:
        Row -> command, or None.
    """
    settings = _settings(run)
    if settings is None:
        return _unknown
    given = list(_given(settings))

    def command(row: Mapping[str, Any]) -> str:
        only = ["--only", str(row.get("uid")), "--repetition", str(row.get("repetition") or 0)]
        name = re.sub(r"[^\w.]+", "-", f"{row.get('uid')}-{row.get('repetition') or 0}")
        return shlex.join(["outcomebox-rollout", "run", *only, *given, "--out", f"runs/{name}"])

    return command


def _unknown(_: Mapping[str, Any]) -> None:
    """No command: nothing tells how the run was started."""


def _settings(run: RunFolder) -> Json | None:
    """Settings by the names of a run's; None where none can be read."""
    try:
        if run.settings.is_file():
            spec = json.loads(run.settings.read_text(encoding="utf-8"))["spec"]
            return spec if isinstance(spec, dict) else None
        beside = run.folder / _PROBE
        if beside.is_file():
            plain = yaml.safe_load(beside.read_text(encoding="utf-8"))
            return {**plain["probe"], "tasks": _selectors(plain["sources"]["tasks"], run.folder)}
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        # To show a run must not fail for a file that only helps to make one again.
        return None
    return None


def _selectors(tasks: list[str], folder: Path) -> list[str]:
    """Selectors as they are from here: paths in a probe's settings are relative to its folder."""
    return [str(folder / each) if (folder / each).exists() else each for each in tasks]


def _given(settings: Json) -> Iterator[str]:
    for name, flag in _FLAGS.items():
        value = settings.get(name)
        if value in (None, "", [], {}) or value == _DEFAULTS.get(name):
            continue
        if value is True:
            yield f"--{flag}"
        elif isinstance(value, dict):
            for option, each in value.items():
                yield from (f"--{flag}", f"{option}={each}")
        else:
            for each in value if isinstance(value, list) else [value]:
                yield from (f"--{flag}", str(each))
