"""`outcomebox-rollout show`: episodes in the terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from outcomebox.interpret.replay.printable import printable
from outcomebox.rollout.commands.shared import AsJson, reported, stderr, stdout
from outcomebox.rollout.pages.escaping import data
from outcomebox.rollout.runfolder import RunFolder, find_run
from outcomebox.rollout.showing.finding import Place, Wanted, places, read_at, results
from outcomebox.rollout.showing.listing import next_step, show_counts, show_list
from outcomebox.rollout.showing.placing import Json
from outcomebox.rollout.showing.reproducing import reproducer
from outcomebox.rollout.showing.terminal import show_episode
from outcomebox.rollout.showing.view import view_of
from outcomebox.sandbox import InputError

EXAMPLES = """\
Examples:

  outcomebox-rollout show runs/my-model
      what it found, and its episodes, one line each

  outcomebox-rollout show runs/my-model --failed --limit 1
      the first that failed: conversation, state changes, reasons

  outcomebox-rollout show runs/my-model --uid shop/refund/3 --repetition 2

  outcomebox-rollout show runs/my-model --system-error --uid 'shop/*' --json

Up to three episodes are shown whole, more as a list.

Exit status: 0 done; 2 bad input, or no episode is like that; 130 interrupted.
"""
WHOLE = 3
LISTED = 50


def show(  # noqa: PLR0917 -- typer reads the parameters as flags
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run's folder, or its episodes.jsonl.")
    ],
    uid: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Of this task, or of tasks like 'shop/*'.")
    ] = None,
    repetition: Annotated[
        int | None, typer.Option(metavar="N", help="This attempt, from 0.", min=0)
    ] = None,
    attempt: Annotated[
        int | None, typer.Option("--try", metavar="N", help="This try at it, from 0.", min=0)
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    passed: Annotated[bool, typer.Option("--passed", help="Only those that passed.")] = False,
    system_error: Annotated[
        bool, typer.Option("--system-error", help="Only those without a verdict.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", help=f"The first N of them. Default: {LISTED}.", min=1),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Whole texts, system messages and raw output, of all asked."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show episodes: the conversation, what each call changed, and why it passed or failed.

    A system error is no verdict: infrastructure failed, and the episode counts nowhere.
    """
    _plain_where_needed()
    asked = {"failed": failed, "passed": passed, "system_error": system_error}
    outcomes = frozenset(name for name, wanted in asked.items() if wanted) or None
    with reported(stderr()):
        files = find_run(run)
        every = places(files.rows)
        found = [each for each in every if each.fits(Wanted(uid, repetition, attempt, outcomes))]
        if not found:
            raise InputError(_nothing(every, uid), file=files.rows)
        some = found[: limit or LISTED]
        if as_json:
            _print_json(files, every, found, some)
        elif full or len(some) <= WHOLE:
            _print_whole(files, some, full)
        else:
            _print_list(run, files, every, found, some)


def _plain_where_needed() -> None:
    """Write escapes for what the output's encoding lacks: a sign must not end the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _nothing(every: Sequence[Place], uid: str | None) -> str:
    if not every:
        return "has no row yet"
    if uid is not None and not any(each.fits(Wanted(uid)) for each in every):
        return f"has no task like {uid!r}; the first is {every[0].uid!r}"
    return "has no episode like that; take a filter away"


def _print_whole(files: RunFolder, some: Sequence[Place], full: bool) -> None:
    command, console = reproducer(files), stdout()
    for number, row in enumerate(read_at(files.rows, some)):
        if number:
            console.print()
        view: Json = {**view_of(row), "command": command(row)}
        show_episode(view, console, full=full)


def _print_list(
    run: Path,
    files: RunFolder,
    every: Sequence[Place],
    found: Sequence[Place],
    some: Sequence[Place],
) -> None:
    console: Console = stdout()
    views = [{**view_of(row), "steps": []} for row in read_at(files.rows, some)]
    show_counts(results(every), any(view["simulated"] for view in views), console)
    show_list(views, console)
    if len(found) > len(some):
        console.print(f"and {len(found) - len(some)} more (--limit, --uid, --failed)", style="dim")
    wrong = next((view for view in views if view["outcome"] != "passed"), views[0])
    console.print(
        printable(f"Next: {next_step(run, wrong)}"), style="dim", markup=False, soft_wrap=True
    )


def _print_json(
    files: RunFolder, every: Sequence[Place], found: Sequence[Place], some: Sequence[Place]
) -> None:
    command = reproducer(files)
    episodes = [{**view_of(row), "command": command(row)} for row in read_at(files.rows, some)]
    # Not as other commands: a model may have written NaN.
    typer.echo(data({"attempts": dict(results(every)), "found": len(found), "episodes": episodes}))
