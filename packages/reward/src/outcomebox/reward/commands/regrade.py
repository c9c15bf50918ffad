"""`outcomebox-reward regrade`: grade stored terminal states again with the present checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console

from outcomebox.reward.commands.shared import (
    FINDINGS,
    AsJson,
    alone,
    print_json,
    progress,
    reported,
    stderr,
    stdout,
)
from outcomebox.reward.judge import AsyncJudge
from outcomebox.reward.judging.rubric import model_judge
from outcomebox.reward.judging.settings import judge_settings
from outcomebox.reward.pages import regrade_page
from outcomebox.reward.regrade import Order, Report, open_run
from outcomebox.reward.regrade import regrade as grade_again
from outcomebox.reward.regrade.show import show
from outcomebox.sandbox import InputError, load_tasks

EXAMPLES = """\
Examples:

  outcomebox-reward regrade runs/my-model          which verdicts moved since the run?

  outcomebox-reward regrade runs/my-model --tasks shop --task shop/refund/3
      after that task's check was edited

  outcomebox-reward regrade runs/my-model --write runs/regraded.jsonl
      the same rows with the new verdicts, for another selection from them

  outcomebox-reward regrade runs/my-model --fail-on-change --html moved.html      in CI

Exit status: 0 done; 1 a verdict moved, with --fail-on-change; 2 bad input; 130 interrupted.
"""


def regrade(  # noqa: PLR0917 -- typer reads the parameters as flags
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run's folder, or its episodes.jsonl."),
    ],
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|PATH",
            help="A domain, a task file, or a folder; may be repeated. Default: what the run was "
            "made with, as its curation.yaml says, else the bundled domains.",
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="UID", help="Look at the rows of this task only.")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all rows with their new verdicts: a new file, or a folder for a new "
            "episodes.jsonl in it.",
        ),
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who answers rubrics: recorded (what the rows say was answered) or model.",
        ),
    ] = "recorded",
    judge_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Setting of the judge, such as base_url and model."
        ),
    ] = None,
    judge_cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where the judge's votes are kept and found again."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as a page, too.")
    ] = None,
    fail_on_change: Annotated[
        bool, typer.Option("--fail-on-change", help="End with status 1 if a verdict moved.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Grade the stored end states of a run again, with the checks as they are now.

    No session is opened and no policy is asked: a row holds what changed, and its task's files
    hold what it changed from. A row whose initial state is no longer what it was is not graded,
    and is reported.
    """
    console = stderr()
    with reported(console, interrupted="Interrupted. Nothing was written."):
        source = open_run(run)
        if html is not None and not html.parent.is_dir():
            raise InputError("there is no such folder to write into", file=html)
        options = _options(judge_option)
        asked = _judge(judge, options, judge_cache)
        order = Order(source, load_tasks(tasks or source.selectors), asked, task, write)
        report = anyio.run(_run, order, console)
        if html is not None:
            _write_page(html, report)
    if as_json:
        print_json(report.to_json())
    else:
        show(report.to_json(), stdout())
    if fail_on_change and report.moved:
        raise typer.Exit(FINDINGS)


async def _run(order: Order, console: Console) -> Report:
    try:
        if order.judge is not None:
            await order.judge.check()
        with progress("regrade", console) as tell:
            return await grade_again(order, tell)
    finally:
        if order.judge is not None:
            await order.judge.aclose()


def _judge(name: str, options: dict[str, str], cache: Path | None) -> AsyncJudge | None:
    if name == "model":
        return model_judge(judge_settings(options), cache)
    if name != "recorded":
        raise InputError("write recorded or model", field="judge", value=name)
    if options or cache is not None:
        raise InputError("is for a model: add --judge model", field="judge-option or judge-cache")
    return None


def _options(given: list[str] | None) -> dict[str, str]:
    options = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise InputError("write NAME=VALUE", field="judge-option", value=name)
        options[name] = value
    return options


def _write_page(path: Path, report: Report) -> None:
    try:
        path.write_text(regrade_page(report.to_json()), encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error


def main() -> None:
    """Runs the command."""
    alone(regrade, "regrade", EXAMPLES)


if __name__ == "__main__":
    main()
