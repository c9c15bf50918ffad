"""`outcomebox-eval report`: what it writes, what it says, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from outcomebox.eval.commands import report as command
from outcomebox.reward.rows import seal
from report_runs import drawn, row, write_rows

app = typer.Typer(add_completion=False)
app.command("report", epilog=command.EXAMPLES)(command.report)
QUICK = ("--resamples", "1000")


def report(*args: object, status: int = 0) -> str:
    """What the command prints, its status seen to."""
    found = CliRunner().invoke(app, [*map(str, args), *QUICK])
    assert found.exit_code == status, found.output
    return found.output


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    return write_rows(tmp_path_factory.mktemp("runs") / "base", drawn(9, 4))


def test_it_writes_all_formats_and_tells_the_figures(base: Path, tmp_path: Path) -> None:
    told = report(base, "--out", tmp_path / "out")
    assert "Final: 36 of 36 expected attempts have a result (9 of 9 tasks)." in told
    assert "pass@1:" in told
    assert (tmp_path / "out" / "report.html").is_file()
    assert f"Written: {tmp_path / 'out' / 'report.md'}" in told.replace("\n", "")


def test_formats_title_and_digits(base: Path, tmp_path: Path) -> None:
    report(base, "--out", tmp_path, "--format", "md, csv", "--title", "July", "--digits", 3)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"report.md", "report.pictures", "report.csv", "report.tasks.csv"}
    told = (tmp_path / "report.md").read_text("utf-8")
    assert told.startswith("# July\n")


def test_runs_side_by_side_with_a_comparison(base: Path, tmp_path: Path) -> None:
    new = write_rows(tmp_path / "new", drawn(9, 4, lift=0.4))
    args = (base, new, "--name", "old", "--name", "better", "--compare", base)
    told = json.loads(report(*args, "--out", tmp_path / "out", "--json"))
    assert [run["name"] for run in told["runs"]] == ["old", "better"]
    assert told["final"] is True
    assert told["transcripts"] == 72
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "better against old" in page
    assert "old against" not in page  # a run is not compared with itself
    assert ">Runs</h2>" in page


def test_what_is_missing_is_marked_and_ends_with_1(tmp_path: Path) -> None:
    rows = drawn(3, 4)
    run = write_rows(tmp_path / "run", rows)
    (run / "episodes.jsonl").write_bytes(b"".join(map(seal, rows[1:])))
    args = (run, "--out", tmp_path / "out")
    assert "NOT FINAL" in report(*args, status=1)
    assert "NOT FINAL" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "NOT FINAL" in report(*args, "--allow-incomplete")


def test_prices_bands_and_a_probe(base: Path, tmp_path: Path) -> None:
    usage = {"policy": {"prompt": 1000, "completion": 100}}
    rows = [each | {"usage": usage} for each in drawn(6, 4)]
    run = write_rows(tmp_path / "run", rows)
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "name: list\ndate: 2026-08-17\ncurrency: USD\n"
        "prices:\n  - {model: invented, input: 3.0, cached: 0.3, output: 15.0}\n"
        "lines:\n  - {name: training, amount: 412.5}\n"
    )
    bands = tmp_path / "bands.csv"
    uids = sorted({each["uid"] for each in rows})
    bands.write_text(
        "uid,band\n" + "".join(f"{uid},difficult\n" for uid in uids[:3]) + f"{uids[3]},\n"
    )
    args = (run, "--prices", prices, "--probe", run, "--bands", bands, "--by", "band")
    report(*args, "--out", tmp_path / "out", "--format", "json,md")
    kept = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["runs"][0]
    assert kept["overall"]["cost"]["campaign"]["value"] == pytest.approx(24 * 0.0045)
    assert {line["name"]: line["amount"] for line in kept["cost"]["lines"]} == {
        "training": 412.5,
        "probe": pytest.approx(24 * 0.0045),
    }
    assert [(each["name"], each["tasks"]) for each in kept["groups"]["band"]] == [("difficult", 3)]
    assert "412.50" in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--format", "pdf"], "is none of html, md, csv, json, tex"),
        (["--format", ","], "name at least one of html, md, csv, json, tex"),
        (["--by", "colour"], "is none of domain, family, tag, band"),
        (["--bands", "nowhere.csv"], "cannot be read as CSV"),
        (["--prices", "nowhere.yaml"], "nowhere.yaml"),
        (["--compare", "nowhere"], "there are no results here"),
        (["--name", "a", "--name", "b"], "different names"),
    ],
)
def test_what_cannot_be_used_is_told_and_nothing_is_written(
    base: Path, tmp_path: Path, args: list[str], words: str
) -> None:
    told = report(base, "--out", tmp_path / "out", *args, status=2)
    assert words in " ".join(told.split())
    assert not (tmp_path / "out").exists()


def test_runs_of_other_tasks_are_not_compared(base: Path, tmp_path: Path) -> None:
    other = write_rows(tmp_path / "other", [row("retail/other/1", n, "passed") for n in range(4)])
    told = report(other, "--compare", base, "--out", tmp_path / "out", status=2)
    assert "banking/desk/0" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [("uid\na\n", "band"), ("uid,band\na,x\na,y\n", "stands twice"), ("", "cannot be read as CSV")],
)
def test_bands_that_cannot_be_used(base: Path, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bands.csv").write_text(text)
    told = report(base, "--bands", tmp_path / "bands.csv", "--out", tmp_path / "out", status=2)
    assert words in told
