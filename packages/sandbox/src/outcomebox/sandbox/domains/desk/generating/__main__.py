"""The command that writes tasks of the desk into a folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from outcomebox.sandbox.domains.desk.generating import FAMILIES, SIDES, generate, write_tasks
from outcomebox.sandbox.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Write tasks; 0 when done, 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m outcomebox.sandbox.domains.desk.generating", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="where the task files go; made if need be")
    parser.add_argument("--count", type=int, default=100, help="how many tasks (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other tasks")
    parser.add_argument(
        "--side", choices=SIDES, help="only tasks of this side, for training or for evaluation"
    )
    parser.add_argument(
        "--family",
        action="append",
        metavar="NAME",
        help=f"one of {', '.join(FAMILIES)}; may be repeated (default: all)",
    )
    given = parser.parse_args(arguments)
    if given.count < 1:
        parser.error(f"--count: give 1 or more, not {given.count}")
    try:
        tasks = generate(given.seed, given.count, tuple(given.family or FAMILIES), side=given.side)
        files = write_tasks(tasks, given.folder)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{len(tasks)} tasks in {len(files)} files: {given.folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
