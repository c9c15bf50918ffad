"""What the commands share: options, exit statuses, errors, progress, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from outcomebox.reward.errors import CheckError
from outcomebox.sandbox import InputError, SandboxFault

FINDINGS = 1
"""Exit status: it ran, and there is something to mend."""
BAD_INPUT = 2
"""Exit status: what was given cannot be used; nothing was written."""
INTERRUPTED = 130
"""Exit status: stopped by Ctrl-C."""

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
]
Concurrency = Annotated[int, typer.Option(help="Sessions at a time.", min=1, max=256)]

Tell = Callable[[int, int], None]
"""Told how many of how many are done."""


def alone(command: Callable[..., None], name: str, examples: str) -> None:
    """Run one command as a program of its own."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(epilog=examples)(command)
    app(prog_name=f"outcomebox-reward {name}")


def next_command(name: str) -> str:
    """How the person at the terminal would start a command of this package."""
    if Path(sys.argv[0]).name.startswith("outcomebox-"):
        return f"outcomebox-reward {name}"
    return f"./pants run packages/reward:{name} --"


def stderr() -> Console:
    """Where progress, notes and errors go."""
    return Console(stderr=True, highlight=False)


def stdout() -> Console:
    """Where the result goes."""
    return Console(highlight=False)


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
    except (InputError, CheckError, SandboxFault) as error:
        console.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        console.print(interrupted, style="yellow", markup=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED) from None


def print_json(data: Any) -> None:
    """Print one JSON object on standard output."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    # Half a character of a model's output becomes its own JSON escape.
    typer.echo(text.encode("utf-8", "backslashreplace").decode())


@contextmanager
def progress(label: str, console: Console) -> Iterator[Tell]:
    """A live bar on a terminal; a line for every tenth of the way elsewhere."""
    if not console.is_terminal:
        tenths = 0

        def tell(done: int, total: int) -> None:
            nonlocal tenths
            now = 10 * done // max(1, total)
            if now != tenths:
                tenths = now
                console.print(f"{label}: {done} of {total}", markup=False)

        yield tell
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, total=total, completed=done)

        yield show
