"""`outcomebox-eval compare`: did the agent get better, on the same tasks?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from outcomebox.eval.commands.shared import (
    NOT_FINAL,
    AllowIncomplete,
    AsJson,
    Attempts,
    Due,
    Fields,
    Kind,
    load_results,
    print_json,
    reported,
    stderr,
    stdout,
)
from outcomebox.eval.compare.comparing import compare as compare_results
from outcomebox.eval.compare.model import Comparison
from outcomebox.eval.compare.shown import show
from outcomebox.eval.metrics.prices import load_prices
from outcomebox.sandbox.errors import InputError

EXAMPLES = """\
Examples:

  outcomebox-eval compare runs/before runs/after
      the difference with its interval, tasks gained and lost, a table by domain, and a verdict

  outcomebox-eval compare runs/base runs/one runs/two --json
      every run after the first against the first; everything as one JSON object

  outcomebox-eval compare main.csv branch.csv --fail-if-worse
      for a build: status 1 if the new run is shown to be worse

Exit status: 0 compared; 1 attempts are missing, or shown to be worse with --fail-if-worse; 2 bad
input, runs that cannot be compared among it; 130 interrupted.
"""


def compare(  # noqa: PLR0917 -- a command's options
    base: Annotated[str, typer.Argument(metavar="BASE", help="The run to compare with.")],
    new: Annotated[
        list[str], typer.Argument(metavar="NEW...", help="Runs to compare with it, each by itself.")
    ],
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What a run is called, in the order given; repeat it for each. Default: its "
            "folder's or file's name.",
        ),
    ] = None,
    kind: Kind = None,
    field: Fields = None,
    expected: Due = None,
    attempts: Attempts = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A price file: what both runs cost, under one list. Default: what both sources "
            "state.",
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(metavar="P", help="Confidence of the intervals.", min=0.5, max=0.9999)
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of the bootstrap; the same gives the same digits.")
    ] = 0,
    resamples: Annotated[
        int, typer.Option(metavar="N", help="Of the bootstrap.", min=1000, max=1_000_000)
    ] = 10_000,
    allow_incomplete: AllowIncomplete = False,
    allow_mixed: Annotated[
        bool,
        typer.Option(
            "--allow-mixed",
            help="Compare, marked, a run whose rows were made by different versions.",
        ),
    ] = False,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse", help="End with status 1 if a new run is shown to be worse."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare runs on the same tasks, task by task.

    Tasks are paired by uid. Runs of other tasks, or of other versions of a task, are refused by
    name. Intervals are for a population of tasks like these, unless they say "these tasks".
    """
    console = stderr()
    with reported(console):
        paths = [base, *new]
        names = called(paths, name)
        listed = None if prices is None else load_prices(prices)
        runs = [
            load_results([path], kind=kind, fields=field, due=expected, attempts=attempts)
            for path in paths
        ]
        found = []
        for run, label in zip(runs[1:], names[1:], strict=True):
            with console.status(f"comparing {label} with {names[0]}"):
                found.append(
                    compare_results(
                        runs[0],
                        run,
                        names=(names[0], label),
                        level=level,
                        seed=seed,
                        resamples=resamples,
                        prices=listed,
                        allow_incomplete=allow_incomplete,
                        allow_mixed=allow_mixed,
                    )
                )
    if as_json:
        print_json({"comparisons": [each.to_json() for each in found]})
    else:
        out = stdout()
        for each in found:
            show(each, out)
    if not all(each.complete for each in found) or (fail_if_worse and any(map(_worse, found))):
        raise typer.Exit(NOT_FINAL)


def called(paths: list[str], given: list[str] | None) -> list[str]:
    """What runs are called.

    Args:
        paths: As they were named.
        given: As ``--name`` gives them.

    Raises:
        InputError: There is not a name a run, or two are the same.
    """
    if given is not None:
        if len(given) != len(paths) or len(set(given)) != len(given):
            raise InputError(
                f"give {len(paths)} different names, one a run in their order",
                field="name",
                value=", ".join(given),
            )
        return given
    short = []
    for path in map(Path, paths):
        # Only a file's name ends in what kind it is; a folder's may hold a version's dots.
        stem = path.name if path.is_dir() else path.stem
        # A run's rows are named alike in every run: the folder says which it is.
        short.append(path.parent.name if stem == "episodes" and path.parent.name else stem)
    return short if len(set(short)) == len(short) else paths


def _worse(found: Comparison) -> bool:
    return found.pass_1.finding == "worse"
