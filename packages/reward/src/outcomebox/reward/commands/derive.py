"""`outcomebox-reward derive`: write the `expect` block of tasks from their golden calls."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.syntax import Syntax

from outcomebox.reward.commands.shared import (
    FINDINGS,
    AsJson,
    Concurrency,
    Tell,
    alone,
    next_command,
    print_json,
    progress,
    reported,
    stderr,
    stdout,
)
from outcomebox.reward.derive.checking import Checked, check_goldens
from outcomebox.reward.derive.deriving import Derivation, Derived, Status, derive_tasks
from outcomebox.sandbox import InputError, TaskSet, load_tasks

EXAMPLES = """\
Examples:

  outcomebox-reward derive shop/tasks/refund.yaml
      prints the `expect` block of each task, and how it differs from the present one

  outcomebox-reward derive shop/tasks/refund.yaml --task shop/refund/first --write
      puts the block of one task into the file; all else in it stays byte for byte

  outcomebox-reward derive shop --check
      does golden pass every check? For every test run

Exit status: 0 done; 1 tasks without a block (their golden calls are refused, say), or with --check
tasks that golden fails; 2 bad input, nothing was written; 130 interrupted.
"""

_STATUS: dict[Status, str] = {
    "same": "as it is",
    "changed": "another block",
    "new": "a first block",
    "refused": "no block",
}


def derive(  # noqa: PLR0917 -- typer reads the parameters as flags
    selectors: Annotated[
        list[str],
        typer.Argument(
            metavar="TASKS...", help="A task file, a folder, or a domain (retail, travel)."
        ),
    ],
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="UID", help="Only this task; may be repeated."),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put the blocks into the task files.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Derive nothing: see that golden passes the checks that are there."
        ),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Take no matcher over from the present blocks: every value exact."
        ),
    ] = False,
    concurrency: Concurrency = 4,
    as_json: AsJson = False,
) -> None:
    """Make the golden calls of tasks and write down, as `expect`, what they change.

    Generated ids become labels, values that differ between runs become matchers, and what a person
    should decide is marked `review`. Matchers and labels that a task has already are kept.
    """
    console = stderr()
    with reported(console, interrupted="Interrupted. Nothing was written."):
        if check and (write or fresh):
            raise InputError("derives nothing; leave out --write and --fresh", field="--check")
        tasks = load_tasks(selectors, drafts=not check)
        if check:
            checked = anyio.run(_check, tasks, task or [], concurrency, console)
        else:
            done = anyio.run(_derive, tasks, task or [], concurrency, fresh, console)
            written = done.write() if write else []
    if check:
        _show_checked(checked, as_json=as_json, console=console)
        raise typer.Exit(FINDINGS if any(each.problem for each in checked) else 0)
    _show(done, written, write=write, as_json=as_json, console=console)
    raise typer.Exit(FINDINGS if any(each.problems for each in done.tasks) else 0)


async def _check(
    tasks: TaskSet, uids: list[str], concurrency: int, console: Console
) -> list[Checked]:
    with progress("golden calls", console) as tell:
        return await check_goldens(tasks, uids=uids, concurrency=concurrency, done=tell)


async def _derive(
    tasks: TaskSet, uids: list[str], concurrency: int, fresh: bool, console: Console
) -> Derivation:
    with progress("golden calls", console) as tell:
        done: Tell = tell
        return await derive_tasks(tasks, uids=uids, fresh=fresh, concurrency=concurrency, done=done)


def _show(
    done: Derivation, written: list[Path], *, write: bool, as_json: bool, console: Console
) -> None:
    if as_json:
        print_json(
            {
                "tasks": [each.to_json() for each in done.tasks],
                "written": [file.as_posix() for file in written],
            }
        )
    else:
        for each in done.tasks:
            _show_task(each, blocks=not write)
    for each in done.tasks:
        for problem in each.problems:
            console.print(
                f"{each.uid}: no block: {problem}", style="red", markup=False, soft_wrap=True
            )
    counts = Counter(each.status for each in done.tasks)
    told = ", ".join(f"{counts[name]} {said}" for name, said in _STATUS.items() if counts[name])
    console.print(f"{len(done.tasks)} tasks: {told}", markup=False)
    reviews = sum(len(each.reviews) for each in done.tasks)
    if reviews:
        console.print(
            f"{reviews} places want a person's decision: look for `review` in the blocks",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )
    also = sum(each.accept_also > 0 for each in done.tasks)
    if also:
        console.print(f"accept_also of {also} tasks stays as it is: golden shows one end only")
    for file in written:
        console.print(f"Written: {file.as_posix()}", markup=False, soft_wrap=True)
    if counts["changed"] + counts["new"] and not write:
        console.print("Next: the same command with --write puts the blocks into the files.")
    elif written:
        console.print(
            f"Next: {next_command('lint')} FILE says whether the checks notice a wrong end.",
            markup=False,
            soft_wrap=True,
        )


def _show_task(each: Derived, *, blocks: bool) -> None:
    console = stdout()
    console.print(f"# {each.uid}: {_STATUS[each.status]}", markup=False, soft_wrap=True)
    if each.present is not None and each.present.outcome != "passed":
        console.print(
            "# golden fails the present block: "
            + ("; ".join(r.message for r in each.present.reasons) or str(each.present.error)),
            markup=False,
            soft_wrap=True,
        )
    if each.status == "same" or not blocks:
        return
    if each.block:
        console.print("\n".join(each.block), markup=False, soft_wrap=True)
    if each.present is not None and each.diff:
        if console.is_terminal:
            console.print(Syntax(each.diff, "diff", background_color="default"))
        else:
            console.print(each.diff, markup=False, soft_wrap=True, end="")


def _show_checked(checked: list[Checked], *, as_json: bool, console: Console) -> None:
    wrong = [each for each in checked if each.problem]
    questions = sum(each.questions for each in checked)
    if as_json:
        print_json({"tasks": [each.to_json() for each in checked], "failing": len(wrong)})
    for each in wrong:
        console.print(
            f"{each.file.as_posix()}: {each.uid}: {each.problem}",
            style="red",
            markup=False,
            soft_wrap=True,
        )
    if questions:
        console.print(f"{questions} questions for a judge were taken as answered yes")
    if wrong:
        console.print(
            f"Golden fails {len(wrong)} of {len(checked)} tasks. Next: mend golden, or see with "
            f"{next_command('derive')} FILE --task UID what it leaves.",
            markup=False,
            soft_wrap=True,
        )
    elif not as_json:
        stdout().print(f"golden passes {len(checked)} of {len(checked)} tasks")


def main() -> None:
    """Runs the command."""
    alone(derive, "derive", EXAMPLES)


if __name__ == "__main__":
    main()
