"""`outcomebox-select`: bands, pool and split from recorded episodes, without running a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from outcomebox.selection.curate import Selection, curate
from outcomebox.selection.curation import Curation
from outcomebox.selection.episodes import Episodes, find_episode_files, read_episodes
from outcomebox.selection.errors import EmptyPoolError, InputError, SelectionError
from outcomebox.selection.explain import explain, explain_json, find_decision
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.results import TaskResult, task_results
from outcomebox.selection.settings_file import COMMAND_LINE, load_curation, resolve_excluded
from outcomebox.selection.summary import summary, summary_json
from outcomebox.selection.tasks import TaskInfo, read_tasks
from outcomebox.selection.write import write_selection

# The line with the backspace keeps the lines below it as they are.
EXAMPLES = """\
\b
Examples:
  outcomebox-select --episodes runs/probe
      look at the bands, write nothing
  outcomebox-select --episodes runs/probe --out pools/first
      write train.yaml, test.yaml, bands.csv, bands.png and a manifest
  outcomebox-select --episodes 'runs/*/episodes.jsonl' --config curation.yaml
      several runs of one policy, settings from a file
  outcomebox-select --episodes runs/probe --retain intermediate --json
      another choice of bands, for a program
  outcomebox-select --episodes runs/probe --explain retail/returns/12
      why one task is in or out

Exit status: 0 done; 2 something cannot be used, or no task was kept.
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True)
class Inputs:
    """Everything a selection is made from, read.

    Attributes:
        tasks: the tasks to choose from.
        results: what their probes came to.
        curation: the settings, exclusion lists resolved.
        reference: results of the golden actions, if there are any.
        provenance: where all this came from.
    """

    tasks: tuple[TaskInfo, ...]
    results: tuple[TaskResult, ...]
    curation: Curation
    reference: tuple[TaskResult, ...] | None
    provenance: Provenance

    def select(self) -> Selection:
        """Makes the selection; see `curate`."""
        return curate(self.tasks, self.results, self.curation, reference=self.reference)


def read_inputs(curation: Curation) -> Inputs:
    """Reads what the settings name.

    Args:
        curation: settings with `sources.episodes`.

    Raises:
        InputError: if something cannot be used.
    """
    if not curation.sources.episodes:
        raise InputError(
            COMMAND_LINE,
            "--episodes",
            "is missing",
            "Name episodes.jsonl files, or set sources.episodes in the settings",
        )
    resolved, lists = resolve_excluded(curation)
    episodes = _episodes(curation.sources.episodes)
    reference = _episodes(curation.sources.reference) if curation.sources.reference else None
    return Inputs(
        tasks=_tasks(curation, episodes),
        results=task_results(episodes),
        curation=resolved,
        reference=None if reference is None else task_results(reference),
        provenance=Provenance.of(episodes, reference, lists),
    )


def _episodes(patterns: tuple[str, ...]) -> Episodes:
    return read_episodes(find_episode_files(patterns))


def _tasks(curation: Curation, episodes: Episodes) -> tuple[TaskInfo, ...]:
    """The task lists that the settings name; the tasks of the episodes where there is none."""
    lists = [Path(name) for name in curation.sources.tasks if name.endswith(".jsonl")]
    if not lists:
        return episodes.tasks
    found: dict[str, tuple[TaskInfo, Path]] = {}
    for path in lists:
        for task in read_tasks(path):
            known, first = found.setdefault(task.uid, (task, path))
            if known != task:
                raise InputError(
                    str(path), "uid", f"{task.uid!r} differs from the one in {first}", "Keep one"
                )
    return tuple(task for task, _ in found.values())


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def select(  # noqa: PLR0917 -- typer reads the parameters as flags
    more_episodes: Annotated[
        list[str] | None,
        typer.Argument(metavar="EPISODES", help="More of --episodes, for an expanded glob."),
    ] = None,
    episodes: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Recorded episodes: files, run folders or globs."),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Task list (tasks.jsonl), to see unprobed tasks. Default: the episodes' own.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Episodes of the golden actions; tasks they fail are dropped."
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings; flags win over them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the pool here. Default: write nothing."),
    ] = None,
    retain: Annotated[
        list[str] | None, typer.Option(metavar="BAND", help="Band to keep; may be repeated.")
    ] = None,
    min_clean_runs: Annotated[
        int | None, typer.Option(help="Clean runs a task needs to have a band.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Uids never to select: text, or a pool such as test.yaml."
        ),
    ] = None,
    test_fraction: Annotated[float | None, typer.Option(help="Share of the test side.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the split.")] = None,
    group_size: Annotated[
        int | None, typer.Option(help="Attempts in a training group, for the prediction.")
    ] = None,
    explain_uid: Annotated[
        str | None, typer.Option("--explain", metavar="UID", help="Explain one task instead.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the table.")
    ] = False,
) -> None:
    """Compute difficulty bands from recorded episodes and write the tasks worth training on.

    No model is run. The same episodes and settings give the same files, byte for byte.
    """
    overrides: dict[str, Any] = {
        "sources.episodes": [*(episodes or ()), *(more_episodes or ())] or None,
        "sources.tasks": tasks or None,
        "sources.reference": reference or None,
        "bands.retain": retain or None,
        "gates.min_clean_runs": min_clean_runs,
        "exclude.lists": exclude or None,
        "split.test_fraction": test_fraction,
        "split.seed": seed,
        "group_size": group_size,
    }
    try:
        inputs = read_inputs(load_curation(config, overrides))
        empty: EmptyPoolError | None = None
        try:
            selection = inputs.select()
        except EmptyPoolError as error:
            # The bands say why nothing is left, so they are shown before the command fails.
            empty, selection = error, error.selection
        _show(selection, inputs.provenance, explain_uid, out, as_json=as_json)
        if empty is not None and explain_uid is None:
            raise empty
    except SelectionError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


def _show(
    selection: Selection,
    provenance: Provenance,
    explain_uid: str | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Prints a selection or one task of it; writes the selection if it has a pool."""
    if explain_uid is not None:
        decision = find_decision(selection, explain_uid)
        _print(explain_json(selection, decision), explain(selection, decision), as_json=as_json)
        return
    written: tuple[Path, ...] = ()
    if out is not None and selection.kept:
        written = write_selection(selection, out, provenance)
    step = _next_step(out) if selection.kept else None
    _print(
        summary_json(selection, provenance, written),
        summary(selection, provenance, written, step),
        as_json=as_json,
    )


def _print(plain: dict[str, Any], rendered: RenderableType, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(plain, ensure_ascii=False, allow_nan=False))
    else:
        Console(highlight=False).print(rendered)


def _next_step(out: Path | None) -> str:
    if out is None:
        return "add --out DIR to write the pool, or --explain UID to see why a task is in or out."
    return f"train on {out / 'train.yaml'} and hold out {out / 'test.yaml'}."


def main() -> None:
    """Runs the command."""
    app(prog_name="outcomebox-select")


if __name__ == "__main__":
    main()
