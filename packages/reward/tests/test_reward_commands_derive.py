"""The derive command: what it prints, writes and returns."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from outcomebox.reward.commands.app import app
from reward_goldens import LENDING


@pytest.fixture
def lending(tmp_path: Path) -> Path:
    """A copy of the lending library, served in this process, with the tasks that can be derived."""
    folder = tmp_path / "lending"
    shutil.copytree(LENDING, folder, ignore=shutil.ignore_patterns("__pycache__"))
    settings = folder / "domain.yaml"
    text = settings.read_text().replace("{file: server.py}", "{file: server.py, mode: inprocess}")
    settings.write_text(text)
    return folder


def run(*arguments: object, app: typer.Typer = app) -> tuple[int, str, str]:
    """Status, standard output and standard error of a command."""
    done = CliRunner().invoke(
        app, [str(each) for each in arguments], env={"COLUMNS": "200"}, catch_exceptions=False
    )
    return done.exit_code, done.stdout, done.stderr


def test_the_program_lists_its_commands_with_examples() -> None:
    status, out, _ = run("--help")
    assert status == 0
    for name in ("derive", "lint", "regrade", "judge-audit", "Examples:", "Exit status:"):
        assert name in out
    status, out, _ = run("derive", "--help")
    assert status == 0
    for word in ("Examples:", "--write", "--check", "--json", "Exit status:"):
        assert word in out


def test_a_block_is_printed_and_nothing_is_written(lending: Path) -> None:
    file = lending / "tasks" / "loans.yaml"
    before = file.read_bytes()
    status, out, err = run("derive", file)
    assert status == 0, err
    assert "# lending/loans/two: a first block\n    expect:\n      loan_lines:" in out
    assert "# review body: the agent's own words (call 3, note)" in out
    assert "2 tasks: 2 a first block" in err
    assert "1 places want a person's decision" in err
    assert "--write" in err
    assert file.read_bytes() == before


def test_write_then_check_then_nothing_is_left_to_do(lending: Path) -> None:
    file = lending / "tasks" / "loans.yaml"
    status, out, err = run("derive", file, "--write")
    assert status == 0, err
    assert f"Written: {file}" in err
    assert "lint" in err
    assert "expect:" not in out
    assert file.read_text().startswith("# Loans, written by hand.   Two blanks")
    status, out, err = run("derive", file, "--check")
    assert (status, out) == (0, "golden passes 2 of 2 tasks\n"), err
    status, out, err = run("derive", file)
    assert "2 tasks: 2 as it is" in err
    # Another golden end: --check says so, derive shows what differs.
    file.write_text(file.read_text().replace("titles: [Foxes]", "titles: [Bees]"))
    status, out, err = run("derive", file, "--check")
    assert status == 1
    assert f"{file}: lending/loans/two: golden fails: " in err
    assert "Bees" in err
    assert "Golden fails 1 of 2 tasks" in err
    status, out, err = run("derive", file)
    assert status == 0
    assert "# golden fails the present block" in out
    assert "-          - {loan_id: {$id: loan2}, line: 1, title: Foxes}" in out
    assert "+          - {loan_id: {$id: loan2}, line: 1, title: Bees}" in out


def test_json_has_all_of_it(lending: Path) -> None:
    status, out, err = run("derive", lending / "tasks" / "quirks.yaml", "--json")
    assert status == 0, err
    told: dict[str, Any] = json.loads(out)
    assert told["written"] == []
    tasks = {task["uid"]: task for task in told["tasks"]}
    assert set(tasks) == {
        f"lending/quirks/{name}" for name in ("card", "visit", "voucher", "words")
    }
    words = tasks["lending/quirks/words"]
    (review,) = words["reviews"]
    assert (review["table"], review["op"], review["column"]) == ("loan_notes", "insert", "body")
    assert review["value"] == "The member was rather unhappy today"
    assert [next(iter(choice)) for choice in review["choices"]] == ["$pattern", "$rubric"]
    assert words["expect"]["loan_notes"]["insert"][1]["body"] == "Ada called about the maps"
    status, out, _ = run("derive", lending / "tasks" / "loans.yaml", "--write", "--json")
    assert status == 0
    assert json.loads(out)["written"] == [(lending / "tasks" / "loans.yaml").as_posix()]
    status, out, _ = run("derive", lending / "tasks" / "loans.yaml", "--check", "--json")
    assert status == 0
    assert json.loads(out)["failing"] == 0


def test_tasks_without_a_block_are_named_and_the_others_are_written(lending: Path) -> None:
    status, _, err = run("derive", lending, "--write")
    assert status == 1
    assert "lending/broken/refused: no block: golden call 0 was refused" in err
    assert "11 tasks: 6 a first block, 5 no block" in err
    assert (lending / "tasks/broken.yaml").read_bytes() == (
        LENDING / "tasks/broken.yaml"
    ).read_bytes()
    assert "expect:" in (lending / "tasks/loans.yaml").read_text()


def test_one_task_can_be_chosen_and_fresh_drops_matchers(lending: Path) -> None:
    file = lending / "tasks" / "loans.yaml"
    # The file's other task may wait.
    assert run("derive", file, "--task", "lending/loans/two", "--write")[0] == 0
    text = file.read_text()
    body = 'body: "Lent 2 books as LN-8, until 2026-03-16."'
    before, _, after = text.rpartition(body)  # golden has it too
    file.write_text(f"{before}body: {{$any: true}}{after}")
    status, out, err = run("derive", file, "--task", "lending/loans/two")
    assert "1 tasks: 1 as it is" in err
    status, out, err = run("derive", file, "--task", "lending/loans/two", "--fresh")
    assert status == 0
    assert '+             body: "Lent 2 books as LN-8, until 2026-03-16."}' in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere"),
        (["nowhere.yaml"], "there is no such file or folder"),
        (["LENDING", "--task", "lending/loans/tow"], "did you mean lending/loans/two"),
        (["LENDING", "--check", "--write"], "leave out --write"),
        (["LENDING", "--check"], "expect"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    lending: Path, arguments: list[str], message: str
) -> None:
    status, out, err = run("derive", *(each.replace("LENDING", str(lending)) for each in arguments))
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_domain_of_another_kind_of_server_is_bad_input(lending: Path) -> None:
    (lending / "server.py").write_text("server = None\n")
    status, _, err = run("derive", lending / "tasks" / "loans.yaml")
    assert status == 2
    assert "inprocess is for servers made with" in err
