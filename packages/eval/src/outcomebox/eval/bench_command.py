"""`outcomebox-eval bench`: a benchmark run from its keys to its report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console

from outcomebox.eval.bench import ATTEMPTS, due, protocol
from outcomebox.eval.commands.report import report
from outcomebox.eval.commands.shared import (
    BAD_INPUT,
    NOT_FINAL,
    AllowIncomplete,
    print_json,
    reported,
    say,
    stderr,
)
from outcomebox.eval.completeness import completeness
from outcomebox.eval.results import read_results
from outcomebox.reward.secrets import redact
from outcomebox.rollout.commands import runflags as flags
from outcomebox.rollout.commands.running import Interrupted, quiet_retries, run_it
from outcomebox.rollout.commands.runreport import print_report, report_json
from outcomebox.rollout.commands.runsettings import run_settings
from outcomebox.sandbox import SessionOpenError

EXAMPLES = """\
Examples:

  outcomebox-eval bench --dataset dataset --servers servers.yaml --list bench.yaml --attempts 20
      --policy openai --policy-option base_url=http://127.0.0.1:8000/v1
      --policy-option model=my-model --judge model --judge-option ... --out runs/my-model
      the protocol of published figures: every task of the list, 20 attempts at each

  outcomebox-eval bench --resume --out runs/my-model
      make what is missing, and again what has no verdict

  outcomebox-eval bench --tasks retail --attempts 4 --out runs/retail        bundled tasks

Exit status: 0 final; 1 attempts are left without a verdict, so that no figure is final; 2 bad
input; 130 and 143 interrupted by SIGINT and SIGTERM.
"""


def bench(  # noqa: PLR0917 -- typer reads the parameters as flags
    tasks: flags.Tasks = None,
    policy: flags.Policy = None,
    policy_option: flags.PolicyOption = None,
    user_option: flags.UserOption = None,
    judge: flags.Judge = None,
    judge_option: flags.JudgeOption = None,
    judge_cache: flags.JudgeCache = None,
    attempts: Annotated[
        int | None,
        typer.Option(help=f"Attempts at each task. Default: {ATTEMPTS}.", min=1),
    ] = None,
    seed: flags.Seed = None,
    profile: flags.Profile = None,
    limit_tasks: flags.LimitTasks = None,
    only: flags.Only = None,
    servers: flags.Servers = None,
    dataset: flags.Dataset = None,
    list_file: flags.ListFile = None,
    agent: flags.Agent = None,
    server_python: flags.ServerPython = None,
    clock: flags.Clock = None,
    user_may_end: flags.UserMayEnd = None,
    backend: flags.Backend = None,
    executor: flags.Executor = None,
    executor_option: flags.ExecutorOption = None,
    concurrency: flags.Concurrency = None,
    min_concurrency: flags.MinConcurrency = None,
    tries: flags.Tries = None,
    patience: flags.Patience = None,
    out: flags.Out = None,
    resume: flags.Resume = False,
    record: flags.Record = None,
    replay: flags.Replay = None,
    prices: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A price file (docs/cost.md).")
    ] = None,
    report_dir: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Where the report goes. Default: OUT/report."),
    ] = None,
    allow_incomplete: AllowIncomplete = False,
    as_json: flags.AsJson = False,
) -> None:
    """Run every attempt of a benchmark, prove that all are there, and report.

    The keys that are due are known before the first attempt. A figure is called final when each of
    them has a result, none is there twice and no other is there; until then nothing is printed but
    what is missing, unless --allow-incomplete says so.
    """
    given = flags.given(locals())
    console = stderr()
    quiet_retries()
    with reported(console):
        protocol(given)
        settings = run_settings(out, given, resume=resume)
        settings = replace(settings, command="outcomebox-eval bench")
        try:
            make = partial(run_it, planned=lambda plan: _tell(due(plan), console))
            done = anyio.run(make, settings, backend, console)
        except SessionOpenError as error:
            say(console, f"error: {redact(str(error))}", "red")
            raise typer.Exit(BAD_INPUT) from None
        except Interrupted as interrupted:
            kept = "Interrupted. Every finished attempt is kept; go on with: "
            say(console, kept + settings.resume_command(), "yellow")
            raise typer.Exit(128 + interrupted.signal) from None
        print_report(done, console, shares=False)
        folder = settings.run.folder
        if not (done.report.complete or allow_incomplete):
            proof = completeness(read_results([str(settings.run.rows)]))
            if as_json:
                print_json({"run": report_json(done), "completeness": proof.to_json()})
            for words in proof.words():
                say(console, words, "bold red")
            say(console, "No figure is printed before; --allow-incomplete prints them marked.")
            raise typer.Exit(NOT_FINAL)
    report(
        [str(settings.run.rows)],
        name=[done.label],
        out=report_dir or folder / "report",
        prices=prices,
        allow_incomplete=allow_incomplete,
        as_json=as_json,
    )


def _tell(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        say(console, line)


def main() -> None:
    """Runs the command by itself."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(epilog=EXAMPLES)(bench)
    app(prog_name="outcomebox-eval bench")


if __name__ == "__main__":
    main()
