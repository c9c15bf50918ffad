r"""The report's tables for a paper: booktabs, one table environment each.

The document needs ``\usepackage{booktabs}``; the file is read with ``\input``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from outcomebox.eval.report.contents import Part, Report
from outcomebox.eval.report.tables import Cell, Table
from outcomebox.reward.pages.parts import printable

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "—": "---",
    "–": "--",  # noqa: RUF001 -- the dash of ranges
    "≥": r"$\geq$",
    "✓": "yes",
    "“": "``",
    "”": "''",
    **{each: f"\\{each}" for each in "&%$#_{}"},
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)))


def latex(report: Report) -> str:
    """All tables of a report as one text."""
    lines = ["% needs \\usepackage{booktabs}"]
    for run in report.runs:
        if not run.summary.final:
            told = run.summary.completeness.words()
            lines += [f"% {_comment(f'{run.name}: {line}')}" for line in told]
    for part in report.parts:
        for table in part.tables:
            lines += ["", *_table(table, part, final=report.final)]
    return "\n".join(lines) + "\n"


def plain(value: str) -> str:
    """Text that LaTeX prints as it is, on one line."""
    folded = " ".join(printable(value).split())
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], folded)


def _comment(value: str) -> str:
    return " ".join(printable(value).split())


def _table(table: Table, part: Part, *, final: bool) -> Iterator[str]:
    mark = "" if final else r"\textbf{Not final.} "
    title = table.title if part.title == table.title else f"{part.title}: {table.title}"
    caption = ". ".join(filter(None, (plain(title), plain(table.caption).rstrip("."))))
    notes = " ".join(
        f"{plain(column.title)}: {plain(column.note)}." for column in table.columns if column.note
    )
    yield r"\begin{table}"
    yield r"\centering"
    yield f"\\caption{{{mark}{caption}. {notes}}}".replace(". }", ".}")
    yield f"\\label{{tab:{re.sub('[^a-z0-9]+', '-', f'{part.name}-{table.name}'.lower())}}}"
    sides = "".join("r" if column.number else "l" for column in table.columns)
    yield f"\\begin{{tabular}}{{{sides}}}"
    yield r"\toprule"
    yield " & ".join(plain(column.title) for column in table.columns) + r" \\"
    yield r"\midrule"
    for row in table.rows:
        if table.total and row is table.rows[-1]:
            yield r"\midrule"
        yield " & ".join(map(_cell, row)) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"


def _cell(cell: Cell) -> str:
    under = f" {{\\scriptsize ({plain(cell.under)})}}" if cell.under else ""
    return plain(cell.text) + under
