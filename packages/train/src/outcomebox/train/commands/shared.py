"""What the commands share: exit statuses, errors, JSON, lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from outcomebox.reward.secrets import redact
from outcomebox.sandbox import InputError, SandboxFault

FAULTS = 1
"""Exit status: training ended before its last step, or a checkpoint has faults."""
BAD_INPUT = 2
"""Exit status: what was given cannot be used; nothing was written or started."""
INTERRUPTED = 130
"""Exit status: stopped by Ctrl-C."""

Config = Annotated[Path, typer.Option("--config", metavar="FILE", help="Settings: run.yaml.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be done; start and write nothing.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
]
Verl = Annotated[
    Path | None,
    typer.Option(
        "--verl",
        metavar="DIR",
        help="A folder that holds the package verl. Default: that of the training environment, of "
        "this Python, or what fetch-verl got.",
    ),
]


def stderr() -> Console:
    """Where progress, notes and errors go."""
    return Console(stderr=True, highlight=False)


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print a line as it is, with what would steer a terminal made visible."""
    shown = "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode()
        for each in line
    )
    console.print(shown, style=style, markup=False, soft_wrap=True)


def told(console: Console, errors: list[str]) -> None:
    """Print errors, one line each."""
    for error in errors:
        say(console, f"error: {redact(error)}", style="red")


@contextmanager
def reported(console: Console) -> Iterator[None]:
    """Turn what a person can mend into one line and an exit status.

    Args:
        console: Where the line goes.

    Raises:
        typer.Exit: With 2 for bad input or infrastructure that cannot be used, 130 for Ctrl-C.
    """
    try:
        yield
    except (InputError, SandboxFault) as error:
        told(console, [str(error)])
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        say(console, "Interrupted.", style="yellow")
        raise typer.Exit(INTERRUPTED) from None


def print_json(data: Any) -> None:
    """Print one strict JSON object on standard output."""
    typer.echo(json.dumps(data, ensure_ascii=False, allow_nan=False, default=str))


def lines(*texts: str) -> None:
    """Print lines on standard output, as they are."""
    for text in texts:
        typer.echo(text)
