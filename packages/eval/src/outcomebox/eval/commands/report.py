"""`outcomebox-eval report`: figures of runs as a page, Markdown, CSV, JSON and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outcomebox.eval.commands.compare import called
from outcomebox.eval.commands.shared import (
    NOT_FINAL,
    RESULTS_HELP,
    AllowIncomplete,
    AsJson,
    Attempts,
    Due,
    Fields,
    Kind,
    load_results,
    print_json,
    reported,
    say,
    stderr,
    stdout,
)
from outcomebox.eval.report_bands import read_bands
from outcomebox.sandbox.errors import InputError

if TYPE_CHECKING:
    from outcomebox.eval.report import Run, Written

EXAMPLES = """\
Examples:

  outcomebox-eval report runs/my-model
      writes report/report.html and, beside it, Markdown, CSV, JSON and LaTeX

  outcomebox-eval report runs/small runs/large --name small --name large --prices prices.yaml
      runs side by side, with what a success costs and who is on the frontier

  outcomebox-eval report runs/after --compare runs/before --out reports/after --format html,md
      with the difference, tasks gained and lost, and a verdict

  outcomebox-eval report rows.csv --expected tasks.txt --attempts 20 --by tag --by band
      a plain table of uid, repetition, passed; also by tag and difficulty band

The page needs no network. Transcripts go to report.files/ beside it, which has to be sent with it.

