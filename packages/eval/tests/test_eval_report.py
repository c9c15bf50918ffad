"""Reports in all their formats: the same figures everywhere, and text that stays text."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.eval.compare.comparing import compare
from outcomebox.eval.report import FORMATS, Run, write_report
from outcomebox.eval.report.latex import plain as tex
from outcomebox.eval.report.markdown import plain as md
from outcomebox.eval.report.numbers import interval, money, points, share, shown
from outcomebox.eval.report.sidefiles import SideFiles, escaped
from outcomebox.sandbox.errors import InputError
from report_runs import HOSTILE, drawn, row, run_of

ALL = {
    "report.html",
    "report.files",
    "report.md",
    "report.pictures",
    "report.csv",
    "report.tasks.csv",
    "report.json",
    "report.tex",
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Two runs on the same tasks, the second the better one."""
    folder = tmp_path_factory.mktemp("runs")
    return (
        run_of(folder / "base", drawn(12, 6), "base"),
        run_of(folder / "new", drawn(12, 6, lift=0.3), "new"),
    )


def texts(folder: Path) -> dict[str, str]:
    """The files of a report that are one text."""
    return {
        file.suffix[1:]: file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.is_file() and file.name != "report.tasks.csv"
    }


def figures(folder: Path) -> list[dict[str, str]]:
    """The rows of the CSV."""
    return list(csv.DictReader(io.StringIO((folder / "report.csv").read_text("utf-8"))))


