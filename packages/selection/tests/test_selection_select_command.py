"""The `select` command, from files to exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from outcomebox.selection import tasks_jsonl, verify
from outcomebox.selection.select_command import app
from selection_rows import POLICY, probe_rows, task, write_rows

TEXTS = {
    "retail/returns/never": "FFFFFFFF",
    "retail/returns/hard": "PFFFFFFF",
    "retail/returns/even": "PPPPFFFF",
    "retail/returns/easy": "PPPPPPPF",
    "retail/returns/always": "PPPPPPPP",
    "retail/returns/few": "PPEE",
}


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    rows = [row for uid, text in TEXTS.items() for row in probe_rows(uid, text)]
    write_rows(tmp_path / "run" / "episodes.jsonl", rows)
    return tmp_path / "run"


def select(*arguments: Any) -> Result:
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments], env={"COLUMNS": "100", "NO_COLOR": "1"}
    )


def test_help_shows_examples_and_every_flag() -> None:
    shown = select("--help")
    assert shown.exit_code == 0
    assert "outcomebox-select --episodes runs/probe --out pools/first" in shown.output
    for flag in (
        "--tasks",
        "--reference",
        "--config",
        "--retain",
        "--exclude",
        "--json",
        "--explain",
    ):
        assert flag in shown.output


def test_the_table_shows_bands_reasons_and_the_next_step(run_folder: Path) -> None:
    shown = select("--episodes", run_folder)
    assert shown.exit_code == 0, shown.output
    assert "6 tasks by their difficulty for the simulated policy: 42 clean runs" in shown.output
    assert "Kept 3 of 6: 2 train, 1 test. Dropped 2, undecided 1." in shown.output
    lines = [" ".join(line.split()) for line in shown.output.split("\n")]
    assert any(line.startswith("difficult 0.08 - 0.40 1 1 █") for line in lines)
    assert any(line.startswith("rarely solved 0.00 - 0.08 1 0 ░") for line in lines)
    assert any(line.startswith("1 undecided too few clean runs") for line in lines)
    assert "Mixed groups of 8: " in shown.output
    assert "A step of 32 groups: " in shown.output
    assert "Next: add --out DIR" in shown.output
    assert [path.name for path in run_folder.iterdir()] == ["episodes.jsonl"]


def test_out_writes_what_the_manifest_says(run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "pools" / "first"
    shown = select("--episodes", run_folder / "episodes.jsonl", "--out", out)
    assert shown.exit_code == 0, shown.output
    assert "train.yaml" in shown.output
    assert verify(out)["figures"]["kept"] == 3


def test_the_saved_settings_make_the_same_pool_again(run_folder: Path, tmp_path: Path) -> None:
    held = tmp_path / "held.txt"
    held.write_text("retail/returns/even\n")
    first, second = tmp_path / "first", tmp_path / "a" / "second"
    assert (
        select("--episodes", run_folder, "--seed", 5, "--exclude", held, "--out", first).exit_code
        == 0
    )
    held.unlink()
    again = select("--config", first / "curation.yaml", "--out", second)
    assert again.exit_code == 0, again.output
    for name in ("train.yaml", "test.yaml", "bands.csv", "bands.png"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_json_is_one_strict_object(run_folder: Path, tmp_path: Path) -> None:
    shown = select("--episodes", run_folder, "--json", "--out", tmp_path / "out")
    plain = json.loads(shown.stdout)
    assert plain["policy"] == POLICY
    assert plain["simulated"] is True
    assert plain["figures"]["kept"] == 3
    assert plain["figures"]["runs"] == {
        "clean": 42,
        "errored": 2,
        "system_errors": 2,
        "superseded": 0,
        "tries": 44,
    }
    assert plain["not_kept"] == {
        "undecided": ["retail/returns/few"],
        "rarely_solved": ["retail/returns/never"],
        "nearly_always_solved": ["retail/returns/always"],
    }
    assert [Path(name).name for name in plain["written"]][-1] == "manifest.json"


def test_explain_shows_the_posterior_of_one_task(run_folder: Path) -> None:
    shown = select("--episodes", run_folder, "--explain", "retail/returns/even")
    assert shown.exit_code == 0
    assert "4 passes in 8 clean runs" in shown.output
    assert "intermediate          0.40 - 0.60        44.5%" in shown.output
    assert "chance that a group of 8 is mixed: 95.5%" in shown.output
    dropped = select("--episodes", run_folder, "--explain", "retail/returns/few")
    assert (
        "undecided: undecided, too few clean runs for a band (2 of 4 clean runs)" in dropped.output
    )
    plain = json.loads(
        select("--episodes", run_folder, "--explain", "retail/returns/hard", "--json").stdout
    )
    assert plain["masses"]["difficult"] == pytest.approx(0.683148, abs=1e-6)
    assert plain["status"] == "kept"
    assert sum(plain["masses"].values()) == pytest.approx(1)


def test_an_unknown_task_is_an_error_with_the_nearest(run_folder: Path) -> None:
    shown = select("--episodes", run_folder, "--explain", "retail/returns/evn")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "Did you mean retail/returns/even" in shown.stderr


def test_a_task_list_brings_unprobed_tasks_to_light(run_folder: Path, tmp_path: Path) -> None:
    listed = tmp_path / "tasks.jsonl"
    tasks = [task(uid, tags=("two-systems",)) for uid in [*TEXTS, "retail/returns/new"]]
    listed.write_bytes(tasks_jsonl(tasks))
    plain = json.loads(select("--episodes", run_folder, "--tasks", listed, "--json").stdout)
    assert plain["not_kept"]["unprobed"] == ["retail/returns/new"]
    assert plain["figures"]["tasks"] == 7
    # A list that says what the rows say changes nothing.
    listed.write_bytes(tasks_jsonl(tasks[:-1]))
    outs = tmp_path / "with", tmp_path / "without"
    select("--episodes", run_folder, "--tasks", listed, "--out", outs[0])
    select("--episodes", run_folder, "--out", outs[1])
    assert (outs[0] / "manifest.json").read_bytes() == (outs[1] / "manifest.json").read_bytes()


def test_golden_episodes_gate_the_tasks(run_folder: Path, tmp_path: Path) -> None:
    golden = [
        row
        for uid in TEXTS
        for row in probe_rows(uid, "E" if uid.endswith("even") else "P", policy={"name": "golden"})
    ]
    write_rows(tmp_path / "golden" / "episodes.jsonl", golden)
    plain = json.loads(
        select("--episodes", run_folder, "--reference", tmp_path / "golden", "--json").stdout
    )
    assert plain["not_kept"]["reference"] == ["retail/returns/even"]


def test_an_expanded_glob_is_taken_whole(run_folder: Path, tmp_path: Path) -> None:
    more = write_rows(tmp_path / "more.jsonl", probe_rows("retail/returns/more", "PFPFPFPF"))
    plain = json.loads(select("--json", "--episodes", run_folder, more).stdout)
    assert plain["figures"]["tasks"] == 7


def test_an_empty_pool_shows_why_and_writes_nothing(run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = select("--episodes", run_folder, "--min-clean-runs", 9, "--out", out)
    assert shown.exit_code == 2
    assert "undecided 6" in shown.stderr
    assert "no pool is written" in shown.stderr
    assert "too few clean runs for a band" in shown.stdout
    assert not out.exists()
    explained = select(
        "--episodes", run_folder, "--min-clean-runs", 9, "--explain", "retail/returns/even"
    )
    assert explained.exit_code == 0
    assert "8 of 9 clean runs" in explained.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--episodes", "absent/*"], "absent/*: matches no file"),
        (["--out", "x"], "--episodes: is missing"),
        (["--retain", "easy", "--episodes", "run"], "command line: bands.retain: there is no band"),
        (["--test-fraction", "1.5", "--episodes", "run"], "command line: split.test_fraction"),
        (["--config", "absent.yaml"], "absent.yaml: cannot be read"),
        (["--episodes", "run", "--tasks", "absent.jsonl"], "absent.jsonl: cannot be read"),
        (["--episodes", "run", "--exclude", "absent.txt"], "absent.txt: cannot be read"),
        (["--episodes", "run", "--out", "run/episodes.jsonl"], "cannot be written"),
    ],
)
def test_bad_input_is_one_error_and_nothing_half_written(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(run_folder.parent)
    shown = select(*arguments)
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.startswith("error: ")
    assert shown.stderr.count("\n") == 1
    assert said in shown.stderr
    assert [path.name for path in run_folder.parent.iterdir()] == ["run"]


def test_rows_of_two_policies_are_refused_with_both_places(run_folder: Path) -> None:
    other = write_rows(run_folder / "other.jsonl", probe_rows("x", "P", policy={"name": "b"}))
    shown = select("--episodes", run_folder, "--episodes", other)
    assert shown.exit_code == 2
    assert "name the episodes of one policy" in shown.stderr


def test_the_module_runs_as_a_program(run_folder: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "outcomebox.selection.select_command",
            "--episodes",
            str(run_folder),
            "--json",
        ],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["figures"]["train"] == 2
