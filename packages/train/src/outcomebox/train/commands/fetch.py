"""`outcomebox-train fetch-verl`: verl's files, to check settings where it is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from outcomebox.train.commands.shared import AsJson, lines, print_json, reported, stderr
from outcomebox.train.config.fetching import fetch_verl
from outcomebox.train.config.versions import SUPPORTED

EXAMPLES = """\
Examples:

  outcomebox-train fetch-verl 0.9.1

pip gets the wheel as it is set up to (index, mirror, certificates); its digest is pinned. Nothing
that verl depends on is installed, so this verl checks settings and trains nothing.
"""


def fetch(
    version: Annotated[
        str, typer.Argument(metavar="VERSION", help=f"One of: {', '.join(SUPPORTED)}.")
    ] = SUPPORTED[-1],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Default: a folder in the user's cache."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Get a release of verl into the cache, so that --dry-run finds its schema."""
    with reported(stderr()):
        folder, was_there = fetch_verl(version, to)
    if as_json:
        print_json({"version": version, "folder": str(folder), "was_there": was_there})
    else:
        lines(f"verl {version} {'was already' if was_there else 'is'} in {folder}")
