"""One machine of a cluster: what is set on it, and what it lacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.config.loading import Loaded
from outcomebox.train.config.model import RunConfig
from outcomebox.train.config.versions import SUPPORTED
from outcomebox.train.launch.environment import run_environment
from outcomebox.train.settings import SETTINGS_FILE, SETTINGS_VARIABLE

_FACTS = "outcomebox.train.preflight.nodes"
_ASK_S = 120.0


def python_of(config: RunConfig) -> str:
    """Python of the training environment on this machine."""
    return config.python or sys.executable


def node_environment(config: RunConfig) -> dict[str, str]:
    """What is set for Ray on a node; what belongs to one run is handed on when it starts."""
    found = run_environment(config, Path(config.out) / SETTINGS_FILE)
    return {name: value for name, value in sorted(found.items()) if name != SETTINGS_VARIABLE}


def whole_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """With what this process has, secrets included: never shown."""
    return {**os.environ, **environment}


def ask_node(python: str, asked: Mapping[str, Any], environment: Mapping[str, str]) -> Any:
    """The facts of a machine, or of a cluster, from the training environment.

    Args:
        python: Its Python.
        asked: What is asked, see ``preflight.nodes``.
        environment: The whole environment of the process that is asked.

    Raises:
        InputError: It gives no answer.
    """
    try:
        done = subprocess.run(
            [python, "-m", _FACTS, json.dumps(asked)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_ASK_S if asked["address"] is None else 3 * _ASK_S,
            env=dict(environment),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _silent(python, asked, str(error)) from error
    if done.returncode:
        raise _silent(python, asked, (done.stderr.strip().splitlines() or ["it told nothing"])[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def _silent(python: str, asked: Mapping[str, Any], told: str) -> InputError:
    address = asked["address"]
    if address is None:
        return InputError(
            f"cannot be asked ({told}); name the training environment's Python, with "
            "outcomebox-train and verl installed in it",
            field="python",
            value=python,
        )
    return InputError(
        f"cannot be asked ({told}); start Ray on each node (outcomebox-train ray-start)",
        field="cluster.ray_address",
        value=address,
    )


def node_problems(loaded: Loaded) -> list[str]:
    """What this machine lacks for a run, one line each.

    Args:
        loaded: The run's settings.

    Raises:
        InputError: Its Python cannot be asked.
    """
    from outcomebox.train.preflight.secrets import variables_of  # noqa: PLC0415 -- it needs plans

    config = loaded.config
    asked = {
        "address": None,
        "variables": [name for name, _ in variables_of(config)],
        "folder": config.out,
        "mark": None,
    }
    facts = ask_node(python_of(config), asked, whole_environment(node_environment(config)))[0]

    def wrong(field: str, message: str, value: Any = None) -> str:
        return str(InputError(message, file=loaded.file, field=field, value=value))

    found = []
    if facts["verl"] not in SUPPORTED:
        wanted = " or ".join(SUPPORTED)
        found.append(wrong("python", f"has no verl {wanted}; install it there", facts["verl"]))
    found += [
        wrong("python", f"has no {name}; install the training environment", python_of(config))
        for name in ("ray", "torch")
        if facts["versions"][name] is None
    ]
    if config.cluster.device == "cuda" and facts["gpus"] < config.cluster.gpus:
        found.append(
            wrong("cluster.gpus", f"are not there: {facts['gpus']} are", config.cluster.gpus)
        )
    found += [
        wrong("secrets", f"{name} is not set; export it before this") for name in facts["unset"]
    ]
    for field, path in (("out", Path(config.out).parent), ("model.path", Path(config.model.path))):
        if not path.is_dir():
            found.append(
                wrong(field, "is not there; mount the storage that all nodes share", str(path))
            )
    return found
