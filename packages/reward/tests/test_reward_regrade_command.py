"""`outcomebox-reward regrade` as a person at a terminal, or CI, meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from outcomebox.reward.commands.app import app
from outcomebox.sandbox import Task, TaskSet, load_tasks
from regrade_world import domain_folder, row_of, task, write

RIGHT = "UPDATE orders SET status = 'resent' WHERE order_id = 'O-1'"
CLOSED = {"orders": {"update": [{"key": {"order_id": "O-1"}, "set": {"status": "closed"}}]}}


def shop(folder: Path, *tasks: Task) -> Path:
    """A domain's folder with tasks."""
    domain_folder(folder)
    (folder / "tasks").mkdir(exist_ok=True)
    plain = [each.model_dump(mode="json", exclude_defaults=True) for each in tasks]
    (folder / "tasks" / "all.yaml").write_text(yaml.safe_dump({"tasks": plain}), encoding="utf-8")
    return folder


def tasks_in(folder: Path) -> TaskSet:
    """The tasks of a folder."""
    return load_tasks([str(folder)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one task: one episode that passed, one that did nothing."""
    folder = shop(tmp_path / "shop", task())
    tasks = tasks_in(folder)
    made = tmp_path / "run"
    made.mkdir()
    rows = [row_of(tasks, tasks.tasks[0], did, repetition=n) for n, did in enumerate([[RIGHT], []])]
    write(made / "episodes.jsonl", *rows)
    (made / "curation.yaml").write_text("sources: {tasks: [../shop]}\n")
    return made


def said(*arguments: Any) -> Result:
    """What the command answers."""
    return CliRunner().invoke(app, ["regrade", *map(str, arguments)])


def test_an_unchanged_run_ends_well(run: Path) -> None:
    result = said(run, "--fail-on-change")
    assert result.exit_code == 0, result.output
    assert "2 graded again; 0 verdicts moved" in result.stdout
    assert "regrade: 2 of 2" in result.stderr


def test_a_moved_verdict_is_shown_and_ends_with_1_where_that_is_asked(
    run: Path, tmp_path: Path
) -> None:
    shop(tmp_path / "shop", task(expect=CLOSED))
    html = tmp_path / "moved.html"
    result = said(run, "--html", html)
    assert result.exit_code == 0
    assert "shop/resend/1 #0: passed -> failed (changed since: task)" in result.stdout
    assert "status is 'resent', expected 'closed'" in result.stdout
    assert "expected &#x27;closed&#x27;" in html.read_text("utf-8")
    assert said(run, "--fail-on-change").exit_code == 1


def test_json_is_one_object_and_the_same_each_time(run: Path, tmp_path: Path) -> None:
    shop(tmp_path / "shop", task(expect=CLOSED))
    first, second = (said(run, "--json") for _ in range(2))
    assert first.stdout == second.stdout
    report = json.loads(first.stdout)
    assert report["schema"] == 1
    assert report["verdicts"] == [
        {"was": "failed", "now": "failed", "rows": 1},
        {"was": "passed", "now": "failed", "rows": 1},
    ]
    (moved,) = report["moved"]
    assert (moved["uid"], moved["repetition"], moved["line"]) == ("shop/resend/1", 0, 1)
    assert len(report["explained_otherwise"]) == 1


def test_new_rows_are_written_once(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.jsonl"
    assert said(run, "--write", out).exit_code == 0
    before = out.read_bytes()
    again = said(run, "--write", out)
    assert again.exit_code == 2
    assert f"error: {out}: is there already" in again.stderr
    assert out.read_bytes() == before
    assert said(out, "--tasks", tmp_path / "shop", "--fail-on-change").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--judge", "oracle"], "judge: write recorded or model (found 'oracle')"),
        (["--judge-option", "model=m"], "add --judge model"),
        (["--judge", "model", "--judge-option", "model"], "write NAME=VALUE"),
        (["--judge", "model"], "needs base_url"),
        (["--task", "shop/resend/2"], "no row is of this task"),
        (["--tasks", "retail"], "name the run's tasks with --tasks"),
        (["--html", "none/moved.html"], "there is no such folder"),
    ],
)
def test_bad_input_is_one_line_and_2(run: Path, arguments: list[str], error: str) -> None:
    result = said(run, *arguments)
    assert result.exit_code == 2, result.output
    assert error in result.stderr
    assert "Traceback" not in result.output


def test_a_run_that_is_not_there_is_said(tmp_path: Path) -> None:
    result = said(tmp_path / "none")
    assert result.exit_code == 2
    assert "give a run's folder or its episodes.jsonl" in result.stderr
