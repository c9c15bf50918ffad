"""The report as Markdown, with its pictures as files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from outcomebox.eval.report.contents import Report
from outcomebox.eval.report.headlines import Headline, headline_figures, sentence
from outcomebox.eval.report.plots import Picture
from outcomebox.eval.report.run import Run
from outcomebox.eval.report.tables import Cell, Table
from outcomebox.reward.pages.parts import printable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&])")


def markdown(report: Report, *, pictures: str) -> str:
    """A report as one text.

    Args:
        report: The report.
        pictures: The folder of its pictures, as a link names it.
    """
    runs = report.runs
    lines = [f"# {plain(report.title)}", "", plain(sentence(runs)), ""]
    for run in runs:
        lines += _state(run, named=len(runs) > 1)
    for run in runs:
        figures = headline_figures(run, digits=report.digits)
        lines += _headlines(figures, run.name if len(runs) > 1 else "")
    for part in report.parts:
        lines += [f"## {plain(part.title)}", ""]
        if part.kind == "comparison":
            lines += [f"**Verdict.** {plain(report.comparisons[part.place].verdict)}", ""]
        for picture in part.pictures:
            lines += [_picture(picture, pictures), ""]
        for table in part.tables:
            lines += [*_table(table), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def plain(value: str) -> str:
    """Text that Markdown takes as text, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(printable(value).split()))


def _state(run: Run, *, named: bool) -> Iterator[str]:
    head, *rest = run.summary.completeness.words()
    prefix = f"{plain(run.name)}: " if named else ""
    yield f"> **{prefix}{plain(head)}**" + "".join(f" {plain(line)}" for line in rest)
    yield ""
    for note in run.summary.notes:
        yield f"> {prefix}{plain(note)}"
        yield ""


def _headlines(figures: Iterator[Headline], name: str) -> Iterator[str]:
    yield f"| {plain(name)} | figure | interval and count |"
    yield "| --- | ---: | --- |"
    for each in figures:
        notes = "; ".join(plain(note) for note in each.notes if note)
        yield f"| {plain(each.what)} | {plain(each.value)} | {notes} |"
    yield ""


def _picture(picture: Picture, folder: str) -> str:
    return f"![{plain(picture.words)}]({folder}/{picture.name}.svg)"


def _table(table: Table) -> Iterator[str]:
    yield f"### {plain(table.title)}"
    yield ""
    if table.caption:
        yield plain(table.caption)
        yield ""
    heads = (
        plain(column.title) + (f"<br>{plain(column.note)}" if column.note else "")
        for column in table.columns
    )
    yield f"| {' | '.join(heads)} |"
    yield "| " + " | ".join("---:" if column.number else "---" for column in table.columns) + " |"
    for row in table.rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(cell: Cell) -> str:
    return plain(cell.text) + (f" ({plain(cell.under)})" if cell.under else "")
