"""The pages: all is there, nothing of it is markup, and nothing is loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.lint.findings import Finding, LintedTask, Survivors
from outcomebox.reward.lint.report import Report as LintReport
from outcomebox.reward.pages import lint_page, regrade_page
from outcomebox.reward.pages.parts import bar, printable, share
from outcomebox.reward.regrade import Left, Regraded, Report

VOID = {"meta", "input"}
TAGS = VOID | {"html", "head", "title", "style", "body", "h1", "h2", "p", "div", "b"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td", "button", "code", "details", "summary"}
TAGS |= {"ul", "li", "svg", "rect", "select", "option", "output", "script"}
ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "class", "id", "type"}
ATTRIBUTES |= {"hidden", "placeholder", "aria-label", "value", "width", "height", "rx", "role"}
ATTRIBUTES |= {f"data-{name}" for name in ("value", "table", "code", "kind", "explained")}
ATTRIBUTES |= {f"data-{name}" for name in ("move", "why", "changed")}


class Page(HTMLParser):
    """A page taken apart; strict about what it may hold."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.codes: dict[str, str] = {}
        self.rows: dict[str, list[list[str]]] = {}
        self.policy = ""
        self._table = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        named = dict(attrs)
        assert named.keys() <= ATTRIBUTES, named
        if tag == "meta" and named.get("http-equiv"):
            self.policy = named["content"] or ""
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._table = named["id"] or ""
            self.rows[self._table] = []
        if tag == "tr":
            self.rows[self._table].append([])
        if tag in ("td", "th"):
            self.rows[self._table][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.codes[self.open[-1]] = data
            return
        self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self.rows[self._table][-1][-1] += data

    @property
    def text(self) -> str:
        return "".join(self.texts)


def looked_at(html: str) -> Page:
    """The page, once it is seen that it asks for nothing and runs its own script only."""
    page = Page(html)
    script = base64.b64encode(hashlib.sha256(page.codes["script"].encode()).digest()).decode()
    assert page.policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'"
    )
    assert not re.search(r"url\(|@import|https?:|//", page.codes["style"])
    assert not re.search(r"fetch|import|https?:|XMLHttp|innerHTML|eval", page.codes["script"])
    return page


HOSTILE = st.one_of(
    st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=12),
    st.sampled_from(
        [
            "</script><script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            '" onmouseover="alert(1)',
            "' autofocus onfocus='x",
            "</td></table><!-- ",
            "]]>&lt;&#0;&amp;",
            "\u202egnp.exe\x1b[31m\x00",
            "half \ud800 of a character",
        ]
    ),
)
NAME = st.one_of(HOSTILE, st.sampled_from(["orders", "status"]))
KEY = st.none() | st.dictionaries(NAME, st.text(max_size=9) | st.integers(), max_size=2)
FINDING = st.builds(
    Finding,
    code=HOSTILE | st.just("mutant_survives"),
    message=HOSTILE,
    mend=HOSTILE,
    table=st.none() | NAME,
    column=st.none() | NAME,
    key=KEY,
    details=st.dictionaries(NAME, HOSTILE, max_size=2),
)
SURVIVORS = st.builds(
    Survivors,
    table=NAME,
    column=st.none() | NAME,
    kind=HOSTILE,
    count=st.integers(1, 9),
    example=HOSTILE,
    key=KEY,
    explained=st.none() | HOSTILE,
)
COUNTS = st.integers(0, 9).flatmap(lambda most: st.tuples(st.just(most), st.integers(0, most)))
TASK = st.builds(
    LintedTask,
    uid=HOSTILE,
    findings=st.lists(FINDING, max_size=3).map(tuple),
    kinds=st.dictionaries(HOSTILE, COUNTS, max_size=2),
    survivors=st.lists(SURVIVORS, max_size=2).map(tuple),
)


