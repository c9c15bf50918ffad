"""`outcomebox-select`: bands, pool and split from recorded episodes, without running a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from outcomebox.selection.curate import Selection
from outcomebox.selection.edges import parse_edges
from outcomebox.selection.errors import EmptyPoolError, InputError, SelectionError
from outcomebox.selection.explain import explain, explain_json, find_decision
from outcomebox.selection.inputs import read_inputs
from outcomebox.selection.provenance import Provenance
from outcomebox.selection.rerun import rerun
from outcomebox.selection.settings_file import COMMAND_LINE, load_curation
from outcomebox.selection.summary import summary, summary_json
from outcomebox.selection.terminal import probes_spent, strip
from outcomebox.selection.uncollected import uncollected
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
  outcomebox-select --episodes runs/probe --tasks tasks/ --exclude-content benchmark.jsonl
      leave out a benchmark's tasks and near copies of them
  outcomebox-select --episodes 'all/*.parquet' --policy my-model --reference-model runs/strong
      of several policies one decides; a stronger model shows which tasks can be solved
  outcomebox-select --episodes runs/probe --compare-edges .05,.4,.6,.95 --show-tasks
      what would other edges keep, and what would that give? And a line for each task
  outcomebox-select --rerun pools/first
      are inputs and outputs what the manifest says, and do they come out the same again?

Exit status: 0 done; 1 --rerun found a difference; 2 something cannot be used, or no task was kept.
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def select(  # noqa: PLR0917 -- typer reads the parameters as flags
    more_episodes: Annotated[
        list[str] | None,
        typer.Argument(metavar="EPISODES", help="More of --episodes, for an expanded glob."),
    ] = None,
    episodes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Recorded episodes: files (JSONL, Parquet, index of a run), run folders or globs.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Whose episodes decide, where the rows are of several policies."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(metavar="outcomebox|thinkingbox", help="Who wrote the rows."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=NAME", help="Where rows have a field, dotted, as in domain=meta.area."
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Task list (tasks.jsonl), to see unprobed tasks. Default: the episodes' own. Task "
            "files and folders tell the texts for --exclude-content.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Episodes of the golden actions; tasks they fail are dropped."
        ),
    ] = None,
    reference_model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Episodes of a stronger model; tasks it cannot solve are dropped."
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
    exclude_content: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="Tasks never to select, nor near copies of them (a benchmark)."
        ),
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(metavar="exact|near", help="Which copies among the tasks are left out."),
    ] = None,
    test_fraction: Annotated[float | None, typer.Option(help="Share of the test side.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the split.")] = None,
    group_size: Annotated[
        int | None, typer.Option(help="Attempts in a training group, for the prediction.")
    ] = None,
    step_groups: Annotated[
        int | None, typer.Option(help="Groups in a training step, for the prediction.")
    ] = None,
    compare_edges: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDGES",
            help="Other band edges to compare, such as .05,.4,.6,.95; may be repeated.",
        ),
    ] = None,
    show_tasks: Annotated[
        bool, typer.Option("--show-tasks", help="Also a line for each task, and the runs spent.")
    ] = False,
    explain_uid: Annotated[
        str | None, typer.Option("--explain", metavar="UID", help="Explain one task instead.")
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option("--rerun", metavar="DIR", help="Check a written pool, and make it again."),
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
        "sources.policy": policy,
        "sources.form": form,
        "sources.tasks": tasks or None,
        "sources.reference": reference or None,
        "sources.reference_model": reference_model or None,
        "bands.retain": retain or None,
        "gates.min_clean_runs": min_clean_runs,
        "gates.duplicates": duplicates,
        "exclude.lists": exclude or None,
        "exclude.content": exclude_content or None,
        "split.test_fraction": test_fraction,
        "split.seed": seed,
        "group_size": group_size,
        "predict.groups": step_groups,
    }
    try:
        overrides["predict.edges"] = [_edges(text) for text in compare_edges or ()] or None
        if again is not None:
            raise typer.Exit(_rerun(again, as_json=as_json))
        overrides |= {f"sources.fields.{name}": value for name, value in _pairs(field)}
        inputs = read_inputs(load_curation(config, overrides))
        empty: EmptyPoolError | None = None
        try:
            selection = inputs.select(None if explain_uid else inputs.tries())
        except EmptyPoolError as error:
            # The bands say why nothing is left, so they are shown before the command fails.
            empty, selection = error, error.selection
        _show(selection, inputs.provenance, explain_uid, out, as_json=as_json)
        if show_tasks and not as_json and explain_uid is None:
            _print({}, probes_spent(selection), as_json=False)
            _print({}, strip(selection), as_json=False)
        if empty is not None and explain_uid is None:
            raise empty
    except SelectionError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


def _pairs(given: list[str] | None) -> list[tuple[str, str]]:
    """`FIELD=NAME` flags as pairs.

    Raises:
        InputError: one is no such pair.
    """
    pairs = []
    for pair in given or ():
        name, sign, value = pair.partition("=")
        if not sign or not name or not value:
            raise InputError(COMMAND_LINE, "--field", f"{pair!r} is no pair", "Write FIELD=NAME")
        pairs.append((name, value))
    return pairs


def _edges(text: str) -> list[float]:
    """Edges of a flag.

    Raises:
        InputError: they are none.
    """
    try:
        return parse_edges(text)
    except ValueError as error:
        problem = str(error).split("; ", maxsplit=1)[0]
        raise InputError(
            COMMAND_LINE, "--compare-edges", f"{text!r}: {problem}", "Write .05,.4,.6,.95"
        ) from None


def _rerun(folder: Path, *, as_json: bool) -> int:
    """Checks a written selection and makes it again; returns the exit status."""
    found = rerun(folder)
    plain = {"same": not found.differences, "differences": list(found.differences)}
    text = "\n".join(found.differences) or (
        f"{folder}: {found.files} files are what the manifest says, and come out the same again."
    )
    _print(plain | {"files": found.files}, text, as_json=as_json)
    return 1 if found.differences else 0


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
    with uncollected():
        app(prog_name="outcomebox-select")


if __name__ == "__main__":
    main()
