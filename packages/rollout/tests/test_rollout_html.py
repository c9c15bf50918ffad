"""A run's page: all is there, nothing of it is markup or code, equal rows give equal bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from outcomebox.rollout.commands import html as command
from outcomebox.rollout.pages import Page, write_page
from outcomebox.rollout.pages.escaping import data, text
from outcomebox.sandbox import InputError
from shown_rows import first_of, real_rows, write_run

CALLED = re.compile(r"outcomebox\((\d+),(\"[^\n]*\")\)\n")


class Parts(HTMLParser):
    """A page taken apart."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.links: list[str | None] = []
        self.policy = ""
        self.words = ""
        self._in: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.handlers += [name for name in named if name.startswith("on")]
        self.links += [value for name, value in named.items() if name in ("src", "href")]
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""
        if tag == "script":
            self.scripts.append((named, ""))
        self._in = tag

    def handle_endtag(self, tag: str) -> None:
        self._in = None

    def handle_data(self, found: str) -> None:
        if self._in == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + found)
        elif self._in != "style":
            self.words += found

    def held(self, name: str) -> Any:
        """The data of a script element."""
        return next(
            json.loads(body) for attributes, body in self.scripts if attributes.get("id") == name
        )


def parts_of(page: Page) -> tuple[Parts, list[dict[str, Any]]]:
    """A page, and its conversations, wherever they stand."""
    html = Parts(page.path.read_text(encoding="utf-8"))
    if page.files is None:
        chunks = [a["id"] for a, _ in html.scripts if (a.get("id") or "").startswith("chunk-")]
        return html, [html.held(str(name)) for name in chunks]
    found = []
    for number, file in enumerate(sorted(page.files.iterdir())):
        called = CALLED.fullmatch(file.read_text(encoding="ascii"))
        assert called is not None
        assert int(called[1]) == number == int(file.stem)
        assert not set("<>&") & set(called[2])
        found.append(json.loads(json.loads(called[2])))
    return html, found


