"""`outcomebox-train checkpoint merge`: a model that any server loads."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from outcomebox.sandbox import InputError
from outcomebox.train.checkpoints.layout import find_checkpoint, read_checkpoint
from outcomebox.train.checkpoints.merge import Merge, add_template, check_merged, check_target
from outcomebox.train.checkpoints.verify import check_whole
from outcomebox.train.commands.run import program
from outcomebox.train.commands.runfolder import run_of
from outcomebox.train.commands.shared import (
    AsJson,
    DryRun,
    lines,
    print_json,
    reported,
    say,
    stderr,
)
from outcomebox.train.commands.verify import PATH_HELP

EXAMPLES = """\
Examples:

  outcomebox-train checkpoint merge runs/first --to models/first --dry-run
  outcomebox-train checkpoint merge runs/first --to models/first

verl's own merger is called in the training environment; it takes the memory of the whole model and
no GPU. Exit status: 0 done; 2 nothing was merged.
"""


def merge(
    path: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help=PATH_HELP)],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="A new folder for the model.")],
    python: Annotated[
        str | None,
        typer.Option(metavar="PROGRAM", help="Default: the run's, else this Python."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Merge a checkpoint's shards into Hugging Face form, with the template it was trained with."""
    console = stderr()
    with reported(console):
        checkpoint = read_checkpoint(find_checkpoint(path))
        check_whole(checkpoint)
        check_target(to)
        config = run_of(checkpoint.folder)
        template = config.model.chat_template if config is not None else None
        trusted = config is not None and config.model.trust_remote_code
        own = config.python if config is not None else None
        made = Merge(checkpoint, to, python or own or sys.executable, trusted)
        if not dry_run:
            _call(made, as_json)
            size = check_merged(to)
            add_template(to, None if template is None else Path(template))
    plain = {
        "step": checkpoint.step,
        "command": made.command,
        "target": str(to),
        "chat_template": template,
    }
    if as_json:
        print_json(plain)
    elif dry_run:
        lines(shlex.join(made.command))
        if template is not None:
            lines(f"cp {shlex.quote(template)} {shlex.quote(str(to / 'chat_template.jinja'))}")
    else:
        lines(f"step {checkpoint.step}: {size:,} bytes of weights in {to}")
        say(console, f"Next: {program()} serve {shlex.quote(str(to))} --config RUN.yaml")


def _call(made: Merge, quiet: bool) -> None:
    try:
        status = subprocess.run(
            made.command, check=False, stdout=sys.stderr if quiet else None
        ).returncode
    except OSError as error:
        raise InputError(
            f"cannot be started ({error.strerror}); name the training environment's Python",
            field="--python",
            value=made.python,
        ) from error
    if status:
        raise InputError(
            f"verl's merger ended with status {status}; what it told stands above", file=made.target
        )
