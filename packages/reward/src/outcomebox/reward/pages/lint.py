"""What a linter found, as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from outcomebox.reward.pages.page import page
from outcomebox.reward.pages.parts import (
    Cell,
    Column,
    Row,
    bar,
    figures,
    filters,
    number,
    paragraph,
    plain,
    share,
    table,
    text,
)

_COUNTS = ("mutants", "killed", "survived", "explained", "equivalent", "judged")


def lint_page(report: Mapping[str, Any], title: str = "Are the checks right?") -> str:
    """A page of a report in the form that :mod:`outcomebox.reward.lint.report` describes.

    Args:
        report: The report.
        title: The page's title.

    Returns:
        HTML, the same for the same report.
    """
    totals = report["totals"]
    return page(
        title,
        [
            paragraph(
                f"Mutated end states, graded without a model; a check has to notice each. Seed "
                f"{report['seed']}."
            ),
            figures(
                [
                    (share(totals["killed"], totals["mutants"]), "mutation score"),
                    (totals["tasks"], "tasks"),
                    (totals["findings"], "findings"),
                    *((totals[name], name) for name in _COUNTS),
                ]
            ),
            *(paragraph(note) for note in report["notes"]),
            *_findings(report),
            *_kinds(report),
            *_tasks(report),
            *_survivors(report),
        ],
    )


def _findings(report: Mapping[str, Any]) -> Iterator[str]:
    if not report["codes"]:
        yield "<p>Nothing to mend.</p>"
        return
    yield "<h2>Findings by code</h2>"
    columns = (Column("code"), Column("findings", number=True), Column("meaning"))
    yield table(
        "codes",
        columns,
        (
            Row((plain(code), number(count), plain(report["meanings"].get(code, ""))), {})
            for code, count in report["codes"].items()
        ),
    )
    yield "<h2>Findings</h2>"
    yield filters("findings", {"code": report["codes"]})
    yield table(
        "findings",
        (Column("task"), Column("code"), Column("where"), Column("what is wrong, and the mend")),
        (
            Row(_finding(task["uid"], each), {"code": each["code"]})
            for task in report["tasks"]
            for each in task["findings"]
        ),
    )


def _finding(uid: str, found: Mapping[str, Any]) -> tuple[Cell, ...]:
    said = f'{text(found["message"])}<p class="mend">{text(found["mend"])}</p>'
    if found["details"]:
        shown = json.dumps(found["details"], ensure_ascii=False, sort_keys=True, indent=1)
        said += f"<details><summary>details</summary><code>{text(shown)}</code></details>"
    return (
        plain(uid),
        Cell(f'<code class="bad">{text(found["code"])}</code>'),
        _place(found),
        Cell(said),
    )


def _place(found: Mapping[str, Any]) -> Cell:
    key = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in (found["key"] or {}).items()
    )
    parts = [found["table"], key, found["column"]]
    return plain(" ".join(str(part) for part in parts if part))


def _kinds(report: Mapping[str, Any]) -> Iterator[str]:
    kinds: dict[str, list[int]] = {}
    for task in report["tasks"]:
        for kind, counts in task["kinds"].items():
            sums = kinds.setdefault(kind, [0, 0])
            sums[0] += counts["mutants"]
            sums[1] += counts["killed"]
    if kinds:
        yield "<h2>Killed by kind of mutant</h2>"
        columns = (Column("kind"), *_SHARES)
        yield table(
            "kinds",
            columns,
            (Row((plain(kind), *_share(*kinds[kind])), {}) for kind in sorted(kinds)),
        )


def _tasks(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Tasks</h2>"
    yield filters("tasks", {})
    columns = (
        Column("task"),
        *_SHARES,
        Column("explained", number=True),
        Column("findings", number=True),
    )
    yield table(
        "tasks",
        columns,
        (
            Row(
                (
                    plain(task["uid"]),
                    *_share(task["mutants"], task["killed"]),
                    number(task["explained"]),
                    number(len(task["findings"])),
                ),
                {},
            )
            for task in report["tasks"]
        ),
    )


def _survivors(report: Mapping[str, Any]) -> Iterator[str]:
    survivors = [(task["uid"], each) for task in report["tasks"] for each in task["survivors"]]
    if not survivors:
        return
    yield "<h2>Survivors</h2>"
    yield paragraph("Wrong ends that a check accepts, and the reason where the task gives one.")
    yield filters(
        "survivors", {"kind": {each["kind"] for _, each in survivors}, "explained": ("yes", "no")}
    )
    columns = (
        Column("task"),
        Column("kind"),
        Column("where"),
        Column("mutants", number=True),
        Column("the first of them"),
        Column("explained"),
    )
    yield table(
        "survivors",
        columns,
        (
            Row(
                (
                    plain(uid),
                    plain(each["kind"]),
                    _place(each),
                    number(each["count"]),
                    plain(each["example"]),
                    plain(each["explained"] or "—"),
                ),
                {
                    "kind": each["kind"],
                    "explained": "no" if each["explained"] is None else "yes",
                },
            )
            for uid, each in survivors
        ),
    )


_SHARES = (
    Column("share killed"),
    Column("score", number=True),
    Column("killed", number=True),
    Column("mutants", number=True),
)


def _share(mutants: int, killed: int) -> tuple[Cell, ...]:
    value = killed / mutants if mutants else -1.0
    return (
        Cell(bar(killed, mutants), value),
        Cell(text(share(killed, mutants)), value),
        number(killed),
        number(mutants),
    )
