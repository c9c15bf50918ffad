"""`outcomebox-rollout verify`: is everything of a run there, once, and as it was written?"""

from __future__ import annotations

import os

import typer

from outcomebox.rollout.commands.shared import (
    FINDINGS,
    AsJson,
    RunArgument,
    print_json,
    progress,
    reported,
    say,
    stderr,
    stdout,
)
from outcomebox.rollout.runfolder import find_run
from outcomebox.rollout.spec import RunSpec
from outcomebox.rollout.storing.plans import SavedRun
from outcomebox.rollout.storing.verify import verify_run
from outcomebox.sandbox import BACKEND_VARIABLE, find_backend

EXAMPLES = """\
Examples:

  outcomebox-rollout verify runs/mine
      names every fault by file and line

  outcomebox-rollout verify runs/mine --json
      the same as one JSON object

Exit status: 0 nothing is wrong; 1 faults; 2 bad input.
"""
_MOST = 50


def verify(run: RunArgument, as_json: AsJson = False) -> None:
    """See that all rows of a run are there, once, and as they were written.

    Looks at checksums, at (uid, repetition, try) that stand twice, at attempts of the plan that
    have no row or no verdict, at the index, and at the exchanges of a recorded run.
    """
    console = stderr()
    with reported(console), progress("reading", console) as tell:
        found = verify_run(find_run(run), _planned, tell)
    if as_json:
        print_json(found.to_json())
    else:
        out = stdout()
        for fault in found.faults[:_MOST]:
            say(out, fault.text)
        if len(found.faults) > _MOST:
            say(out, f"... and {len(found.faults) - _MOST} more faults: see --json")
        for note in found.notes:
            say(out, f"note: {note}")
        say(out, found.summary)
    if found.faults:
        raise typer.Exit(FINDINGS)


def _planned(saved: SavedRun) -> set[str]:
    """The uids of the tasks that the settings of a run name.

    Raises:
        InputError: They cannot be loaded here.
    """
    backend = find_backend(os.environ.get(BACKEND_VARIABLE))
    try:
        return set(RunSpec.from_json(saved.spec).tasks_on(backend).by_uid)
    finally:
        backend.close()
