"""`outcomebox-reward play`: one task by hand, in the terminal, with the verdict at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import anyio
import typer

from outcomebox.reward.commands.shared import (
    BAD_INPUT,
    FINDINGS,
    AsJson,
    alone,
    print_json,
    reported,
    stderr,
)
from outcomebox.reward.play import Terminal
from outcomebox.reward.play import play as play_task
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox import sandbox
from outcomebox.sandbox.trial import Choice, choose_task

EXAMPLES = """\
Examples:

  outcomebox-reward play retail/address-change/over-to-treptow

  outcomebox-reward play shop/refund/1 --tasks shop/tasks/refund.yaml --user
      what only the user knows is shown too: play both sides

  outcomebox-reward play desk_refunds.py:whole_refund --dataset examples/desk

Exit status: 0 passed, or left without a verdict; 1 failed; 2 bad input, or a system error;
130 interrupted.
"""


def play(  # noqa: PLR0917 -- typer reads the parameters as flags
    task: Annotated[str, typer.Argument(metavar="TASK", help="A uid, or file.py:test.")],
    tasks: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME|PATH", help="Where to look for it; may be repeated."),
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A dataset in the ThinkingBox form to look in."),
    ] = None,
    servers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Its servers.yaml. Default: the one in its folder."),
    ] = None,
    server_python: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What {python} in servers.yaml stands for.")
    ] = None,
    user: Annotated[bool, typer.Option("--user", help="Show what only the user knows.")] = False,
    seed: Annotated[int, typer.Option(help="The session's seed.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Act in a task yourself: call its tools, see what changes, and what the check says of it.

    Lines come from the terminal, or from standard input. Questions that a check has for a judge are
    put to you.
    """
    console = stderr()
    with reported(console, interrupted="Interrupted: no verdict."):
        choice = choose_task(
            task, tasks=tasks, dataset=dataset, servers=servers, python=server_python
        )
        verdict = anyio.run(_play, choice, seed, user, as_json)
    if as_json:
        print_json({"task": task, "verdict": None if verdict is None else verdict.to_json()})
    if verdict is not None and verdict.outcome != "passed":
        raise typer.Exit(FINDINGS if verdict.outcome == "failed" else BAD_INPUT)


async def _play(choice: Choice, seed: int, as_user: bool, as_json: bool) -> Verdict | None:
    terminal = Terminal(_read, lambda text: typer.echo(text, err=as_json))
    async with sandbox() as box:
        return await play_task(box, choice, terminal, seed=seed, as_user=as_user)


def _read(prompt: str) -> str | None:
    if sys.stdin.isatty():
        # On a terminal the line can be edited, and the prompt belongs to it.
        try:
            return input(prompt)
        except EOFError:
            return None
    return sys.stdin.readline() or None


def main() -> None:
    """Runs the command."""
    alone(play, "play", EXAMPLES)


if __name__ == "__main__":
    main()
