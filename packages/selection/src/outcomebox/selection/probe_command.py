"""`outcomebox-probe`: run a policy n times on each task, then bands, pool and split."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from outcomebox.rollout import policy_names
from outcomebox.rollout.commands.running import Interrupted, quiet_retries
from outcomebox.rollout.executors import executor_names
from outcomebox.sandbox import BACKEND_VARIABLE
from outcomebox.sandbox import InputError as SandboxInputError
from outcomebox.selection.errors import SelectionError
from outcomebox.selection.probe import Probed, probe_run
from outcomebox.selection.probe_parity import Parity, check_parity, check_readers
from outcomebox.selection.probe_settings import new_run, number, options, resumed_run
from outcomebox.selection.summary import summary, summary_json

EXAMPLES = """\
Examples:

  outcomebox-probe                       all bundled tasks, 8 attempts, simulated policy

  outcomebox-probe --tasks retail --policy golden --attempts 1     can every task be done?

  outcomebox-probe --policy openai --policy-option base_url=http://127.0.0.1:8000/v1
      --policy-option model=my-model --concurrency 16 --out runs/my-model

  outcomebox-probe --tasks shop --policy openai --judge model --judge-cache votes.sqlite
      --judge-option base_url=http://127.0.0.1:8001/v1 --judge-option model=judge ...
      for tasks with rubrics: another model answers their questions

  outcomebox-probe --stop exact --out runs/fewer          the same tasks from fewer attempts

  outcomebox-probe --resume --out runs/my-model                    go on where it stopped

  outcomebox-probe --resume --out runs/my-model --check-parity vllm-0.24 verl-0.9
      will training read what evaluation reads? Samples nothing that is there already

Exit status: 0 done; 1 attempts are left without a verdict (system errors), or the two readers of
--check-parity would execute different calls; 2 bad input; 130 and
143 interrupted.
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=EXAMPLES)
def probe(  # noqa: PLR0917 -- typer reads the parameters as flags
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|PATH",
            help="A domain (retail, travel), a task file, or a folder; may be repeated. "
            "Default: all bundled domains.",
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
            help="base_url and model of an OpenAI-compatible model that plays the user. "
            "Default: the user is scripted by the task.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="model: an OpenAI-compatible model answers the rubrics of tasks that have some.",
        ),
    ] = None,
    judge_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Setting of the judge: base_url, model, votes, seed ..."
        ),
    ] = None,
    judge_cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the judge's votes there, and use them."),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            metavar="sqlite|DSN",
            envvar=BACKEND_VARIABLE,
            show_envvar=True,
            help="Where sessions keep their rows: sqlite (default), or a PostgreSQL server, "
            "postgresql://user@host/database. Never written down.",
        ),
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(help="Attempts at each task. Default: 8.", min=1)
    ] = None,
    stop: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="never (default): all attempts at every task. exact: leave a task as soon as the "
            "rest cannot change its decision; the same tasks are kept. bayes: as soon as its "
            "decision is likely enough.",
        ),
    ] = None,
    stop_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Of bayes: keep (.8) and drop (.75), the probabilities above which it decides; "
            "least (3) and most (16) attempts.",
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Episodes at a time. Default: 4.", min=1)
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
    min_concurrency: Annotated[
        int | None,
        typer.Option(
            help="Episodes at a time, at least, while an endpoint pushes back. Default: 1.", min=1
        ),
    ] = None,
    patience: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="How long an endpoint that is down is waited for. Default: 600.",
            min=0,
        ),
    ] = None,
    record: Annotated[
        bool | None,
        typer.Option("--record", help="Keep what is said to models and back, for --replay."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A recording answers, and no model is asked."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run. Default: 0.", min=0)] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run's folder. Default: a new one under runs/."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the run in --out (default: the latest)."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings (curation.yaml); flags win over them."),
    ] = None,
    parity: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--check-parity",
            metavar="LEFT RIGHT",
            help="Afterwards, read the recorded outputs as two parsers do, such as vllm-0.24 and "
            "verl-0.9, and show what would be executed differently.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
    ] = False,
) -> None:
    """Run a policy several times on each task and see which tasks it can learn from.

    Each attempt is a real session: a tool server of its own, a database of its own, and a verdict
    read from what the database holds at the end. The simulated policy is no model: it follows each
    task's golden calls and slips at stated rates.
    """
    console = Console(stderr=True, highlight=False)
    quiet_retries()
    overrides: dict[str, Any] = {
        "sources.tasks": tasks or None,
        "probe.policy": policy,
        "probe.judge": judge,
        "probe.attempts": attempts,
        "probe.concurrency": concurrency,
        "probe.stop": stop,
        "probe.seed": seed,
        "probe.executor": executor,
        "probe.min_concurrency": min_concurrency,
        "probe.patience_s": patience,
        "probe.record": record,
        "probe.replay": None if replay is None else str(replay),
    }
    try:
        overrides["probe.policy_options"] = options("--policy-option", policy_option)
        overrides["probe.user_options"] = options("--user-option", user_option)
        overrides["probe.judge_options"] = options("--judge-option", judge_option)
        overrides["probe.executor_options"] = options("--executor-option", executor_option)
        overrides |= {
            f"probe.bayes.{name}": number(value)
            for name, value in (options("--stop-option", stop_option) or {}).items()
        }
        settings = (resumed_run if resume else new_run)(out, config, overrides)
        settings = replace(settings, judge_cache=judge_cache, backend=backend)
        if parity:
            check_readers(*parity)
        probed = probe_run(settings, console)
        checked = check_parity(settings.folder, *parity, console) if parity else None
    except (SelectionError, SandboxInputError) as error:
        console.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except Interrupted as interrupted:
        console.print(
            "Interrupted. Every finished attempt is kept; the same command with --resume and "
            "--out goes on from here.",
            style="yellow",
        )
        raise typer.Exit(128 + interrupted.signal) from None
    _show(probed, checked, as_json, console)
    _report_left(probed, console)
    if not probed.report.complete or (checked is not None and not checked.same):
        raise typer.Exit(1)


