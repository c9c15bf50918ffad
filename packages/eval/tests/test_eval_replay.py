"""The replay command on the example dataset: verdicts, rows, resume, words about mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from outcomebox.eval.replay_command import app

DESK = Path(__file__).parents[3] / "examples" / "desk"
TIMES = {"cpu_s", "wall_s"}


def replay(
    out: Path, *arguments: str, dataset: Path = DESK, servers: Path | None = None
) -> tuple[int, Any, str]:
    """Run the command; its status, its JSON or text, and what it said."""
    given = ["--dataset", str(dataset), "--servers", str(servers or dataset / "servers.yaml")]
    done = CliRunner().invoke(
        app, [*given, "--out", str(out), *arguments], env={"COLUMNS": "200"}, catch_exceptions=False
    )
    told = json.loads(done.stdout) if "--json" in arguments and done.stdout else done.stdout
    return done.exit_code, told, done.stderr


def rows(out: Path) -> list[dict[str, Any]]:
    """The rows a run has written."""
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[dict[str, Any]], str]:
    """A golden replay of the whole example dataset."""
    out = tmp_path_factory.mktemp("golden") / "golden.jsonl"
    status, told, said = replay(out, "--json")
    assert status == 0, said
    return told, rows(out), said


def test_golden_calls_pass_and_say_how(golden: tuple[Any, list[dict[str, Any]], str]) -> None:
    told, found, said = golden
    assert told["outcomes"] == {"passed": 5}
    # In the tasks' order, whichever ended first.
    assert [row["uid"].partition(":")[2] for row in found] == [
        "note_left",
        "whole_refund",
        "part_refund_with_note",
        "cancel_all_of_a_customer",
        "too_much_is_refused",
    ]
    assert {row["family"] for row in found} == {"desk"}
    for row in found:
        assert row["result_db_hash"] == row["golden_db_hash"]
        assert row["cpu_s"] > 0
        assert row["isolation"]["desk"]["mode"] == "fork"
        assert row["isolation"]["desk"]["clock"] == "real"
    judged = [row for row in found if row["judge"]]
    assert [row["uid"] for row in judged] == ["desk_refunds.py:part_refund_with_note"]
    assert judged[0]["judge"] == {"name": "stand-in (yes)", "questions": 1}
    assert "answered by the judge stand-in (yes)" in said


def test_the_same_replay_leaves_the_same_rows_but_for_times(
    golden: tuple[Any, list[dict[str, Any]], str], tmp_path: Path
) -> None:
    status, _, said = replay(tmp_path / "again.jsonl", "--concurrency", "1")
    assert status == 0, said

    def timeless(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: row[name] for name in row if name not in TIMES} for row in found]

    assert timeless(rows(tmp_path / "again.jsonl")) == timeless(golden[1])


@pytest.mark.parametrize(
    ("policy", "passed", "failed", "without"),
    [("noop", 1, 4, 0), ("drop:each", 0, 10, 1), ("double:each", 6, 4, 1)],
)
def test_mutations_are_caught_where_they_change_the_end(
    tmp_path: Path, policy: str, passed: int, failed: int, without: int
) -> None:
    out = tmp_path / "rows.jsonl"
    status, told, said = replay(out, "--policy", policy, "--json")
    assert status == 0, said
    outcomes = told["outcomes"]
    assert (outcomes.get("passed", 0), outcomes.get("failed", 0)) == (passed, failed)
    assert len(told["without"]) == without
    for row in rows(out):
        assert (row["result_db_hash"] == row["golden_db_hash"]) == (row["verdict"] == "passed")
        if row["verdict"] == "failed":
            assert row["reason"]


def test_the_table_is_for_people(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    named = ("desk_notes.yaml:note_left", "desk_refunds.py:not_yet")
    status, told, said = replay(out, *named, "--policy", "double-last")
    assert status == 0
    assert "Replay of double-last: 1 trajectories" in told
    assert "desk" in told
    assert "1 tasks are tagged skip and were left out" in said


def test_a_question_without_a_judge_is_a_system_error_and_resume_tries_it_again(
    tmp_path: Path,
) -> None:
    out = tmp_path / "rows.jsonl"
    status, told, said = replay(out, "--judge", "none", "--json")
    assert status == 1
    assert told["outcomes"] == {"passed": 4, "system_error": 1}
    assert "judge: " in said
    assert "--resume" in said
    before = {row["uid"]: row for row in rows(out)}
    status, told, said = replay(out, "--judge", "no", "--resume", "--json")
    assert status == 0, said
    assert told["made"] == 1
    after = {row["uid"]: row for row in rows(out)}
    changed = {uid for uid in after if after[uid] != before[uid]}
    assert changed == {"desk_refunds.py:part_refund_with_note"}
    assert after[changed.pop()]["verdict"] == "failed"


def copied(tmp_path: Path) -> Path:
    """The example dataset, to be broken."""
    return Path(shutil.copytree(DESK, tmp_path / "desk"))


def test_a_run_that_was_killed_goes_on_from_its_part(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    assert replay(out)[0] == 0
    whole = out.read_text().splitlines(keepends=True)
    out.unlink()
    part = out.with_name("rows.jsonl.part")
    part.write_text("".join(whole[:3]) + whole[3][:40])  # killed while it wrote the fourth
    status, told, said = replay(out, "--resume", "--json")
    assert status == 0, said
    assert told["made"] == 2
    assert out.read_text().splitlines(keepends=True)[:3] == whole[:3]
    assert not part.exists()


def test_a_dead_server_is_no_failure_of_the_agent(tmp_path: Path) -> None:
    dataset = copied(tmp_path)
    server = dataset / "desk_server.py"
    text = server.read_text()
    server.write_text(
        text.replace('"""Refund an amount', '"""x"""\n    import os; os._exit(9)\n    """')
    )
    out = tmp_path / "rows.jsonl"
    status, told, _ = replay(out, "--json", dataset=dataset)
    assert status == 1
    assert told["outcomes"] == {"passed": 3, "system_error": 2}
    errors = [row["error"] for row in rows(out) if row["error"]]
    assert {error["phase"] for error in errors} == {"tool"}
    assert all("status 9 in tool refund" in error["message"] for error in errors)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "drop:0"], "policy: no such policy"),
        (["--judge", "maybe"], "judge: write one of"),
        (["--judge", "model"], "needs base_url"),
        (["--judge-option", "model=x"], "only --judge model has options"),
        (["--judge-option", "model"], "write NAME=VALUE"),
        (["--mode", "thread"], "mode: write fork or process"),
        (["--clock", "noon"], "ISO 8601"),
        (["--agent", "nobody"], "nobody"),
        (["no_such_file.py:x"], "no_such_file"),
        (["desk_refunds.py:whole_refnd"], "whole_refund"),
        (["--resume"], "nothing to resume"),
        (["--server-python", "/no/such/python3"], "/no/such/python3"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    out = tmp_path / "rows.jsonl"
    status, told, said = replay(out, *arguments)
    assert (status, told) == (2, "")
    assert words in said
    assert "Traceback" not in said
    assert not out.exists()


def test_a_replay_of_nothing_is_no_success(tmp_path: Path) -> None:
    out, empty = tmp_path / "rows.jsonl", tmp_path / "list.yaml"
    empty.write_text("[]\n")
    for arguments in (["--list", str(empty)], ["desk_refunds.py:not_yet"]):
        status, told, said = replay(out, *arguments)
        assert (status, told) == (2, "")
        assert "error:" in said
        assert not out.exists()
    status, told, said = replay(out, "desk_notes.yaml:note_left", "--policy", "drop:9")
    assert (status, told) == (2, "")
    assert "no task has such a trajectory" in said


def test_a_server_that_is_not_configured_is_named(tmp_path: Path) -> None:
    servers = tmp_path / "servers.yaml"
    servers.write_text("servers: {other: {command: [x]}}")
    status, _, said = replay(tmp_path / "rows.jsonl", servers=servers)
    assert status == 2
    assert "needs the tool server desk" in said


def test_rows_that_are_none_are_not_resumed(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    out.write_text('{"uid": 1}\n')
    status, _, said = replay(out, "--resume")
    assert status == 2
    assert "line 1 is no row of a replay" in said
    assert out.read_text() == '{"uid": 1}\n'