@settings(max_examples=40, deadline=None)
@given(
    report=st.builds(
        LintReport,
        tasks=st.lists(TASK, max_size=3).map(tuple),
        notes=st.lists(HOSTILE, max_size=2).map(tuple),
    )
)
def test_a_lint_page_holds_every_finding_as_text(report: LintReport) -> None:
    data = report.to_json()
    html = lint_page(data)
    assert html == lint_page(data)
    page = looked_at(html)
    findings = [each for task in report.tasks for each in task.findings]
    rows = page.rows.get("findings", [[]])[1:]
    assert len(rows) == len(findings)
    for row, found in zip(rows, findings, strict=True):
        assert row[1] == printable(found.code)
        assert row[3].startswith(printable(found.message) + printable(found.mend))
        assert all(printable(part) in row[2] for part in (found.table, found.column) if part)
    assert [row[0] for row in page.rows["tasks"][1:]] == [
        printable(task.uid) for task in report.tasks
    ]
    for task in report.tasks:
        for each in task.survivors:
            assert printable(each.example) in page.text
            assert printable(each.explained or "") in page.text
    for note in report.notes:
        assert printable(note) in page.text


OUTCOME = st.sampled_from(["passed", "failed", "system_error"])


@st.composite
def verdicts(draw: st.DrawFn) -> dict[str, Any]:
    """A verdict as JSON."""
    outcome = draw(OUTCOME)
    reasons = draw(st.lists(HOSTILE, min_size=1, max_size=2)) if outcome == "failed" else []
    error = {"type": draw(HOSTILE), "message": draw(HOSTILE), "phase": "check"}
    return {
        "outcome": outcome,
        "reasons": [{"kind": "wrong_value", "message": message} for message in reasons],
        "details": {"error": error} if outcome == "system_error" else {},
    }


REGRADED = st.builds(
    Regraded,
    uid=HOSTILE,
    repetition=st.integers(0, 3),
    attempt=st.just(0),
    line=st.integers(1, 99),
    was=verdicts(),
    now=verdicts(),
    left=st.none(),
    why=st.sampled_from([(), ("task",), ("task", "grader")]),
)
LEFT = st.builds(
    Regraded,
    uid=HOSTILE,
    repetition=st.integers(0, 3),
    attempt=st.just(0),
    line=st.integers(1, 99),
    was=verdicts(),
    now=st.none(),
    left=st.builds(
        Left, cause=st.sampled_from(["no_state", "initial_differs", "no_task"]), message=HOSTILE
    ),
    why=st.just(()),
)


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(REGRADED | LEFT, max_size=5), name=HOSTILE)
def test_a_regrade_page_holds_every_moved_verdict_as_text(rows: list[Regraded], name: str) -> None:
    report = Report(Path("runs") / re.sub(r"[/\0]", "_", name))
    for row in rows:
        report.count(row)
    data = report.to_json()
    html = regrade_page(data)
    assert html == regrade_page(data)
    page = looked_at(html)
    moved = page.rows.get("moved", [[]])[1:]
    assert len(moved) == sum(row.moved for row in rows) == len(report.moved)
    for cells, entry in zip(moved, data["moved"], strict=True):
        assert cells[0] == printable(entry["uid"])
        assert cells[2] == f"{entry['was']['outcome']} → {entry['now']['outcome']}"
        for verdict, cell in ((entry["was"], cells[4]), (entry["now"], cells[5])):
            for reason in verdict["reasons"]:
                assert printable(reason["message"]) in cell
    assert len(page.rows.get("otherwise", [[]])[1:]) == len(report.explained_otherwise)
    for each in rows:
        if each.left is not None:
            assert printable(each.left.message) in page.text


def test_nothing_to_mend_is_said() -> None:
    page = looked_at(lint_page(LintReport(()).to_json()))
    assert "Nothing to mend." in page.text


def test_a_share_is_never_rounded_up_to_all() -> None:
    assert share(9999, 10_000) == "<100 %"
    assert share(10_000, 10_000) == "100.0 %"
    assert share(0, 0) == "—"
    assert 'class="partly" width="118"' in bar(9999, 10_000)
    assert 'class="fill" width="120"' in bar(1, 1)
