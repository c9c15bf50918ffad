"""The command `results`: what it prints, writes and ends with; and that commands start lean."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from outcomebox.eval.commands.app import COMMANDS, app
from outcomebox.eval.results import read_results
from result_rows import row, run_folder


def run(*given: object) -> Result:
    """Run the program to its end, in this process."""
    result = CliRunner().invoke(app, [str(each) for each in given], env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of two tasks, two attempts each, of which one has only broken."""
    rows = [row("a", 0), row("a", 1, "failed"), row("b", 0), row("b", 1, "system_error")]
    return run_folder(tmp_path / "run", rows, uids=["a", "b"], attempts=2)


def test_it_says_what_is_there_and_what_is_not(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "rows.parquet"
    done = run("results", folder, "--out", out)
    assert done.exit_code == 1
    assert "tries: 2 passed, 1 failed, 1 system errors" in done.stdout
    assert "NOT FINAL: 3 of 4 expected attempts have a result (2 of 2 tasks)." in done.stdout
    assert "1 broken (system errors only, counted nowhere): b #1." in done.stdout
    assert read_results([str(out)]).attempts.height == 4
    assert run("results", folder, "--allow-incomplete").exit_code == 0


def test_json_is_one_strict_object(folder: Path) -> None:
    told = json.loads(run("results", folder, "--json").stdout)
    assert told["outcomes"] == {"passed": 2, "failed": 1, "system_error": 1}
    assert told["completeness"]["broken"] == [["b", 1]]
    assert told["domains"] == [
        {"domain": "shelf", "tasks": 2, "passed": 2, "failed": 1, "broken": 1, "missing": 0}
    ]
    assert len(told["sources"][0]["sha256"]) == 64


def test_a_complete_run_ends_with_status_0(folder: Path) -> None:
    with (folder / "episodes.jsonl").open("ab") as file:
        file.write(json.dumps(row("b", 1, "failed", **{"try": 1})).encode() + b"\n")
    done = run("results", folder)
    assert done.exit_code == 0
    assert "Final: 4 of 4" in done.stdout


def test_bad_input_is_one_line_and_status_2(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    (folder / "episodes.jsonl").write_text("{}\n")
    done = run("results", folder, "--out", out)
    assert (done.exit_code, done.stdout, out.exists()) == (2, "", False)
    assert done.stderr.startswith(
        f"error: {folder / 'episodes.jsonl'}: line 1: uid: must be a text"
    )
    for wrong in (["--field", "uid"], ["--attempts", "3"], ["--expected", "nothing.txt"]):
        assert run("results", folder, *wrong).exit_code == 2


def test_every_command_has_help_with_examples() -> None:
    for name in COMMANDS:
        said = run(name, "--help").stdout
        assert f"outcomebox-eval {name}" in said
        assert "Exit status" in said
    assert run("nothing").exit_code == 2
    assert all(name in run("--help").stdout for name in COMMANDS)


def test_what_only_reads_loads_neither_pictures_nor_what_runs_episodes() -> None:
    program = (
        "import sys; import outcomebox.eval, outcomebox.eval.commands.app, "
        "outcomebox.eval.commands.results; "
        "print(sorted(sys.modules.keys() & {'matplotlib', 'scipy', 'outcomebox.rollout'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
