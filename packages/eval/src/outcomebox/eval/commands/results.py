"""`outcomebox-eval results`: read results of any kind, prove them complete, convert them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table

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
from outcomebox.eval.completeness import Completeness, completeness
from outcomebox.eval.results import Results, by_task
from outcomebox.eval.writing import write_results

EXAMPLES = """\
Examples:

  outcomebox-eval results runs/my-model
      is every attempt that was due there, once, with a verdict?

  outcomebox-eval results rows.csv --expected tasks.txt --attempts 20
      the same of a plain table of uid, repetition, passed

  outcomebox-eval results tb.jsonl --field domain=metadata.scenario --out tb.parquet
      rows of ThinkingBox's `tb infer`, converted

  outcomebox-eval results log.json --field passed=match
      a log of Inspect, of whose scorers `match` is the verdict

Exit status: 0 complete; 1 attempts are missing, broken or unexpected; 2 bad input.
"""


def results(  # noqa: PLR0917 -- typer reads the parameters as flags
    paths: Annotated[list[str], typer.Argument(metavar="RESULTS", help=RESULTS_HELP)],
    kind: Kind = None,
    field: Fields = None,
    expected: Due = None,
    attempts: Attempts = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the table of tries there: .parquet, .csv or .jsonl."
        ),
    ] = None,
    counts: Annotated[
        bool,
        typer.Option(
            "--counts",
            help="Read of our own runs the index alone: what is there and how it ended.",
        ),
    ] = False,
    allow_incomplete: AllowIncomplete = False,
    as_json: AsJson = False,
) -> None:
    """Read results, say what is in them, and prove that nothing is missing or doubled.

    A row that contradicts itself or another is an error that names it: no such row ever becomes a
    number.
    """
    console = stderr()
    with reported(console):
        found = load_results(
            paths, kind=kind, fields=field, due=expected, attempts=attempts, counts=counts
        )
        proof = completeness(found)
        if out is not None:
            write_results(found, out)
    if as_json:
        print_json(_json(found, proof, out))
    else:
        _print(found, proof)
    if out is not None:
        say(console, f"Written: {out}")
    if not (proof.final or allow_incomplete):
        raise typer.Exit(NOT_FINAL)


def _json(found: Results, proof: Completeness, out: Path | None) -> dict[str, Any]:
    return {
        "sources": [
            {
                "path": each.path,
                "kind": each.kind,
                "sha256": each.sha256,
                "rows": each.rows,
                "torn": each.torn,
            }
            for each in found.source
        ],
        "outcomes": _outcomes(found.attempts),
        "superseded": int(found.attempts.get_column("superseded").sum()),
        "completeness": proof.to_json(),
        "domains": by_domain(found).to_dicts(),
        "notes": list(found.notes),
        "written": None if out is None else out.as_posix(),
    }


def _outcomes(rows: pl.DataFrame) -> dict[str, int]:
    counts = rows.group_by("outcome").len()
    told = dict(counts.with_columns(pl.col("outcome").cast(pl.String)).iter_rows())
    return {name: int(told.get(name, 0)) for name in ("passed", "failed", "system_error")}


def by_domain(found: Results) -> pl.DataFrame:
    """Counts by domain: tasks, attempts that passed and that failed, and those without a result."""
    return (
        by_task(found)
        .group_by("domain")
        .agg(
            tasks=pl.len(),
            passed=pl.col("passed").sum(),
            failed=pl.col("clean").sum() - pl.col("passed").sum(),
            broken=pl.col("errors").sum(),
            missing=pl.col("missing").sum(),
        )
        .sort("domain")
    )


def _print(found: Results, proof: Completeness) -> None:
    console = stdout()
    for source in found.source:
        torn = f", {source.torn} cut off" if source.torn else ""
        say(console, f"{source.path}: {source.rows} rows ({source.kind}){torn}")
    outcomes = _outcomes(found.attempts)
    superseded = int(found.attempts.get_column("superseded").sum())
    line = f"tries: {outcomes['passed']} passed, {outcomes['failed']} failed, "
    line += f"{outcomes['system_error']} system errors"
    say(console, line + (f"; {superseded} clean ones superseded" if superseded else ""))
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("domain", "tasks", "passed", "failed", "broken", "missing"):
        table.add_column(name, justify="left" if name == "domain" else "right")
    for row in by_domain(found).iter_rows():
        table.add_row(*map(str, row))
    console.print(table)
    for number, words in enumerate(proof.words()):
        style = None if number else "bold green" if proof.final else "bold red"
        say(console, words, style)
    for note in found.notes:
        say(console, f"Note: {note}", "yellow")
