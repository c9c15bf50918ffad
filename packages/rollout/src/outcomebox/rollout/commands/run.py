"""`outcomebox-rollout run`: episodes of a policy on tasks, recorded one row a try."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console

from outcomebox.reward.secrets import redact
from outcomebox.rollout.commands.running import Interrupted, quiet_retries, run_it
from outcomebox.rollout.commands.runreport import print_report, report_json
from outcomebox.rollout.commands.runsettings import pairs, run_settings
from outcomebox.rollout.executors import executor_names
from outcomebox.rollout.policies import policy_names
from outcomebox.sandbox import BACKEND_VARIABLE, InputError, SessionOpenError

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
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|PATH",
            help="A domain (retail, travel), a task file or folder, or a folder in the ThinkingBox "
            "form; may be repeated. Default: all bundled domains.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"One of: {', '.join(policy_names())}. Default: simulated."
        ),
    ] = None,
    policy_option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Setting of the policy.")
    ] = None,
    user_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="base_url, model ... of a model that plays the user. Default: the user is "
            "scripted by the task.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="model: a model answers what checks ask a judge."),
    ] = None,
    judge_option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Setting of the judge: base_url, model, votes ..."),
    ] = None,
    judge_cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the judge's votes there, and use them."),
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(help="Attempts at each task. Default: 1.", min=1)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run. Default: 0.", min=0)] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How raw output is read. Default: strict."),
    ] = None,
    limit_tasks: Annotated[
        int | None, typer.Option(help="Only so many tasks, the first by uid.", min=1)
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="UID", help="Only this task; may be repeated.")
    ] = None,
    repetition: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Only this attempt, from 0; may be repeated.", min=0),
    ] = None,
    servers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="servers.yaml, for the ThinkingBox form.")
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The ThinkingBox folder that --tasks chooses from."),
    ] = None,
    list_file: Annotated[
        Path | None, typer.Option("--list", metavar="FILE", help="A YAML list of its tasks.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its agent. Default: think.")
    ] = None,
    server_python: Annotated[
        str | None, typer.Option(metavar="FILE", help="What {python} in servers.yaml stands for.")
    ] = None,
    clock: Annotated[
        str | None, typer.Option(metavar="TIME", help="Frozen moment of its servers, ISO 8601.")
    ] = None,
    user_may_end: Annotated[
        bool | None,
        typer.Option("--user-may-end", help="Its simulated user may end the conversation."),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            metavar="sqlite|DSN",
            envvar=BACKEND_VARIABLE,
            show_envvar=True,
            help="Where sessions keep their rows: sqlite (default), or a PostgreSQL server. Never "
            "written down; an address with a password belongs into the variable.",
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"One of: {', '.join(executor_names())}. Default: local."
        ),
    ] = None,
    executor_option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Setting of the executor.")
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            help="Episodes at a time, at most; fewer while an endpoint pushes back. Default: 4.",
            min=1,
        ),
    ] = None,
    min_concurrency: Annotated[
        int | None, typer.Option(help="Episodes at a time, at least. Default: 1.", min=1)
    ] = None,
    tries: Annotated[
        int | None, typer.Option(help="Tries of an attempt that breaks. Default: 3.", min=1)
    ] = None,
    patience: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="How long an endpoint that is down is waited for. Default: 600.",
            min=0,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run's folder. Default: a new one under runs/."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    record: Annotated[
        bool | None,
        typer.Option("--record", help="Keep what is said to models and back, for --replay."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A recording answers, and no model is asked."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
    ] = False,
) -> None:
    """Run a policy on tasks, some attempts at each, and record every try as a row.

    A system error (infrastructure failed) is no verdict: it is tried again, and what is left of
    them is reported and counts nowhere. A run that was stopped goes on with --resume.
    """
    console = Console(stderr=True, highlight=False)
    quiet_retries()
    try:
        given: dict[str, Any] = {
            "tasks": tuple(tasks) if tasks else None,
            "policy": policy,
            "policy_options": pairs("policy-option", policy_option),
            "user_options": pairs("user-option", user_option),
            "judge": judge,
            "judge_options": pairs("judge-option", judge_option),
            "judge_cache": _text(judge_cache),
            "seed": seed,
            "profile": profile,
            "limit_tasks": limit_tasks,
            "only": tuple(only) if only else None,
            "dataset": _text(dataset),
            "servers": _text(servers),
            "server_python": server_python,
            "clock": clock,
            "list_file": _text(list_file),
            "agent": agent,
            "user_may_end": user_may_end,
            "record": record,
            "replay": _text(replay),
            "attempts": attempts,
            "repetitions": tuple(sorted(set(repetition))) if repetition else None,
            "executor": executor,
            "executor_options": pairs("executor-option", executor_option),
            "concurrency": concurrency,
            "min_concurrency": min_concurrency,
            "tries": tries,
            "patience_s": patience,
        }
        settings = run_settings(out, given, resume=resume)
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


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