def test_all_formats_are_written_and_the_same_again(two: tuple[Run, Run], tmp_path: Path) -> None:
    found = compare(two[0].results, two[1].results, names=("base", "new"), resamples=200)
    for folder in ("one", "two", "two"):
        written = write_report(two, tmp_path / folder, comparisons=[found], title="A & B")
        assert {file.name for file in written.files} == ALL
        assert written.transcripts == 144
    names = sorted(file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*.*"))
    assert len(names) > len(ALL)
    for name in names:
        one, other = tmp_path / "one" / name, tmp_path / "two" / name
        assert other.is_dir() if one.is_dir() else one.read_bytes() == other.read_bytes(), name
    # Nothing of the making is left behind.
    assert {file.name for file in (tmp_path / "two").iterdir()} == ALL


def test_every_format_says_the_same_figures(two: tuple[Run, Run], tmp_path: Path) -> None:
    run = two[0]
    write_report([run], tmp_path, digits=2)
    rate = run.summary.overall.pass_1.population
    assert rate.value is not None
    said = texts(tmp_path)
    assert f"<b>{share(rate.value, 2)}</b>" in said["html"]
    assert md(share(rate.value, 2)) in said["md"]
    assert tex(share(rate.value, 2)) in said["tex"]
    kept = json.loads(said["json"])["runs"][0]["overall"]["pass_1"]["population"]
    assert kept["value"] == pytest.approx(rate.value, abs=1e-12)
    row = next(
        each for each in figures(tmp_path) if each["metric"] == "pass@1" and each["by"] == "overall"
    )
    assert float(row["value"]) == pytest.approx(rate.value, abs=1e-12)
    assert float(row["low"]) == pytest.approx(rate.low, abs=1e-12)
    assert row["estimand"] == "population of tasks"
    for format_ in ("html", "md", "tex"):
        assert "for a population of tasks" in said[format_]
        assert interval(rate.low, rate.high, "share", digits=2).split("\u2013")[0] in said[format_]


def test_domains_tags_and_tasks_are_all_there(two: tuple[Run, Run], tmp_path: Path) -> None:
    write_report(two[:1], tmp_path)
    groups = {(each["by"], each["group"]) for each in figures(tmp_path)}
    assert {("domain", name) for name in ("banking", "retail", "travel")} <= groups
    assert ("tag", "short") in groups
    tasks = list(csv.DictReader(io.StringIO((tmp_path / "report.tasks.csv").read_text("utf-8"))))
    assert [task["uid"] for task in tasks] == [task.uid for task in two[0].summary.tasks]
    assert [int(task["passed"]) for task in tasks] == [t.passed for t in two[0].summary.tasks]


def test_what_is_not_final_is_marked_everywhere(tmp_path: Path) -> None:
    rows = drawn(4, 3)
    rows[4] = row(rows[4]["uid"], rows[4]["repetition"], "system_error")
    run = run_of(tmp_path / "run", rows, attempts=4)
    assert len(run.summary.completeness.broken) == 1
    assert len(run.summary.completeness.missing) == 4
    write_report([run], tmp_path / "out")
    said = texts(tmp_path / "out")
    assert '<div class="banner open" role="note"><b>NOT FINAL' in said["html"]
    assert "**NOT FINAL" in said["md"]
    assert "% run: NOT FINAL" in said["tex"]
    assert said["tex"].count(r"\begin{table}") == said["tex"].count(r"\textbf{Not final.}") > 0
    assert json.loads(said["json"])["final"] is False
    assert {each["final"] for each in figures(tmp_path / "out")} == {"false"}


def test_what_is_not_defined_is_a_dash_and_never_a_number(tmp_path: Path) -> None:
    rows = [row("retail/a/1", n, "passed") for n in range(3)]
    rows += [row("retail/a/2", 0, "failed")]
    run = run_of(tmp_path / "run", rows, attempts=3)
    write_report([run], tmp_path / "out")
    said = texts(tmp_path / "out")
    row_ = next(
        each
        for each in figures(tmp_path / "out")
        if each["metric"] == "pass^3" and each["by"] == "overall"
    )
    assert row_["value"] == ""
    assert "100.0 % over 1 of 2 tasks" in said["html"]
    for name, text in said.items():
        assert not re.search(r"\b(NaN|nan|Infinity|None)\b", text.split("<script>")[0]), name


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    rows = []
    for n in range(3):
        for repetition in range(2):
            made = row(f"{HOSTILE}/{n}", repetition, "failed" if n else "passed")
            made |= {"domain": f"{HOSTILE} {n}", "tags": [HOSTILE], "family": HOSTILE}
            made["policy"] = {"name": HOSTILE}
            rows.append(made)
    run = run_of(tmp_path / "run", rows, HOSTILE)
    write_report([run], tmp_path / "out", title=HOSTILE)
    said = texts(tmp_path / "out")
    assert said["html"].count("<script") == 2
    assert "<img" not in said["html"]
    assert "\u202e" not in said["html"]
    assert "<img" not in said["md"].replace(r"\<img", "")
    assert "\\input{x}" not in said["tex"]
    for picture in (tmp_path / "out" / "report.pictures").iterdir():
        assert "<script" not in picture.read_text("utf-8")
    tasks = list(
        csv.DictReader(io.StringIO((tmp_path / "out" / "report.tasks.csv").read_text("utf-8")))
    )
    assert [task["uid"] for task in tasks] == [task.uid for task in run.summary.tasks]
    for line in said["md"].splitlines():
        if line.startswith("| "):  # a cell's text opens no other cell
            assert len(re.findall(r"(?<!\\)\|", line)) > 2


def test_the_page_may_run_its_own_script_and_nothing_else(
    two: tuple[Run, Run], tmp_path: Path
) -> None:
    write_report(two[:1], tmp_path / "with")
    write_report(two[:1], tmp_path / "without", transcripts=False)
    for name, beside in (("with", True), ("without", False)):
        page = (tmp_path / name / "report.html").read_text("utf-8")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        for kind in ("script", "style"):
            (body,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy[1]
        assert "default-src 'none'" in policy[1]
        assert ("file:" in policy[1]) == beside
        assert (tmp_path / name / "report.files").is_dir() == beside
        assert not re.search(r'(src|href)="(?!#)', page.split("<script>")[0])
        assert ' style="' not in page


def test_side_files_hold_the_rows_byte_for_byte(tmp_path: Path) -> None:
    rows = drawn(5, 2)
    rows[3]["messages"][0]["content"] = "`${alert(1)}` \\` \u2028 </script>"
    run = run_of(tmp_path / "run", rows)
    write_report([run], tmp_path / "out")
    made = b"".join(
        file.read_bytes() for file in sorted((tmp_path / "out" / "report.files").iterdir())
    )
    found = [json.loads(each) for each in re.findall(rb"String\.raw`([^`]*)`", made)]
    by_key = {(each["uid"], each["repetition"]): each for each in found}
    for each in rows:
        kept = by_key[each["uid"], each["repetition"]]
        del kept["checksum"]
        assert kept == each
    assert b"${" not in made


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.text() | st.integers() | st.none(),
        lambda of: st.lists(of) | st.dictionaries(st.text(), of),
    )
)
def test_no_object_ends_its_template(value: Any) -> None:
    written = json.dumps({"a": value, "`${": "\\`${"}, ensure_ascii=False)
    line = escaped(written.encode("utf-8", "backslashreplace"))
    assert b"`" not in line
    assert b"${" not in line
    assert line.endswith(b"}")
    assert json.loads(line) == json.loads(written)


