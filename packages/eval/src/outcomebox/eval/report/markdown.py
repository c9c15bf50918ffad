"""The report as Markdown, with its pictures as files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from outcomebox.eval.compare.model import Comparison
from outcomebox.eval.report.contents import Part
from outcomebox.eval.report.html import Headline
from outcomebox.eval.report.plots import Picture
from outcomebox.eval.report.run import Run
from outcomebox.eval.report.sections import headline_figures, sentence
from outcomebox.eval.report.tables import Cell, Table
from outcomebox.reward.pages.parts import printable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&])")


def markdown(
    title: str,
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    parts: Sequence[Part],
    *,
    digits: int,
    pictures: str,
) -> str:
    """The report as one text.

    Args:
        title: Its heading.
        runs: The runs.
        comparisons: What is compared.
        parts: Tables and pictures under their headings.
        digits: Decimals of shares.
        pictures: The folder of the pictures, as a link names it.
    """
    lines = [f"# {plain(title)}", "", plain(sentence(runs)), ""]
    for run in runs:
        lines += _state(run, named=len(runs) > 1)
    for run in runs:
        lines += _headlines(headline_figures(run, digits=digits), run.name if len(runs) > 1 else "")
    verdicts = {
        f"{found.new.name} against {found.base.name}": found.verdict for found in comparisons
    }
    for part in parts:
        lines += [f"## {plain(part.title)}", ""]
        if part.title in verdicts:
            lines += [f"**Verdict.** {plain(verdicts[part.title])}", ""]
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
