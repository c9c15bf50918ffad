"""`outcomebox-train checkpoint verify`: is every rank's shard there and whole?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from outcomebox.sandbox import InputError
from outcomebox.train.checkpoints.layout import find_checkpoint, read_checkpoint
from outcomebox.train.checkpoints.verify import Fault, Verified, verify
from outcomebox.train.commands.shared import (
    FAULTS,
    AsJson,
    lines,
    print_json,
    reported,
    say,
    stderr,
)

EXAMPLES = """\
Examples:

  outcomebox-train checkpoint verify runs/first
      the newest checkpoint of a run; every byte is read against the archives' checksums

  outcomebox-train checkpoint verify runs/first --digests --json > before.json
  outcomebox-train checkpoint verify /copied/global_step_50 --against before.json
      is a copy the same, shard by shard?

Exit status: 0 whole; 1 faults; 2 there is no checkpoint.
"""

PATH_HELP = "A run's folder, its checkpoints, a global_step_N, or the actor folder in it."


def verify_command(
    path: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help=PATH_HELP)],
    quick: Annotated[
        bool, typer.Option("--quick", help="See that each shard has its end; do not read it all.")
    ] = False,
    digests: Annotated[
        bool, typer.Option("--digests", help="Give the SHA-256 of each shard.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with what --digests --json told before."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See that a checkpoint is whole: each rank's weights, optimiser and state."""
    console = stderr()
    with reported(console):
        expected = None if against is None else _expected(against)
        checkpoint = read_checkpoint(find_checkpoint(path))

        def tell(done: int, total: int) -> None:
            if console.is_terminal:
                say(console, f"{done} of {total} shards", "dim")

        found = verify(
            checkpoint, deep=not quick, digests=digests or expected is not None, tell=tell
        )
        if expected is not None:
            found = _compared(found, expected)
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)
    if found.faults:
        raise typer.Exit(FAULTS)


def _show(found: Verified) -> None:
    checkpoint = found.checkpoint
    lines(
        f"step {checkpoint.step}: {len(checkpoint.shards)} shards of {checkpoint.world_size} "
        f"ranks, {found.bytes:,} bytes, in {checkpoint.folder}"
    )
    for name, digest in found.digests.items():
        lines(f"  {digest}  {name}")
    for each in found.odd:
        lines(f"odd: {each.path.name}: {each.told}")
    for each in found.faults:
        lines(f"fault: {each.path}: {each.told}")
    lines("faults found" if found.faults else "whole")


def _expected(file: Path) -> dict[str, str]:
    mend = "write it with checkpoint verify --digests --json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["digests"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"holds no digests ({error!r}); {mend}", file=file) from error
    if not isinstance(found, dict) or not found:
        raise InputError(f"holds no digests; {mend}", file=file)
    return {str(name): str(digest) for name, digest in found.items()}


def _compared(found: Verified, expected: dict[str, str]) -> Verified:
    actor = found.checkpoint.actor
    known = {fault.path.name for fault in found.faults}
    differ = [
        Fault(actor / name, "is not the shard that was written down; copy it again")
        for name in sorted({*expected, *found.digests})
        if name not in known and expected.get(name) != found.digests.get(name)
    ]
    return Verified(
        found.checkpoint, (*found.faults, *differ), found.odd, found.bytes, found.digests
    )