Exit status: 0 written; 1 written, and marked: attempts are missing, broken or unexpected; 2 bad
input; 130 interrupted.
"""
_KINDS = ("domain", "family", "tag", "band")
_FAMILIES = 16
"""Families up to which each gets a line by default: more would bury what matters."""


def report(  # noqa: PLR0917 -- typer reads the parameters as flags
    paths: Annotated[
        list[str], typer.Argument(metavar="RESULTS...", help=f"Each a run. {RESULTS_HELP}")
    ],
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What a run is called, in the order given; repeat it for each. Default: its "
            "folder's or file's name.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where to; an older report there is replaced.")
    ] = Path("report"),
    formats: Annotated[
        str, typer.Option("--format", metavar="NAMES", help="Some of html,md,csv,json,tex.")
    ] = "html,md,csv,json,tex",
    compare: Annotated[
        str | None,
        typer.Option(metavar="BASE", help="A run that each of RESULTS is compared with."),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A price file (docs/cost.md). Default: costs that sources state."
        ),
    ] = None,
    probe: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="A probe whose cost is shown on a line of its own; of one run."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help=f"{', '.join(_KINDS)}; repeat it. Default: all that tasks differ in.",
        ),
    ] = None,
    bands: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Difficulty bands of an earlier probe: its bands.csv. Default: of these attempts.",
        ),
    ] = None,
    k: Annotated[
        list[int] | None,
        typer.Option(
            "--k", metavar="N", help="The k of pass@k and pass^k. Default: 1, 2, 4 ...", min=1
        ),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="The heading.")] = "Evaluation",
    digits: Annotated[
        int, typer.Option(metavar="N", help="Decimals of shares in per cent.", min=0, max=4)
    ] = 1,
    no_transcripts: Annotated[
        bool, typer.Option("--no-transcripts", help="Without the conversations beside the page.")
    ] = False,
    kind: Kind = None,
    field: Fields = None,
    expected: Due = None,
    attempts: Attempts = None,
    level: Annotated[
        float, typer.Option(metavar="P", help="Confidence of the intervals.", min=0.5, max=0.9999)
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of the bootstrap; the same gives the same digits.")
    ] = 0,
    resamples: Annotated[
        int, typer.Option(metavar="N", help="Of the bootstrap.", min=1000, max=1_000_000)
    ] = 10_000,
    allow_incomplete: AllowIncomplete = False,
    as_json: AsJson = False,
) -> None:
    """Report on runs: rates with intervals, repeatability, failures, cost, every task.

    Figures of a run in which attempts are missing or broken are marked as not final, everywhere.
    """
    # What a report needs is loaded after what can be wrong with the options.
    from outcomebox.eval.compare.comparing import compare as compared  # noqa: PLC0415 -- as said
    from outcomebox.eval.metrics.cost import cost_line  # noqa: PLC0415 -- as said
    from outcomebox.eval.metrics.prices import load_prices, same_snapshot  # noqa: PLC0415 -- as said
    from outcomebox.eval.metrics.summary import summarize  # noqa: PLC0415 -- as said
    from outcomebox.eval.report import Run, write_report  # noqa: PLC0415 -- as said
    from outcomebox.eval.report.writing import check_formats  # noqa: PLC0415 -- as said

    console = stderr()
    with reported(console), console.status("reading") as status:
        chosen = [each.strip() for each in formats.split(",") if each.strip()]
        check_formats(chosen)
        names = called(paths, name)
        listed = None if prices is None else load_prices(prices)
        probed = None if bands is None else read_bands(bands)
        if probe is not None and len(paths) > 1:
            raise InputError("is of one run; report runs one by one", field="probe", value=probe)
        lines = [] if probe is None else [cost_line("probe", load_results([probe]), listed)]
        runs = []
        for path, label in zip(paths, names, strict=True):
            status.update(f"reading {label}")
            read = load_results([path], kind=kind, fields=field, due=expected, attempts=attempts)
            status.update(f"figures of {label}")
            figures = summarize(
                read,
                prices=listed,
                ks=k,
                by=by or tuple(_kinds(read.attempts, bands)),
                bands=probed,
                lines=lines,
                level=level,
                seed=seed,
                resamples=resamples,
            )
            runs.append(Run(label, read, figures))
        same_snapshot({run.name: run.summary.cost.basis for run in runs})
        found = []
        if compare is not None:
            status.update("comparing")
            base = load_results([compare], kind=kind, fields=field, due=expected, attempts=attempts)
            found = [
                compared(
                    base,
                    run.results,
                    names=(_base_name(compare, paths, names), run.name),
                    prices=listed,
                    level=level,
                    seed=seed,
                    resamples=resamples,
                    allow_incomplete=True,
                )
                for path, run in zip(paths, runs, strict=True)
                if path != compare
            ]
        status.update("writing")
        written = write_report(
            runs,
            out,
            comparisons=found,
            title=title,
            formats=chosen,
            digits=digits,
            transcripts=not no_transcripts,
        )
    final = all(run.summary.final for run in runs)
    if as_json:
        print_json(_json(runs, written, final=final))
    else:
        _print(runs, written)
    if not (final or allow_incomplete):
        raise typer.Exit(NOT_FINAL)


def _kinds(attempts: Any, bands: Path | None) -> Iterator[str]:
    """What tasks differ in, as far as a table of it says something."""
    tasks = attempts.unique("uid")
    yield "domain"
    if 1 < tasks.get_column("family").n_unique() <= _FAMILIES:
        yield "family"
    if tasks.get_column("tags").explode().n_unique() > 1:
        yield "tag"
    if bands is not None:
        yield "band"


def _base_name(path: str, paths: Sequence[str], names: Sequence[str]) -> str:
    if path in paths:
        return names[paths.index(path)]
    short = called([path], None)[0]
    return path if short in names else short


def _json(runs: Sequence[Run], written: Written, *, final: bool) -> dict[str, Any]:
    return {
        "final": final,
        "files": [file.as_posix() for file in written.files],
        "transcripts": written.transcripts,
        "runs": [
            {
                "name": run.name,
                "final": run.summary.final,
                "tasks": run.summary.overall.tasks,
                "attempts": run.summary.k,
                "pass@1": run.summary.overall.pass_1.value,
                "low": run.summary.overall.pass_1.population.low,
                "high": run.summary.overall.pass_1.population.high,
                "dependable": run.summary.overall.dependable.count,
                "any": run.summary.overall.any.count,
            }
            for run in runs
        ],
    }


def _print(runs: Sequence[Run], written: Written) -> None:
    from outcomebox.eval.report.headlines import headline_figures  # noqa: PLC0415 -- as above

    console = stdout()
    for run in runs:
        say(console, run.name, "bold")
        for place, line in enumerate(run.summary.completeness.words()):
            style = None if place else "bold green" if run.summary.final else "bold red"
            say(console, line, style)
        for figure in headline_figures(run, digits=1):
            notes = "; ".join(note for note in figure.notes if note)
            say(console, f"  {figure.what}: {figure.value}" + (f"  {notes}" if notes else ""))
    for file in written.files:
        say(console, f"Written: {file}")
