"""The part of `outcomebox-replay` that executes recorded outputs again (`--reparse`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import typer
from rich.console import Console

from outcomebox.eval.replay_reparse import Observer, Reparsed, ReparseSettings, run_reparse
from outcomebox.eval.replay_reparse_view import notes, show, summary
from outcomebox.sandbox import BUNDLED, InputError, SessionOpenError

_EPISODES = "episodes.jsonl"

Given = TypeVar("Given")


def reparse_command(
    profile: str | None,
    episodes: Path | None,
    tasks: Sequence[str] | None,
    *,
    out: Path | None,
    concurrency: int,
    plain_schemas: bool,
    as_json: bool,
    console: Console,
) -> None:
    """Run it and end the command.

    Raises:
        typer.Exit: With status 1 if an episode is left without a verdict, 2 for bad input.
    """
    try:
        settings = ReparseSettings(
            episodes=_rows(_needed(episodes, "episodes")),
            tasks=tasks or BUNDLED,
            profile=_needed(profile, "reparse"),
            out=out or Path("runs/reparse") / f"{profile}.jsonl",
            concurrency=concurrency,
            plain_schemas=plain_schemas,
        )
        done = anyio.run(run_reparse, settings, _observer(settings.profile, console))
        _write(settings.out, done)
    except (InputError, SessionOpenError) as error:
        console.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        console.print("Interrupted; nothing was written.", style="yellow")
        raise typer.Exit(130) from None
    found = summary(done, settings)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))
    else:
        show(found)
    for note in notes(found):
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
    console.print(f"Rows: {settings.out}", markup=False, soft_wrap=True)
    broken = [row for row in done.rows if row["verdict"] == "system_error"]
    for row in broken[:20]:
        fault = row["error"] or {"phase": "run", "type": "", "message": "no verdict"}
        console.print(
            f"  {row['uid']} #{row['repetition']}: {fault['phase']}: {fault['type']}: "
            f"{fault['message'][:300]}",
            markup=False,
            soft_wrap=True,
        )
    if broken:
        raise typer.Exit(1)


def _needed(given: Given | None, name: str) -> Given:
    if given is None:
        raise InputError("is missing; give both --reparse and --episodes", field=name)
    return given


def _rows(path: Path) -> Path:
    return path / _EPISODES if path.is_dir() else path


def _observer(profile: str, console: Console) -> Observer:
    tenths = -1

    def tell(done: int, total: int) -> None:
        nonlocal tenths
        now = 10 * done // max(1, total)
        if now != tenths:
            tenths = now
            console.print(f"reparse {profile}: {done} of {total} episodes")

    return tell


def _write(file: Path, done: Reparsed) -> None:
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in done.rows]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes("".join(lines).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=file) from error
