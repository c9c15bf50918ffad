"""The commands of ``python3 -m tools.postgresql``."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from tools.postgresql.programs import NoServerError, find, install
from tools.postgresql.server import new_folder, start, stop_folder, throwaway

VARIABLE = "OUTCOMEBOX_BACKEND"
"""Which database sessions run on, for every command of the project and its tests."""


def main() -> None:
    """Run a command; the exit status is the given command's, or 2 where there is no server."""
    arguments = _parser().parse_args()
    try:
        sys.exit(arguments.command(arguments))
    except NoServerError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.postgresql",
        description="A throw-away PostgreSQL server for tests and trials: a socket in a temporary "
        "folder, no network, no password, nothing kept. Works as root and as anybody else.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a program with a server, then remove the server")
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM ...")
    run.set_defaults(command=_run)
    started = commands.add_parser("start", help="start a server that stays; prints its DSN, folder")
    started.set_defaults(command=_start)
    stopped = commands.add_parser("stop", help="stop such a server and remove its folder")
    stopped.add_argument("folder", type=Path)
    stopped.set_defaults(command=_stop)
    installed = commands.add_parser("install", help="fetch PostgreSQL where there is none")
    installed.set_defaults(command=lambda _: print(install()))
    where = commands.add_parser("where", help="print the folder of the programs that are used")
    where.set_defaults(command=lambda _: print(find()))
    return parser


def _run(arguments: argparse.Namespace) -> int:
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not program:
        raise NoServerError("no program to run: write `run -- PROGRAM ARGUMENTS`")
    # Ends the context below, and with it the server, as an interrupt from the keyboard does.
    signal.signal(signal.SIGTERM, _interrupt)
    with throwaway() as server:
        try:
            process = subprocess.Popen(program, env={**os.environ, VARIABLE: server.dsn})
        except OSError as error:
            raise NoServerError(f"{program[0]} cannot be run: {error.strerror}") from error
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
            return 130


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _start(_arguments: argparse.Namespace) -> int:
    folder = new_folder()
    server = start(folder, outlive=True)
    print(f"export {VARIABLE}='{server.dsn}'")
    print(f"# python3 -m tools.postgresql stop {folder}")
    return 0


def _stop(arguments: argparse.Namespace) -> int:
    stop_folder(arguments.folder)
    return 0
