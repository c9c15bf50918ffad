"""What the commands share: arguments, exit statuses, errors, progress, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from outcomebox.sandbox import InputError, SandboxFault

FINDINGS = 1
"""Exit status: attempts left without a verdict, or faults found."""
BAD_INPUT = 2
"""Exit status: what was given cannot be used; nothing was written."""
INTERRUPTED = 130
"""Exit status: stopped by Ctrl-C."""

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run's folder, or its episodes.jsonl.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
]

Tell = Callable[[int, int], None]
"""Told how many bytes of how many are done."""


def stderr() -> Console:
    """Where progress, notes and errors go."""
    return Console(stderr=True, highlight=False)


def stdout() -> Console:
    """Where the result goes."""
    return Console(highlight=False)


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print a line as it is, with what would steer a terminal made visible."""
    console.print(printable(line), style=style, markup=False, soft_wrap=True)


def printable(text: str) -> str:
    """A text of a model, an endpoint or a file, without control characters."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode()
        for each in text
    )


@contextmanager
def reported(console: Console, *, interrupted: str = "Interrupted.") -> Iterator[None]:
    """Turn what a person can mend into one line and an exit status.

    Args:
        console: Where the line goes.
        interrupted: What to say on Ctrl-C: what is kept, and what is next.

    Raises:
        typer.Exit: With 2 for bad input or infrastructure that cannot be used, 130 for Ctrl-C.
    """
    try:
        yield
    except (InputError, SandboxFault) as error:
        say(console, f"error: {error}", style="red")
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        say(console, interrupted, style="yellow")
        raise typer.Exit(INTERRUPTED) from None


def print_json(data: Any) -> None:
    """Print one JSON object on standard output."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    # Half a character of a model's output becomes its own JSON escape.
    typer.echo(text.encode("utf-8", "backslashreplace").decode())


@contextmanager
def progress(label: str, console: Console) -> Iterator[Tell]:
    """A live bar over a long file on a terminal; nothing elsewhere.

    Args:
        label: What is done.
        console: Where to.
    """
    if not console.is_terminal:
        yield lambda _done, _total: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)

        def tell(done: int, total: int) -> None:
            bar.update(task, total=total, completed=done)

        yield tell