def _show(probed: Probed, checked: Parity | None, as_json: bool, console: Console) -> None:
    folder = probed.folder
    if as_json:
        plain = summary_json(probed.selection, probed.provenance, probed.written)
        plain |= {"run": folder.as_posix(), "report": probed.report_json()}
        if checked is not None:
            plain["parity"] = checked.report
        typer.echo(json.dumps(plain, ensure_ascii=False, allow_nan=False))
    else:
        next_step = (
            f"{select_command()} --episodes {folder} --explain UID (why a task is in or out)"
        )
        Console(highlight=False).print(
            summary(probed.selection, probed.provenance, probed.written, next_step)
        )
    if probed.empty is not None:
        console.print(f"Note: {probed.empty}", style="yellow", markup=False, soft_wrap=True)
    if checked is not None:
        if not as_json:
            checked.print(Console(highlight=False))
        for note in checked.report["notes"]:
            console.print(f"Note: {note}", markup=False, soft_wrap=True)
        names = ", ".join(path.as_posix() for path in checked.files)
        console.print(f"Parity: {names}", markup=False, soft_wrap=True)


def _report_left(probed: Probed, console: Console) -> None:
    report = probed.report
    left = report.left
    if report.outage is not None:
        outage = report.outage
        console.print(
            f"Stopped: {outage.boundary} is down ({outage.error.type}: {outage.error.message}); it "
            f"was asked {outage.asked} times within {outage.patience_s:.0f} s. Every finished "
            "attempt is kept.",
            style="bold red",
            markup=False,
            soft_wrap=True,
        )
    if report.complete:
        return
    console.print(
        f"{report.unfinished} of {report.progress.total} attempts have no verdict, because "
        "infrastructure failed (they count nowhere):",
        style="bold red",
    )
    for item in left[:20]:
        error = item.error
        console.print(
            f"  {item.uid} #{item.repetition}: {error.phase}: {error.type}: {error.message}",
            markup=False,
            soft_wrap=True,
        )
    if len(left) > 20:
        console.print(f"  ... and {len(left) - 20} more")
    console.print("Next: mend the cause, then the same command with --resume tries them again.")


def select_command() -> str:
    """How the person at the terminal would start the selection."""
    if Path(sys.argv[0]).name.startswith("outcomebox-"):
        return "outcomebox-select"
    return "./pants run packages/selection:select --"


def main() -> None:
    """Runs the command."""
    app(prog_name="outcomebox-probe")


if __name__ == "__main__":
    main()
