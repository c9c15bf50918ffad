"""`outcomebox-rollout merge`: the shards of one run as one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from outcomebox.rollout.commands.shared import (
    AsJson,
    print_json,
    progress,
    reported,
    say,
    stderr,
    stdout,
)
from outcomebox.rollout.runfolder import find_run, run_files
from outcomebox.rollout.storing.merge import merge_runs

EXAMPLES = """\
Examples:

  outcomebox-rollout merge runs/shard-1 runs/shard-2 --out runs/whole
      every (uid, repetition, try) once; two that differ are refused by name
"""


def merge(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or their episodes.jsonl.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the merged run; it must hold no run yet.")],
    as_json: AsJson = False,
) -> None:
    """Put the shards of one run together.

    Refused are shards of different settings, or of tasks that differ. A row that stands in two
    shards is kept once if it says the same in both; two that say different things are named. Index
    and exchanges are merged too. Nothing is written unless all of it can be.
    """
    console = stderr()
    with reported(console, interrupted="Interrupted; nothing was written."):
        with progress("merging", console) as tell:
            merged = merge_runs([find_run(run) for run in runs], run_files(out), tell)
        if as_json:
            print_json(merged.to_json())
        else:
            say(stdout(), merged.summary)
