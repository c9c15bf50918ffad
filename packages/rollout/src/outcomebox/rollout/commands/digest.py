"""`outcomebox-rollout digest`: what a run found, as one number."""

from __future__ import annotations

from typing import Annotated

import typer

from outcomebox.rollout.commands.shared import RunArgument, progress, reported, stderr
from outcomebox.rollout.digest import digest_file
from outcomebox.rollout.runfolder import find_run

EXAMPLES = """\
Examples:

  outcomebox-rollout digest runs/mine
      prints 64 hexadecimal digits: equal for two runs exactly when they found the same

  outcomebox-rollout digest runs/mine --results
      of each attempt's result alone: tries that infrastructure broke do not count
"""


def digest(
    run: RunArgument,
    results: Annotated[
        bool,
        typer.Option(
            "--results",
            help="Only the last clean try of each attempt, whichever try it was.",
        ),
    ] = False,
) -> None:
    """Print a number that is the same for two runs exactly when they found the same.

    Rows are compared in the order of their keys, without their timing and traffic.
    """
    console = stderr()
    with reported(console), progress("reading", console) as tell:
        found = digest_file(find_run(run).rows, tell, results=results)
    typer.echo(found)
