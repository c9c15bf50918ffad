"""Which verdicts moved, as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outcomebox.reward.pages.page import page
from outcomebox.reward.pages.parts import (
    Cell,
    Column,
    Row,
    bar,
    figures,
    filters,
    listed,
    number,
    paragraph,
    plain,
    table,
    text,
)


def regrade_page(report: Mapping[str, Any], title: str = "Graded again") -> str:
    """A page of a report as :meth:`outcomebox.reward.regrade.Report.to_json` gives it.

    Args:
        report: The report.
        title: The page's title.

    Returns:
        HTML, the same for the same report.
    """
    moves = {(each["was"], each["now"]): each["rows"] for each in report["verdicts"]}
    return page(
        title,
        [
            paragraph(
                f"{report['run']}: stored end states, graded with the present checks; no session "
                "was opened and no policy asked."
            ),
            figures(
                [
                    (report["rows"], "rows"),
                    (report["regraded"], "graded again"),
                    (len(report["moved"]), "verdicts moved"),
                    (moves.get(("passed", "failed"), 0), "passed → failed"),
                    (moves.get(("failed", "passed"), 0), "failed → passed"),
                    (len(report["explained_otherwise"]), "same verdict, other reasons"),
                    (report["same_reasons"], "failed for the same reasons"),
                ]
            ),
            *(paragraph(note) for note in report["notes"]),
            *_left(report["left"]),
            *_entries("moved", "Verdicts that moved", report["moved"]),
            *_tasks(report["tasks"]),
            *_entries("otherwise", "Same verdict, other reasons", report["explained_otherwise"]),
        ],
    )


def _left(left: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not left:
        return
    yield "<h2>Not graded again</h2>"
    columns = (
        Column("cause"),
        Column("rows", number=True),
        Column("meaning"),
        Column("the first of them"),
    )
    yield table("left", columns, (Row(_cause(each), {}) for each in left))


def _cause(each: Mapping[str, Any]) -> tuple[Cell, ...]:
    examples = [
        f"{one['uid']} #{one['repetition']} (line {one['line']}): {one['message']}"
        for one in each["examples"]
    ]
    return (
        plain(each["cause"]),
        number(each["rows"]),
        plain(each["meaning"]),
        Cell(listed(examples)),
    )


def _entries(name: str, title: str, entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not entries:
        return
    yield f"<h2>{text(title)}</h2>"
    moves = {_move(each) for each in entries}
    yield filters(name, {"move": moves, "why": {_why(each) for each in entries}})
    columns = (
        Column("task"),
        Column("repetition", number=True),
        Column("verdict"),
        Column("changed since"),
        Column("reasons then"),
        Column("reasons now"),
    )
    yield table(name, columns, (Row(_entry(each), _marks(each)) for each in entries))


def _marks(each: Mapping[str, Any]) -> dict[str, str]:
    return {"move": _move(each), "why": _why(each)}


def _entry(each: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        plain(each["uid"]),
        number(each["repetition"]),
        plain(_move(each)),
        plain(_why(each)),
        _reasons(each["was"]),
        _reasons(each["now"]),
    )


def _move(each: Mapping[str, Any]) -> str:
    was, now = each["was"]["outcome"], each["now"]["outcome"]
    return f"{was} → {now}" if was != now else f"{was}"


def _why(each: Mapping[str, Any]) -> str:
    return ", ".join(each["why"]) or "nothing recorded"


def _reasons(verdict: Mapping[str, Any]) -> Cell:
    said = [reason["message"] or reason["kind"] for reason in verdict["reasons"]]
    if "error" in verdict:
        error = verdict["error"]
        said.append(f"{error['phase']}: {error['type']}: {error['message']}")
    return Cell(listed(said) if said else "—")


def _tasks(tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not tasks:
        return
    yield "<h2>Tasks</h2>"
    yield filters("tasks", {"changed": ("yes", "no")})
    columns = (
        Column("task"),
        Column("passed before", number=True),
        Column("before"),
        Column("passed now", number=True),
        Column("now"),
    )
    yield table("tasks", columns, (Row(_task(each), _changed(each)) for each in tasks))


def _task(each: Mapping[str, Any]) -> tuple[Cell, ...]:
    cells = [plain(each["uid"])]
    for passed, clean in (each["before"], each["after"]):
        value = passed / clean if clean else -1.0
        cells += [Cell(text(f"{passed} of {clean}"), value), Cell(bar(passed, clean), value)]
    return tuple(cells)


def _changed(each: Mapping[str, Any]) -> dict[str, str]:
    return {"changed": "no" if each["before"] == each["after"] else "yes"}
