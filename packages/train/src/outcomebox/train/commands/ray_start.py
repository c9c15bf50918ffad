"""`outcomebox-train ray-start`: a node of the cluster, its environment checked first."""

from __future__ import annotations

import json
import shlex
import subprocess
from enum import StrEnum
from typing import Annotated, Any

import typer

from outcomebox.sandbox import InputError
from outcomebox.train.commands.shared import (
    BAD_INPUT,
    FAULTS,
    AsJson,
    Config,
    DryRun,
    lines,
    print_json,
    reported,
    say,
    stderr,
    told,
)
from outcomebox.train.config.loading import Loaded, load_config
from outcomebox.train.config.rules import check_rules
from outcomebox.train.config.versions import SUPPORTED
from outcomebox.train.launch.node import node_environment, node_problems, python_of

EXAMPLES = """\
Examples, the first on one node, the second on each of the others:

  outcomebox-train ray-start head --config run.yaml
  outcomebox-train ray-start worker --config run.yaml --address 10.0.0.1:6379

Export the run's secrets before: processes inherit them from here, and nothing hands them on.
Exit status: 0 started; 1 Ray could not; 2 this node lacks something, nothing was started.
"""


class Role(StrEnum):
    """What a node is."""

    head = "head"
    worker = "worker"


def ray_start(  # noqa: PLR0917 -- typer reads the parameters as flags
    role: Annotated[Role, typer.Argument(help="head on one node, worker on the others.")],
    config: Config,
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Of the head; for a worker.")
    ] = None,
    port: Annotated[int, typer.Option(help="Of a head.", min=1, max=65535)] = 6379,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Check that this node has what the run needs, then start Ray on it."""
    console = stderr()
    with reported(console):
        loaded = load_config(config)
        check_rules(loaded.config, str(config))
        command = _command(role, loaded, address, port)
        environment = node_environment(loaded.config)
        problems = [] if dry_run else node_problems(loaded)
    if problems:
        told(console, problems)
        raise typer.Exit(BAD_INPUT)
    plain: dict[str, Any] = {"command": command, "environment": environment}
    if dry_run:
        if as_json:
            print_json(plain)
        else:
            named = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
            lines(" ".join(["env", *named, shlex.join(command)]))
            lines(
                f"Before that it is checked here: verl {' or '.join(SUPPORTED)}, Ray and torch in "
                f"{python_of(loaded.config)}, {loaded.config.cluster.gpus} "
                f"{'GPUs' if loaded.config.cluster.device == 'cuda' else 'processes'}, the run's "
                "folder, secrets."
            )
        return
    status = _started(command, environment)
    if as_json:
        print_json({**plain, "status": status})
    if status:
        raise typer.Exit(FAULTS)
    if role is Role.head:
        say(console, "Next, on each of the other nodes: outcomebox-train ray-start worker --config "
            f"{shlex.quote(str(config))} --address THIS-NODE:{port}")  # fmt: skip


def _command(role: Role, loaded: Loaded, address: str | None, port: int) -> list[str]:
    cluster = loaded.config.cluster
    if cluster.ray_address is None:
        raise InputError(
            "is not set, so the run would start a Ray of its own; write auto",
            file=loaded.file,
            field="cluster.ray_address",
        )
    if role is Role.worker and not address:
        raise InputError(
            "is missing: the head's HOST:PORT; ray-start head tells it", field="--address"
        )
    if role is Role.head and address:
        raise InputError("is for workers; a head has --port", field="--address", value=address)
    gpus = cluster.gpus
    command = [python_of(loaded.config), "-m", "ray.scripts.scripts", "start"]
    command += ["--head", f"--port={port}"] if role is Role.head else [f"--address={address}"]
    command += [f"--num-gpus={gpus}", "--disable-usage-stats"]
    if cluster.cpus is not None:
        command.append(f"--num-cpus={cluster.cpus}")
    if cluster.ray_temp is not None and role is Role.head:
        command.append(f"--temp-dir={cluster.ray_temp}")
    return command


def _started(command: list[str], environment: dict[str, str]) -> int:
    from outcomebox.train.launch.node import whole_environment  # noqa: PLC0415 -- beside its use

    try:
        return subprocess.run(command, check=False, env=whole_environment(environment)).returncode
    except OSError as error:
        raise typer.BadParameter(f"{json.dumps(command[0])}: {error.strerror}") from error
