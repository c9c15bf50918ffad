"""`outcomebox-replay`: replay golden calls, or mutations of them, of a ThinkingBox dataset."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import anyio
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from outcomebox.eval.replay_judge import JudgeName, make_judge
from outcomebox.eval.replay_reparse_command import reparse_command
from outcomebox.eval.replay_run import Observer, Progress, Replayed, ReplaySettings, run_replay
from outcomebox.reward.thinkingbox.mutations import POLICIES, parse_policy
from outcomebox.sandbox import InputError, SessionOpenError, load_servers
from outcomebox.sandbox.servers import ServerSpec
from outcomebox.sandbox.thinkingbox import load_thinkingbox

EXAMPLES = """\
Examples:

  outcomebox-replay --dataset dataset --servers servers.yaml --list bench.yaml
      does every task pass when its golden calls are made?

  outcomebox-replay --dataset dataset --servers servers.yaml --list bench.yaml --policy drop:each
      is every change that is left out caught?

  outcomebox-replay --dataset dataset --servers servers.yaml retail.py:refund --policy noop --json

  outcomebox-replay --reparse vllm-0.32 --episodes runs/my-model
      which verdicts would be others, had the recorded outputs been read as that server reads them?

Exit status: 0 done; 1 trajectories are left without a verdict (system errors); 2 bad input;
130 interrupted.
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=EXAMPLES)
def replay(  # noqa: PLR0917 -- typer reads the parameters as flags
    dataset: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with agent/, scenario/ and test_case/."),
    ] = None,
    servers: Annotated[Path | None, typer.Option(metavar="FILE", help="servers.yaml.")] = None,
    selectors: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SELECTOR]...",
            help="file.py:test, a file or a folder. Default: all of the dataset, or --list.",
        ),
    ] = None,
    list_file: Annotated[
        Path | None,
        typer.Option("--list", metavar="FILE", help="YAML list of file.py:test."),
    ] = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help=f"One of: {POLICIES}.")] = "golden",
    agent: Annotated[str, typer.Option(help="Agent of the dataset.")] = "think",
    judge: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who answers the checks' questions: yes or no (stand-ins that always say so), "
            "none, or model.",
        ),
    ] = "yes",
    judge_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Setting of --judge model: base_url, model, votes ..."
        ),
    ] = None,
    judge_cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the judge model's votes there, and use them."),
    ] = None,
    server_python: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What {python} in servers.yaml stands for.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="fork or process, for all servers that name none."),
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(metavar="MOMENT", help="Freeze the servers' clock there (ISO 8601)."),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A real Typesense. Default: an embedded index."),
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Episodes at a time.", min=1)] = 4,
    seed: Annotated[int, typer.Option(help="The servers' seed.", min=0)] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where rows go. Default: runs/replay/POLICY.jsonl."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the rows in --out that have a verdict.")
    ] = False,
    reparse: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE",
            help="Instead of golden calls: execute the recorded outputs of --episodes again, read "
            "under this interpreter profile.",
        ),
    ] = None,
    episodes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --reparse: episodes.jsonl, or a run's folder."),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|PATH",
            help="With --reparse: the episodes' domains or task files. Default: retail, travel.",
        ),
    ] = None,
    plain_schemas: Annotated[
        bool,
        typer.Option(
            "--plain-schemas",
            help="With --reparse: tell the profile one plain type for each parameter.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; progress goes to stderr.")
    ] = False,
) -> None:
    """Make the golden calls of each task, or a mutation of them, and see what its check says.

    Each trajectory is a real session of the dataset's own tool servers, graded by the task's own
    check. No model is asked. With --reparse, recorded outputs are executed again instead.
    """
    console = Console(stderr=True, highlight=False)
    if reparse is not None or episodes is not None:
        reparse_command(
            reparse,
            episodes,
            tasks,
            out=out,
            concurrency=concurrency,
            plain_schemas=plain_schemas,
            as_json=as_json,
            console=console,
        )
        return
    try:
        chosen = parse_policy(policy)
        dataset = _needed(dataset, "dataset")
        specs = load_servers(_needed(servers, "servers"), python=server_python, clock=clock)
        if mode is not None:
            specs = {name: _in_mode(spec, mode) for name, spec in specs.items()}
        settings = ReplaySettings(
            tasks=load_thinkingbox(dataset, selectors or None, agent=agent, list_file=list_file),
            specs=specs,
            policy=chosen,
            judge=make_judge(_judge_name(judge), _options(judge_option), judge_cache),
            out=out or Path("runs/replay") / f"{str(chosen).replace(':', '-')}.jsonl",
            concurrency=concurrency,
            seed=seed,
            search_url=search,
            resume=resume,
        )
        done = anyio.run(_run, settings, console)
    except (InputError, SessionOpenError) as error:
        console.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        console.print(
            "Interrupted. Every finished row is kept; the same command with --resume goes on.",
            style="yellow",
        )
        raise typer.Exit(130) from None
    _show(done, settings, as_json=as_json, console=console)
    if any(row["verdict"] == "system_error" for row in done.rows):
        raise typer.Exit(1)