def checked(page: Page) -> tuple[Parts, list[dict[str, Any]]]:
    """A page, once it is seen that it runs its own script only and loads nothing from anywhere."""
    html, chunks = parts_of(page)
    own = [body for attributes, body in html.scripts if "type" not in attributes]
    assert len(own) == 1
    seal = base64.b64encode(hashlib.sha256(own[0].encode()).digest()).decode()
    beside = "" if page.files is None else " 'self' file:"
    assert html.policy == (
        f"default-src 'none'; script-src 'sha256-{seal}'{beside}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not html.handlers
    assert all((link or "").startswith("#") for link in html.links)
    assert not {"iframe", "img", "link", "object", "embed", "form", "base"} & set(html.tags)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|eval\(|fetch\(|https?:", own[0])
    return html, chunks


def made(rows: Any, folder: Path, *, beside: bool, title: str = "A run") -> Page:
    """A page of rows."""
    return write_page(rows, folder / "page.html", title=title, beside=beside)


@pytest.mark.parametrize("beside", [False, True])
def test_all_episodes_are_there(tmp_path: Path, beside: bool) -> None:
    rows = real_rows()
    html, chunks = checked(made(rows, tmp_path, beside=beside))
    index = html.held("index")
    assert (index["files"] is None) == (not beside)
    keys = []
    for task, repetition, attempt, *_, chunk, within, note, _ in index["rows"]:
        episode = chunks[chunk]["episodes"][within]
        assert (episode["uid"], episode["repetition"], episode["try"]) == (
            index["tasks"][task][0],
            repetition,
            attempt,
        )
        assert bool(note) == (episode["outcome"] != "passed")
        keys.append((episode["uid"], repetition, attempt))
    assert keys == sorted((row["uid"], row["repetition"], row["try"]) for row in rows)
    said = next(row["messages"][0]["content"] for row in rows)
    assert said in chunks[0]["texts"]
    assert "The policy is simulated" in html.words


def test_system_errors_stand_apart(tmp_path: Path) -> None:
    page = made(real_rows(), tmp_path, beside=False)
    counts = page.index.outcomes
    assert sum(counts.values()) == 12
    assert counts["system_error"] == 1
    assert page.index.retried == 2  # one attempt was broken twice, one once
    html, _ = checked(page)
    clean = counts["passed"] + counts["failed"]
    assert f"{100 * counts['passed'] / clean:.1f} %" in html.words
    assert "no verdict" in html.words


@pytest.mark.parametrize("beside", [False, True])
def test_the_same_rows_give_the_same_bytes(tmp_path: Path, beside: bool) -> None:
    def content(name: str) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        made(iter(real_rows()), folder, beside=beside)
        return {
            str(file.relative_to(folder)): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }

    assert content("one") == content("two")


def test_a_page_is_written_over_and_nothing_else_is(tmp_path: Path) -> None:
    made(real_rows(), tmp_path, beside=True)
    made(real_rows()[:2], tmp_path, beside=True)
    assert [each.name for each in (tmp_path / "page.files").iterdir()] == ["00000.js"]
    made(real_rows()[:2], tmp_path, beside=False)
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    before = (tmp_path / "page.html").read_bytes()
    (tmp_path / "page.files").mkdir()
    (tmp_path / "page.files" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="something else"):
        made(real_rows(), tmp_path, beside=True)

    def breaking() -> Any:
        yield real_rows()[0]
        raise InputError("line 2 is damaged")

    (tmp_path / "page.files" / "notes.txt").unlink()
    with pytest.raises(InputError, match="damaged"):
        made(breaking(), tmp_path, beside=True)
    with pytest.raises(InputError, match="no row"):
        made([], tmp_path, beside=False)
    assert (tmp_path / "page.html").read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["page.files", "page.html"]


HOSTILE = st.one_of(
    st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=12),
    st.sampled_from(
        [
            "</script><script>alert(1)</script>",
            "<!--<script>",
            "<img src=x onerror=alert(1)>",
            '" onmouseover="alert(1)',
            "]]>&lt;&#0;&amp;",
            "\u2028\u2029",
            "\\u003c/script\\u003e",
            "\u202egnp.exe\x1b[31m\x00",
            "half \ud800 of a character",
            "__proto__",
        ]
    ),
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | HOSTILE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(value=VALUE)
def test_data_is_json_that_ends_no_script(value: Any) -> None:
    written = data(value)
    assert written.isascii()
    assert not set("<>&\n") & set(written)
    again = json.loads(written)
    assert data(again) == written
    assert not set("<>\"'") & set(text(json.dumps(value)))


def hostile_row(some: list[str], value: Any) -> dict[str, Any]:
    """A row with these words everywhere."""
    one, two, three = some
    return {
        "uid": one,
        "domain": two,
        "family": three,
        "tags": some,
        "verdict": {
            "outcome": "failed",
            "reasons": [{"kind": two, "message": one, "table": three, "expected": value}],
            "details": {one: two},
        },
        "finish_reason": three,
        "messages": [
            {"role": "system", "content": one * 200},
            {"role": two, "content": three},
            {
                "role": "assistant",
                "content": one,
                "reasoning": two,
                "raw": three,
                "tool_calls": [{"id": one, "name": two, "arguments": {three: value}}],
            },
            {"role": "tool", "tool_call_id": one, "content": two},
        ],
        "changes": [
            {"op": one, "table": two, "key": {three: value}, "new": {one: value}, "calls": [0]}
        ],
        "calls": [two],
        "effects": {one: value},
        "policy": {"name": one, "simulated": True},
        "error": {"type": one, "message": two, "phase": three},
    }


@settings(max_examples=30, deadline=None)
@given(
    some=st.lists(HOSTILE, min_size=3, max_size=3), value=VALUE, beside=st.booleans(), title=HOSTILE
)
def test_no_text_of_a_run_becomes_markup(
    some: list[str], value: Any, beside: bool, title: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        row = hostile_row(some, value)
        html, chunks = checked(made([row], Path(folder), beside=beside, title=title))
        plain, _ = checked(made([hostile_row(["a"] * 3, 1)], Path(folder), beside=beside))
        assert html.tags == plain.tags
        assert html.held("index")["tasks"][0][0] == some[0]
        system = some[0] * 200
        assert chunks[0]["texts"] == ([system] if len(system) >= 500 else [])
        assert chunks[0]["episodes"][0]["error"]["message"] == some[1]


def run_html(*arguments: str) -> tuple[int, str, str]:
    """Status, standard output and standard error of the command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command.html)
    result = CliRunner().invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_command_writes_beside_the_rows(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", real_rows())
    status, out, _ = run_html(str(run))
    assert status == 0
    assert "1 system errors" in " ".join(out.split())
    assert "simulated" in out
    assert "<h1>run</h1>" in (run / "episodes.html").read_text()
    status, out, _ = run_html(str(run), "--one-file-up-to", "0", "--title", "a <b>", "--json")
    told = json.loads(out)
    assert status == 0
    assert told["attempts"]["system_error"] == 1
    assert Path(told["files"]).is_dir()
    assert "<h1>a &lt;b&gt;</h1>" in (run / "episodes.html").read_text()


def test_the_command_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [first_of(real_rows(), "passed")])
    rows = run / "episodes.jsonl"
    before = rows.read_bytes()
    for arguments in (
        [str(tmp_path)],
        [str(run), "--out", str(tmp_path / "no" / "page.html")],
        [str(run), "--out", str(tmp_path)],
        [str(run), "--out", str(rows)],
    ):
        status, _, error = run_html(*arguments)
        assert status == 2
        assert "error:" in error
    assert rows.read_bytes() == before
