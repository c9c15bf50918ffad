"""`outcomebox-rollout export`: the rows of a run as a table, or as chat data."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from outcomebox.rollout.commands.shared import (
    AsJson,
    RunArgument,
    print_json,
    progress,
    reported,
    say,
    stderr,
    stdout,
)
from outcomebox.rollout.runfolder import RunFolder, find_run
from outcomebox.rollout.spec import RunSpec
from outcomebox.rollout.storing.chat import Selection, chosen, export_chat
from outcomebox.rollout.storing.files import refuse_existing
from outcomebox.rollout.storing.plans import saved_run
from outcomebox.sandbox import InputError

EXAMPLES = """\
Examples:

  outcomebox-rollout export runs/mine --parquet mine.parquet
      one row a try, for polars, pandas or DuckDB

  outcomebox-rollout export runs/mine --chat sft.jsonl --per-task 2
      up to two passed conversations a task, in the chat format for fine-tuning
"""


class Outcome(StrEnum):
    """What a conversation may have come to."""

    passed = "passed"
    failed = "failed"


def export(  # noqa: PLR0917 -- typer reads the parameters as flags
    run: RunArgument,
    parquet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a Parquet table, one row a try.")
    ] = None,
    chat: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write conversations in the chat format.")
    ] = None,
    outcome: Annotated[
        list[Outcome] | None,
        typer.Option(help="With --chat: take these outcomes; may be repeated. Default: passed."),
    ] = None,
    per_task: Annotated[
        int | None, typer.Option(min=1, help="With --chat: at most so many of a task.")
    ] = None,
    reasoning: Annotated[
        bool, typer.Option("--reasoning", help="With --chat: keep what the agent thought.")
    ] = False,
    no_tools: Annotated[
        bool, typer.Option("--no-tools", help="With --chat: leave the tools' definitions out.")
    ] = False,
    benchmark: Annotated[
        bool,
        typer.Option(
            "--benchmark", help="With --chat: also tasks of a benchmark, made for evaluation alone."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the rows of a run in another form. Files that are there are not overwritten."""
    console = stderr()
    told: dict[str, object] = {}
    lines: list[str] = []
    with reported(console, interrupted="Interrupted; no half-written file is left."):
        files = find_run(run)
        if parquet is None and chat is None:
            raise InputError("say what to write: --parquet FILE, --chat FILE or both")
        for each in (parquet, chat):
            if each is not None:
                refuse_existing(each)
        if parquet is not None:
            # polars takes its time to load, and chat data needs none of it.
            from outcomebox.rollout.storing.export import (  # noqa: PLC0415 -- see above
                export_parquet,
            )

            with progress("table", console) as tell:
                rows = export_parquet(files.rows, parquet, tell)
            told["parquet"] = {"file": str(parquet), "rows": rows}
            lines.append(f"{rows} rows in {parquet}")
        if chat is not None:
            selection = Selection(
                tuple(str(each) for each in outcome or ("passed",)), per_task, reasoning, benchmark
            )
            tools = _tools(files, selection, without=no_tools)
            with progress("conversations", console) as tell:
                chats = export_chat(files.rows, chat, tools, selection, tell)
            told["chat"] = {
                "file": str(chat),
                "conversations": chats.written,
                "tasks": chats.tasks,
                "left_out": chats.broken,
            }
            lines.append(f"{chats.written} conversations on {chats.tasks} tasks in {chat}")
            if chats.broken:
                lines.append(f"{chats.broken} left out: a call of theirs could not be carried out")
        if benchmark:
            say(console, "warning: these tasks are for evaluation alone; keep them out of training")
    if as_json:
        print_json(told)
    for line in [] if as_json else lines:
        say(stdout(), line)


def _tools(
    files: RunFolder, selection: Selection, *, without: bool
) -> dict[str, list[dict[str, Any]]]:
    entries = chosen(files.rows, selection)
    if without:
        return {entry.uid: [] for entry in entries}
    saved = saved_run(files.settings)
    if saved is None:
        raise InputError(
            "is missing, so the tools of its tasks are not known; add --no-tools to leave them out",
            file=files.settings,
        )
    from outcomebox.rollout.storing.toolsets import run_tools  # noqa: PLC0415 -- starts servers

    return anyio.run(run_tools, RunSpec.from_json(saved.spec), entries)