async def _run(settings: ReplaySettings, console: Console) -> Replayed:
    try:
        await settings.judge.check()
        with _progress(f"replay {settings.policy}", console) as observe:
            return await run_replay(settings, observe)
    finally:
        await settings.judge.aclose()


def _needed(given: Path | None, name: str) -> Path:
    if given is None:
        raise InputError(f"is missing; give --{name} (or --reparse and --episodes)", field=name)
    return given


def _judge_name(text: str) -> JudgeName:
    if text not in get_args(JudgeName):
        raise InputError(
            f"write one of {', '.join(get_args(JudgeName))}", field="judge", value=text
        )
    return cast(JudgeName, text)


def _options(given: list[str] | None) -> dict[str, str]:
    found = {}
    for item in given or []:
        name, equals, value = item.partition("=")
        if not equals:
            # The whole is not shown: it may be a key.
            raise InputError("write NAME=VALUE", field="judge-option")
        found[name] = value
    return found


def _in_mode(spec: ServerSpec, mode: str) -> ServerSpec:
    if mode not in {"fork", "process"}:
        raise InputError("write fork or process", field="mode", value=mode)
    return spec if spec.mode is not None else spec.model_copy(update={"mode": mode})


@contextmanager
def _progress(label: str, console: Console) -> Iterator[Observer]:
    """A live bar on a terminal; a line for every tenth of the way elsewhere."""
    if not console.is_terminal:
        tenths = -1

        def tell(state: Progress) -> None:
            nonlocal tenths
            now = 10 * state.done // max(1, state.total)
            if now != tenths:
                tenths = now
                console.print(f"{label}: {_counts(state.outcomes)}, {state.done} of {state.total}")

        yield tell
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[counts]}"))
    with Bar(
        TextColumn("{task.description}"), *columns, TimeRemainingColumn(), console=console
    ) as bar:
        task = bar.add_task(label, total=None, counts="")

        def show(state: Progress) -> None:
            bar.update(
                task,
                total=state.total,
                completed=state.done,
                counts=_counts(state.outcomes),
            )

        yield show


def _counts(outcomes: Counter[str]) -> str:
    return (
        f"{outcomes['passed']} passed, {outcomes['failed']} failed, "
        f"{outcomes['system_error']} system errors"
    )


def _show(done: Replayed, settings: ReplaySettings, *, as_json: bool, console: Console) -> None:
    summary = _summary(done, settings)
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False, allow_nan=False))
    else:
        Console(highlight=False).print(_table(summary))
    for note in summary["notes"]:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
    broken = [row for row in done.rows if row["verdict"] == "system_error"]
    for row in broken[:20]:
        error = row["error"]
        console.print(
            f"  {row['uid']} {row['policy']}: {error['phase']}: {error['type']}: "
            f"{error['message'][:300]}",
            markup=False,
            soft_wrap=True,
        )
    if len(broken) > 20:
        console.print(f"  ... and {len(broken) - 20} more")
    if broken:
        console.print("Next: mend the cause, then the same command with --resume tries them again.")
    console.print(f"Rows: {settings.out}", markup=False, soft_wrap=True)


def _summary(done: Replayed, settings: ReplaySettings) -> dict[str, Any]:
    families: dict[str, Counter[str]] = {}
    for row in done.rows:
        families.setdefault(row["family"], Counter())[row["verdict"]] += 1
    notes = list(done.notes)
    asked = [row["judge"] for row in done.rows if row.get("judge")]
    if asked:
        questions = sum(judge["questions"] for judge in asked)
        notes.append(
            f"{questions} questions of {len(asked)} checks were answered by the judge "
            f"{asked[0]['name']}"
        )
    if done.without:
        notes.append(f"{len(done.without)} tasks have no such trajectory")
    if done.skipped:
        notes.append(f"{len(done.skipped)} tasks are tagged skip and were left out")
    return {
        "policy": str(settings.policy),
        "families": {name: dict(families[name]) for name in sorted(families)},
        "outcomes": dict(sum(families.values(), Counter())),
        "without": list(done.without),
        "skipped": list(done.skipped),
        "notes": notes,
        "made": done.made,
        "wall_s": round(done.wall_s, 3),
        "cpu_s": round(done.cpu_s, 3),
        "out": settings.out.as_posix(),
    }


def _table(summary: dict[str, Any]) -> Table:
    made = max(1, summary["made"])
    title = (
        f"Replay of {summary['policy']}: {summary['made']} trajectories in "
        f"{summary['wall_s']:.1f} s, {1000 * summary['cpu_s'] / made:.0f} ms of CPU each"
    )
    table = Table("family", title=title)
    for name in ("passed", "failed", "system_error"):
        table.add_column(name.replace("_", " "), justify="right")
    total: Counter[str] = Counter()
    for family, counts in summary["families"].items():
        total.update(counts)
        table.add_row(family, *(str(counts.get(name, 0)) for name in _OUTCOMES))
    table.add_section()
    table.add_row("all", *(str(total[name]) for name in _OUTCOMES))
    return table


_OUTCOMES = ("passed", "failed", "system_error")


def main() -> None:
    """Runs the command."""
    app(prog_name="outcomebox-replay")


if __name__ == "__main__":
    main()
