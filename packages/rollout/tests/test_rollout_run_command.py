"""The command `run`: its folder, its exit status, resuming, replaying, one attempt again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from outcomebox.rollout import EpisodeStore, digest, read_rows
from outcomebox.rollout.commands.run import run as run_command
from scripted_policy import SHELF

app = typer.Typer(add_completion=False, rich_markup_mode=None)
app.command("run")(run_command)


def run(*given: object, env: dict[str, str] | None = None) -> Result:
    """Run the command to its end, in this process."""
    arguments = ["--tasks", str(SHELF), *map(str, given)]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", **(env or {})})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def found(folder: Path) -> str:
    """What a run found."""
    return digest(read_rows(folder / "episodes.jsonl"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run of two attempts at all tasks."""
    out = tmp_path_factory.mktemp("run") / "whole"
    done = run("--attempts", 2, "--record", "--concurrency", 4, "--out", out, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["attempts"], told["complete"], told["stopped"]) == (12, True, None)
    return out


def test_a_run_cut_off_at_any_row_goes_on_to_the_same_end(whole: Path, tmp_path: Path) -> None:
    lines = (whole / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    for kept in (0, 5, len(lines)):
        out = tmp_path / str(kept)
        out.mkdir()
        (out / "run.json").write_bytes((whole / "run.json").read_bytes())
        torn = lines[kept][:40] if kept < len(lines) else b""
        (out / "episodes.jsonl").write_bytes(b"".join(lines[:kept]) + torn)
        done = run("--resume", "--out", out, "--concurrency", 3)
        assert done.exit_code == 0, done.stderr
        assert found(out) == found(whole)


def test_a_replay_finds_the_same_with_no_policy(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "replayed"
    done = run("--attempts", 2, "--replay", whole, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert found(out) == found(whole)
    other = run("--attempts", 2, "--seed", 9, "--replay", whole, "--out", tmp_path / "other")
    assert other.exit_code == 2
    assert "is not the recorded one" in other.stderr


def test_one_attempt_can_be_made_again(whole: Path, tmp_path: Path) -> None:
    wanted = next(row for row in read_rows(whole / "episodes.jsonl") if row["repetition"] == 1)
    out = tmp_path / "one"
    done = run("--only", wanted["uid"], "--repetition", 1, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert found(out) == digest([wanted])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "shelf/nothing/1"], ["only", "did you mean"]),
        (["--executor", "elsewhere"], ["executor", "local"]),
        (["--executor-option", "x=1"], ["executor-option", "x"]),
        (["--policy-option", "skill"], ["NAME=VALUE"]),
        (["--min-concurrency", "9"], ["min-concurrency", "4"]),
        (["--replay", "nothing"], ["nothing"]),
    ],
)
def test_bad_input_is_one_clear_error_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    done = run(*arguments, "--out", tmp_path / "run")
    assert done.exit_code == 2, done.stderr
    assert done.stderr.count("error:") == 1
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_only_with_what_it_was_started_with(whole: Path) -> None:
    again = run("--out", whole)
    assert (again.exit_code, "--resume" in again.stderr) == (2, True)
    other = run("--resume", "--seed", 9, "--out", whole)
    assert other.exit_code == 2
    assert "seed: was 0" in other.stderr
    with EpisodeStore(whole / "episodes.jsonl"):
        twice = run("--resume", "--out", whole)
    assert twice.exit_code == 2
    assert "another process is writing this run" in twice.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "run"
    program = (
        "import typer; from outcomebox.rollout.commands.run import run; app = typer.Typer(); "
        "app.command()(run); app()"
    )
    flags = ["--tasks", str(SHELF), "--attempts", "2000", "--out", str(out)]
    started = subprocess.Popen(
        [sys.executable, "-c", program, *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ,
    )
    rows = out / "episodes.jsonl"
    deadline = time.monotonic() + 120
    while not (rows.exists() and rows.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(number)
    _, said = started.communicate(timeout=120)
    assert started.returncode == 128 + number
    assert b"--resume" in said
    assert all(row["error"] is None for row in read_rows(rows))
