"""`outcomebox-rollout run`: episodes of a policy on tasks, recorded one row a try."""

from __future__ import annotations

import json

import anyio
import typer
from rich.console import Console

from outcomebox.reward.secrets import redact
from outcomebox.rollout.commands import runflags as flags
from outcomebox.rollout.commands.running import Interrupted, quiet_retries, run_it
from outcomebox.rollout.commands.runreport import print_report, report_json
from outcomebox.rollout.commands.runsettings import run_settings
from outcomebox.sandbox import InputError, SessionOpenError

EXAMPLES = """\
Examples:

  outcomebox-rollout run --tasks retail --policy golden --out runs/golden

  outcomebox-rollout run --policy openai --policy-option base_url=http://127.0.0.1:8000/v1
      --policy-option model=my-model --attempts 4 --concurrency 32 --out runs/my-model

  outcomebox-rollout run --resume --out runs/my-model           go on where it stopped

  outcomebox-rollout run --tasks dataset --servers servers.yaml --judge model ... --out runs/tb

  outcomebox-rollout run --only retail/exception-resolve/missorted-daypack --repetition 2 ...
      one attempt again, as it was: the same settings give the same seed

  outcomebox-rollout run --executor ray --executor-option address=auto ... --out runs/cluster

Exit status: 0 done; 1 attempts are left without a verdict (system errors), or the run was stopped
because an endpoint is down; 2 bad input; 130 and 143 interrupted by SIGINT and SIGTERM.
"""


def run(  # noqa: PLR0917 -- typer reads the parameters as flags
    tasks: flags.Tasks = None,
    policy: flags.Policy = None,
    policy_option: flags.PolicyOption = None,
    user_option: flags.UserOption = None,
    judge: flags.Judge = None,
    judge_option: flags.JudgeOption = None,
    judge_cache: flags.JudgeCache = None,
    attempts: flags.Attempts = None,
    seed: flags.Seed = None,
    profile: flags.Profile = None,
    limit_tasks: flags.LimitTasks = None,
    only: flags.Only = None,
    repetition: flags.Repetition = None,
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
    as_json: flags.AsJson = False,
) -> None:
    """Run a policy on tasks, some attempts at each, and record every try as a row.

    A system error (infrastructure failed) is no verdict: it is tried again, and what is left of
    them is reported and counts nowhere. A run that was stopped goes on with --resume.
    """
    named = dict(locals())
    console = Console(stderr=True, highlight=False)
    quiet_retries()
    try:
        settings = run_settings(out, flags.given(named), resume=resume)
        done = anyio.run(run_it, settings, backend, console)
    except (InputError, SessionOpenError) as error:
        console.print(f"error: {redact(str(error))}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except Interrupted as interrupted:
        console.print(
            f"Interrupted. Every finished attempt is kept; go on with: {settings.resume_command()}",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(128 + interrupted.signal) from None
    if as_json:
        typer.echo(json.dumps(report_json(done), ensure_ascii=False, allow_nan=False))
    print_report(done, console if as_json else Console(highlight=False))
    if not done.report.complete:
        raise typer.Exit(1)
