"""What the commands share: how results are named, exit statuses, errors, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from outcomebox.eval.reading import KINDS
from outcomebox.eval.reading.due import read_expected, with_attempts
from outcomebox.eval.results import Results, read_results
from outcomebox.reward.secrets import redact
from outcomebox.sandbox.errors import InputError

NOT_FINAL = 1
"""Exit status: figures are not final, or there are differences that the command says."""
BAD_INPUT = 2
"""Exit status: what was given cannot be used; nothing was written."""
INTERRUPTED = 130
"""Exit status: stopped by Ctrl-C."""

RESULTS_HELP = (
    "A run's folder, its episodes.jsonl, or results of another system (docs/results.md); globs too."
)
Kind = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=f"What the files are: {', '.join(KINDS)}. Default: found from them."
    ),
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="COLUMN=PATH",
        help="Where a column of ours stands in their rows, as a dotted path; may be repeated.",
    ),
]
Due = Annotated[
    str | None,
    typer.Option(
        "--expected",
        metavar="FILE",
        help="The tasks that are due: a list of uids (text, YAML, JSON, CSV) or a run's folder. "
        "Default: what the run itself says.",
    ),
]
Attempts = Annotated[
    int | None,
    typer.Option("--attempts", metavar="N", help="Attempts that are due at each task.", min=1),
]
AllowIncomplete = Annotated[
    bool,
    typer.Option(
        "--allow-incomplete",
        help="Print the figures of what is there, marked as not final, although attempts are "
        "missing, broken or unexpected.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
]


def load_results(
    paths: Sequence[str],
    *,
    kind: str | None = None,
    fields: Sequence[str] | None = None,
    due: str | None = None,
    attempts: int | None = None,
    counts: bool = False,
) -> Results:
    """Read results as a command's options name them.

    Args:
        paths: Files, folders or globs.
        kind: As ``--kind`` gives it.
        fields: As ``--field`` gives them.
        due: As ``--expected`` gives it.
        attempts: As ``--attempts`` gives it.
        counts: Read of our own rows their index alone.

    Raises:
        InputError: Something cannot be used.
    """
    expected = None if due is None else read_expected(Path(due), attempts)
    named = pairs("field", fields)
    found = read_results(paths, kind=kind, fields=named, expected=expected, counts=counts)
    return with_attempts(found, attempts) if expected is None and attempts is not None else found


def pairs(flag: str, given: Sequence[str] | None) -> dict[str, str]:
    """``NAME=VALUE`` pairs as a mapping.

    Raises:
        InputError: One is no such pair.
    """
    found = {}
    for pair in given or ():
        name, sign, value = pair.partition("=")
        if not sign or not name or not value:
            raise InputError("write NAME=VALUE", field=flag, value=pair)
        found[name] = value
    return found


def stderr() -> Console:
    """Where progress, notes and errors go."""
    return Console(stderr=True, highlight=False)


def stdout() -> Console:
    """Where the result goes."""
    return Console(highlight=False)


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print a line as it is, with what would steer a terminal made visible."""
    shown = "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode()
        for each in line
    )
    console.print(shown, style=style, markup=False, soft_wrap=True)


@contextmanager
def reported(console: Console) -> Iterator[None]:
    """Turn what a person can mend into one line and an exit status.

    Args:
        console: Where the line goes.

    Raises:
        typer.Exit: With 2 for bad input, 130 for Ctrl-C.
    """
    try:
        yield
    except InputError as error:
        say(console, f"error: {redact(str(error))}", style="red")
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        say(console, "Interrupted; nothing was written.", style="yellow")
        raise typer.Exit(INTERRUPTED) from None


def print_json(data: Any) -> None:
    """Print one strict JSON object on standard output: NaN and infinities are a fault of ours."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    typer.echo(text.encode("utf-8", "backslashreplace").decode())
