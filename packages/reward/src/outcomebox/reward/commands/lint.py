"""`outcomebox-reward lint`: would the checks of tasks notice a wrong end?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console

from outcomebox.reward.commands.shared import (
    FINDINGS,
    AsJson,
    Concurrency,
    Tell,
    alone,
    print_json,
    progress,
    reported,
    stderr,
    stdout,
)
from outcomebox.reward.lint.driver import LintSettings, Stage, lint_tasks
from outcomebox.reward.lint.findings import CODES
from outcomebox.reward.lint.report import Report, print_report
from outcomebox.reward.pages.lint import lint_page
from outcomebox.sandbox import InputError, TaskSet, load_servers, load_tasks
from outcomebox.sandbox.thinkingbox import load_thinkingbox

EXAMPLES = """\
Examples:

  outcomebox-reward lint                                   the bundled domains

  outcomebox-reward lint shop --html lint.html             a domain of your own, as a page too

  outcomebox-reward lint retail --task retail/exchange/moss-for-navy --explain

  outcomebox-reward lint --dataset dataset --servers servers.yaml retail.py:refund
      tasks in the ThinkingBox form: the same, through what their servers and checks do

Exit status: 0 nothing to mend; 1 findings, tasks that could not be linted, or a score below
--fail-under; 2 bad input; 130 interrupted.
"""


def lint(  # noqa: PLR0917 -- typer reads the parameters as flags
    selectors: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SELECTOR]...",
            help="A domain's name, a task file or a folder; with --dataset: file.py:test, a file "
            "or a folder of it. Default: retail and travel, or all of the dataset.",
        ),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(metavar="UID", help="Only this task; may be repeated.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Of the servers, and of the choice of wrong values.", min=0)
    ] = 0,
    fail_under: Annotated[
        float | None,
        typer.Option(
            metavar="SCORE",
            help="Fail if the mutation score, 0 to 1, explained survivors included, is lower.",
            min=0,
            max=1,
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also print the survivors that the tasks explain.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report there as a page.")
    ] = None,
    as_json: AsJson = False,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process", help="Run the domains' servers inside this process: the quickest way."
        ),
    ] = False,
    concurrency: Concurrency = 4,
    dataset: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A ThinkingBox dataset: agent/, scenario/, test_case/."),
    ] = None,
    servers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --dataset: servers.yaml.")
    ] = None,
    list_file: Annotated[
        Path | None,
        typer.Option("--list", metavar="FILE", help="With --dataset: a list of file.py:test."),
    ] = None,
    agent: Annotated[str, typer.Option(help="With --dataset: its agent.")] = "think",
    server_python: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --dataset: what {python} in servers.yaml is."),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="With --dataset: try only clock, texts, order or mutants; may be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", help="With --dataset: replays a task, at most. Default: 100."),
    ] = None,
) -> None:
    """Test the checks of tasks: no model takes part.

    Golden must pass, doing nothing must fail, harmless reorderings must pass, and ends that are a
    little wrong must fail: values put back or exchanged, rows left out, doubled, touched or added.
    """
    console = stderr()
    with reported(console):
        if html is not None and not html.resolve().parent.is_dir():
            raise InputError("there is no such folder to write to", field="html", value=str(html))
        if dataset is None:
            if servers or list_file or part or limit is not None:
                raise InputError("give --dataset too", field="dataset")
            tasks = load_tasks(selectors) if selectors else load_tasks()
            settings = LintSettings(
                _chosen(tasks, task), seed=seed, concurrency=concurrency, in_process=in_process
            )
            report = _native(settings, console)
        else:
            report = _thinkingbox(
                dataset,
                selectors,
                task,
                servers=servers,
                list_file=list_file,
                agent=agent,
                python=server_python,
                given={"seed": seed, "concurrency": concurrency}
                | ({"parts": tuple(part)} if part else {})
                | ({} if limit is None else {"limit": limit}),
                console=console,
            )
        data = report.to_json()
        if html is not None:
            html.write_text(lint_page(data), encoding="utf-8")
    if as_json:
        print_json(data)
    else:
        print_report(report, stdout(), explain=explain)
    low = fail_under is not None and (report.score or 0.0) < fail_under
    if low:
        console.print(f"The score is below {fail_under}.", style="red")
    if low or not report.clean:
        raise typer.Exit(FINDINGS)


def _native(settings: LintSettings, console: Console) -> Report:
    with ExitStack() as stack:
        bars: dict[Stage, Tell] = {}

        def told(stage: Stage, done: int, total: int) -> None:
            if stage not in bars:
                stack.close()
                bars[stage] = stack.enter_context(progress(stage, console))
            bars[stage](done, total)

        return anyio.run(lint_tasks, settings, told)


def _chosen(tasks: TaskSet, uids: list[str] | None) -> TaskSet:
    if not uids:
        return tasks
    for uid in uids:
        _known(uid, tasks.by_uid)
    chosen = tuple(each for each in tasks.tasks if each.uid in uids)
    used = {each.domain for each in chosen}
    domains = {name: domain for name, domain in tasks.domains.items() if name in used}
    return replace(tasks, tasks=chosen, domains=domains)


def _known(uid: str, uids: Any) -> None:
    if uid not in uids:
        raise InputError("no such task was selected; write its uid", field="task", value=uid)


def _thinkingbox(
    dataset: Path,
    selectors: list[str] | None,
    uids: list[str] | None,
    *,
    servers: Path | None,
    list_file: Path | None,
    agent: str,
    python: Path | None,
    given: Mapping[str, Any],
    console: Console,
) -> Report:
    from outcomebox.reward import (  # noqa: PLC0415 -- native tasks need none of its processes
        lint_thinkingbox as form,
    )

    if servers is None:
        raise InputError("a dataset's tools run on servers; say which", field="servers")
    specs = load_servers(servers, python=python)
    tasks = load_thinkingbox(dataset, selectors or None, agent=agent, list_file=list_file)
    for uid in uids or ():
        _known(uid, {each.uid for each in tasks})
    chosen = [each for each in tasks if not uids or each.uid in uids]
    settings = form.LintSettings(chosen, specs, **given)
    with progress("lint", console) as tell:

        def observe(now: form.Progress) -> None:
            tell(now.done, now.total)

        run: Callable[..., Any] = form.lint_thinkingbox
        linted = anyio.run(run, settings, observe)
    return Report(
        tuple(sorted(linted.tasks, key=lambda each: each.uid)),
        seed=settings.seed,
        meanings={**CODES, **form.MEANINGS},
        broken=linted.broken,
        notes=(
            *linted.notes,
            *(f"{uid} is tagged skip and was left out" for uid in linted.skipped),
        ),
    )


def main() -> None:
    """Runs the command."""
    alone(lint, "lint", EXAMPLES)


if __name__ == "__main__":
    main()
