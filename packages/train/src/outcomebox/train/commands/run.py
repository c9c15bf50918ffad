"""`outcomebox-train run`: check a run, show it, start it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from outcomebox.sandbox import InputError
from outcomebox.train.commands.shared import (
    BAD_INPUT,
    FAULTS,
    AsJson,
    Config,
    DryRun,
    Verl,
    lines,
    print_json,
    reported,
    say,
    stderr,
    told,
)
from outcomebox.train.config.command_line import COMMAND_LINE
from outcomebox.train.config.compose import pick
from outcomebox.train.launch.plan import Plan, make_plan, plan_json
from outcomebox.train.launch.starting import LOG_FILE, prepare, start
from outcomebox.train.launch.writing import write_run
from outcomebox.train.preflight.run import NAMES, Seen, preflight

EXAMPLES = """\
Examples:

  outcomebox-train --config run.yaml --dry-run
      the exact command and every setting, checked; nothing is started, no GPU or torch is needed

  outcomebox-train --config run.yaml --check
      the same, and the machines, endpoints and secrets of the run besides

  outcomebox-train --config run.yaml
      start it; given again after an end, it goes on from the last checkpoint

  outcomebox-train --config run.yaml -- actor_rollout_ref.actor.entropy_coeff=0.001
      settings of verl that run.yaml has no field for

Exit status: 0 done; 1 training ended before its last step; 2 bad input, nothing was started; 130
and 143 interrupted.
"""


def run(  # noqa: PLR0917 -- typer reads the parameters as flags
    config: Config,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- KEY=VALUE...]", help="More settings of verl, after --."),
    ] = None,
    dry_run: DryRun = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Make every check, those of machines and services too; start nothing."
        ),
    ] = False,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHECK",
            help=f"Leave a check out; with --dry-run only. One of: {', '.join(NAMES)}.",
        ),
    ] = None,
    verl: Verl = None,
    as_json: AsJson = False,
) -> None:
    """Train on a pool with the terminal-state verdict as reward.

    Everything that can be known beforehand is checked beforehand: verl's own schema, the words and
    numbers that it accepts and later trips over, the pool, the model, the lengths, the folder, the
    machines. What is wrong is told in a line that names the field and how to mend it.
    """
    console = stderr()
    given = overrides or []
    with reported(console):
        if skip and not dry_run:
            raise InputError(
                "is for --dry-run: a run starts when every check has passed", field="--skip"
            )
        plan = make_plan(config, given, verl)
        seen = preflight(
            plan,
            live=not dry_run,
            skip=skip or (),
            tell=lambda name: say(console, f"checking {name}", "dim"),
        )
    failed = [each.told for each in seen if each.state == "failed"]
    if failed:
        told(console, failed)
        raise typer.Exit(BAD_INPUT)
    if dry_run or check:
        _show(plan, seen, as_json)
        return
    with reported(console):
        write_run(plan, _checks_text(seen))
        prepare(plan)
        say(console, f"Starting verl {plan.source.version}; rows, log and steps in {plan.out}")
        status = start(plan)
    _ended(plan, status, console, as_json)


def _show(plan: Plan, seen: Sequence[Seen], as_json: bool) -> None:
    if as_json:
        checks = [{"name": each.name, "state": each.state, "told": each.told} for each in seen]
        print_json({**plan_json(plan), "checks": checks})
        return
    preset = f", preset {plan.loaded.preset}" if plan.loaded.preset else ""
    shape = plan.shape
    lines(
        f"verl {plan.source.version} ({plan.source.found}){preset}",
        f"{shape.ranks} ranks, {shape.shares} shares of {shape.sequence}; replicas of "
        f"{shape.replica}; {shape.conversations} conversations a step, of at most "
        f"{shape.context} tokens",
        "",
        "Checks:",
        *_checks_text(seen).splitlines(),
        "",
        "Settings of verl, and the field that decides each:",
        *_settings(plan),
        "",
        "Command:",
        plan.shell_text(),
        "",
        "Nothing was started or written.",
    )


def _settings(plan: Plan) -> list[str]:
    found = []
    for each in plan.own:
        value = _resolved(plan, each.key, each.value)
        by = each.field or "outcomebox-train"
        found.append(f"  {each.key} = {value!r}  [{by}]")
    for text in plan.user:
        key = text.lstrip("+").split("=", 1)[0]
        found.append(f"  {key} = {_resolved(plan, key, None)!r}  [{COMMAND_LINE}]")
    return found


def _resolved(plan: Plan, key: str, otherwise: Any) -> Any:
    value = pick(plan.composed.resolved, key)
    return otherwise if value is None else value


def _checks_text(seen: Sequence[Seen]) -> str:
    width = max(len(each.name) for each in seen)
    return "".join(f"  {each.name:<{width}}  {each.state}: {each.told}\n" for each in seen)


def _ended(plan: Plan, status: int, console: Console, as_json: bool) -> None:
    if as_json:
        print_json({"out": str(plan.out), "status": status})
    out = shlex.quote(str(plan.out))
    if status == 0:
        say(console, f"Done. Next: {program()} checkpoint verify {out}")
        say(console, f"then: {program()} checkpoint merge {out} --to MODEL")
        return
    say(
        console,
        f"verl ended with status {status}; {plan.out / LOG_FILE} has what it told. Mend the cause; "
        "the same command goes on from the last checkpoint.",
        "bold red",
    )
    raise typer.Exit(status if status in {130, 143} else FAULTS)


def program() -> str:
    """How the person at the terminal would start this program."""
    if Path(sys.argv[0]).name.startswith("outcomebox-"):
        return "outcomebox-train"
    return "./pants run packages/train:app --"