def test_a_file_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", drawn(3, 2))
    rows = tmp_path / "run" / "episodes.jsonl"
    rows.write_bytes(rows.read_bytes()[:-200] + b"\\\n")
    with pytest.raises(InputError, match="changed while it was read"):
        write_report([run], tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(InputError, match="cannot be read again"):
        SideFiles(tmp_path / "side").write([(str(tmp_path / "gone"), 1)])


def test_what_is_not_ours_is_not_replaced(two: tuple[Run, Run], tmp_path: Path) -> None:
    kept = tmp_path / "report.files" / "thesis.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    with pytest.raises(InputError, match="something else"):
        write_report(two[:1], tmp_path)
    assert kept.read_text() == "mine"
    with pytest.raises(InputError, match="is none of html, md, csv, json, tex"):
        write_report(two[:1], tmp_path / "other", formats=["pdf"])
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", FORMATS)
def test_one_format_alone_and_nothing_left_of_an_older_report(
    two: tuple[Run, Run], tmp_path: Path, name: str
) -> None:
    write_report(two[:1], tmp_path)
    (tmp_path / "mine.txt").write_text("kept")
    written = write_report(two[:1], tmp_path, formats=[name])
    assert written.files
    assert {file.suffix for file in written.files} <= {f".{name}", ".files", ".pictures"}
    assert bool(written.transcripts) == (name == "html")
    assert {file.name for file in tmp_path.iterdir()} == {
        "mine.txt",
        *(file.name for file in written.files),
    }


def test_a_comparison_is_told_in_every_text(two: tuple[Run, Run], tmp_path: Path) -> None:
    found = compare(two[0].results, two[1].results, names=("base", "new"), resamples=200)
    write_report(two[1:], tmp_path, comparisons=[found])
    said = texts(tmp_path)
    sentence = found.verdict.split(".")[0]
    assert sentence in said["html"]
    assert md(sentence) in said["md"]
    assert json.loads(said["json"])["comparisons"][0]["verdict"] == found.verdict
    assert "new against base" in said["tex"]
    assert {"paired-0.svg", "deltas-0.svg"} <= {
        file.name for file in (tmp_path / "report.pictures").iterdir()
    }


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (0.5, 1, "50.0 %"),
        (1.0, 1, "100.0 %"),
        (0.9999, 1, "<100 %"),
        (0.0, 1, "0.0 %"),
        (0.0001, 1, ">0 %"),
        (0.51698, 2, "51.70 %"),
        (0.5, 0, "50 %"),
        (None, 1, "—"),
    ],
)
def test_shares_are_never_rounded_to_all_or_nothing(
    value: float | None, digits: int, words: str
) -> None:
    assert shown(value, "share", digits=digits) == words


def test_numbers_in_words() -> None:
    assert money(925.8) == "925.80"
    assert money(0.17661) == "0.177"
    assert money(1720.6) == "1,720.60"
    assert money(0.00123) == "0.0012"
    assert money(0) == "0.000"
    assert interval(0.055, 0.101, "share") == "5.5\u201310.1 %"
    assert interval(None, None, "share") == ""
    assert interval(1.5, None, "money") == "from 1.50"
    assert interval(0.0, 1.0, "share") == "0.0\u2013100.0 %"
    assert points(-0.00001) == "0.0"
    assert points(0.0908, 2) == "+9.08"
    assert points(None) == "—"


def test_text_for_latex_and_markdown() -> None:
    assert tex("50 % of a_b & {c}~^\\$#") == (
        r"50 \% of a\_b \& \{c\}\textasciitilde{}\textasciicircum{}\textbackslash{}\$\#"
    )
    assert tex("a\nb\t c") == "a b c"
    assert md("a|b*c<d>\n# e") == r"a\|b\*c\<d\> \# e"
