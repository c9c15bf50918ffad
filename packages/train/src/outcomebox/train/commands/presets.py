"""`outcomebox-train presets`: what a run may start from."""

from __future__ import annotations

from typing import Annotated

import typer

from outcomebox.train.commands.shared import AsJson, lines, print_json, reported, stderr
from outcomebox.train.config.presets import PRESETS, preset, preset_text

EXAMPLES = """\
Examples:

  outcomebox-train presets
  outcomebox-train presets --show 8xh100 > run.yaml      then add out, model.path and pool
"""


def presets(
    show: Annotated[
        str | None, typer.Option("--show", metavar="NAME", help="Print this one, whole.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the presets, or print one."""
    with reported(stderr()):
        if show is not None:
            if as_json:
                print_json(preset(show))
            else:
                typer.echo(preset_text(show), nl=False)
            return
    if as_json:
        print_json({name: preset(name) for name in PRESETS})
        return
    for name in PRESETS:
        first = preset_text(name).splitlines()[0].lstrip("# ")
        lines(f"{name:<18}{first}")
