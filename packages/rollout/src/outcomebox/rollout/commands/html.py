"""`outcomebox-rollout html`: a run as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from outcomebox.reward.rows import read_rows
from outcomebox.rollout.commands.shared import AsJson, print_json, reported, stderr, stdout
from outcomebox.rollout.pages import INLINE, write_page
from outcomebox.rollout.runfolder import ROWS, RunFolder, find_run
from outcomebox.rollout.showing.reproducing import reproducer
from outcomebox.sandbox import InputError

EXAMPLES = """\
Examples:

  outcomebox-rollout html runs/my-model
      writes runs/my-model/episodes.html

  outcomebox-rollout html runs/my-model --out report.html --title "My model, July"

  outcomebox-rollout html runs/my-model --one-file-up-to 100
      one file to send, if its rows have no more than 100 MB

The page needs no network. Of a large run the conversations go to a folder beside it, which has to
be sent with it.

Exit status: 0 done; 2 bad input; 130 interrupted.
"""
_MB = 2**20


def html(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run's folder, or its episodes.jsonl.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page. Default: episodes.html in the run's folder."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Default: the name of the run's folder.")
    ] = None,
    one_file_up_to: Annotated[
        float,
        typer.Option(
            metavar="MB", help="Most rows, in MB, whose conversations stand in the page.", min=0
        ),
    ] = INLINE / _MB,
    as_json: AsJson = False,
) -> None:
    """Write a page of a run: list, filters, conversations with state changes beside the calls.

    System errors stand apart: they are no failures, and count in no share.
    """
    with reported(stderr(), interrupted="Interrupted. Nothing was written."):
        files = find_run(run)
        path = out or files.rows.with_suffix(".html")
        if not path.parent.is_dir():
            raise InputError("there is no such folder to write into", file=path.parent)
        if path.is_dir() or (path.exists() and path.samefile(files.rows)):
            raise InputError("is no file for a page; give another --out", file=path)
        written = write_page(
            read_rows(files.rows),
            path,
            title=title or _name(files),
            beside=files.rows.stat().st_size > one_file_up_to * _MB,
            reproduce=reproducer(files),
        )
    counts = written.index.outcomes
    if as_json:
        print_json(
            {
                "page": str(written.path),
                "files": None if written.files is None else str(written.files),
                "attempts": dict(counts),
                "simulated_rows": written.index.simulated,
            }
        )
        return
    beside = "" if written.files is None else f" and {written.files} (keep them together)"
    simulated = "; the policy is simulated" if written.index.simulated else ""
    stdout().print(
        f"Wrote {written.path}{beside}: {counts['passed']} passed, {counts['failed']} failed, "
        f"{counts['system_error']} system errors{simulated}",
        markup=False,
        soft_wrap=True,
    )


def _name(files: RunFolder) -> str:
    folder = files.rows.resolve().parent.name
    return folder if files.rows.name == ROWS else f"{folder}/{files.rows.stem}"
