"""A benchmark run of a dataset's list: its keys, its resuming, and when a figure is final."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from outcomebox.eval.bench_command import bench
from outcomebox.eval.completeness import completeness
from outcomebox.eval.results import by_task, read_results
from outcomebox.reward.rows import read_rows, seal
from outcomebox.rollout.errors import PolicyError
from outcomebox.rollout.policies.golden import GoldenPolicy
from outcomebox.rollout.policy import EpisodeContext, PolicyEpisode

DESK = Path(__file__).parents[3] / "examples" / "desk"
UIDS = ("desk_refunds.py:too_much_is_refused", "desk_refunds.py:whole_refund")

app = typer.Typer(add_completion=False, rich_markup_mode=None)
app.command()(bench)


def run(out: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the command to its end: status, output, what it said."""
    done = CliRunner().invoke(
        app,
        ["--out", str(out), *arguments],
        env={"COLUMNS": "200"},
        catch_exceptions=False,
    )
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Start the benchmark of two tasks of the example dataset."""
    names = tmp_path / "list.yaml"
    names.write_text("".join(f"- {uid}\n" for uid in UIDS))
    given = ["--dataset", str(DESK), "--servers", str(DESK / "servers.yaml")]
    given += ["--list", str(names), "--policy", "golden"]

    def started(out: Path, *more: str) -> tuple[int, str, str]:
        return run(out, *given, *more)

    return started


def test_a_complete_run_is_final_and_reported(
    start: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    status, told, said = start(out, "--attempts", "2", "--json")
    assert status == 0, said
    assert "Due: 2 tasks x 2 attempts = 4 (customer-service 2)" in said
    plain = json.loads(told)
    assert plain["final"] is True
    assert (out / "report" / "report.html").is_file()
    found = read_results([str(out)])
    assert completeness(found).final
    assert by_task(found).select("uid", "passed", "clean").rows() == [(uid, 2, 2) for uid in UIDS]
    assert found.attempts["wrote"].to_list() == [False, False, True, True]


def test_what_is_missing_or_broken_is_made_again_and_nothing_else(
    start: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    status, _, said = start(out, "--attempts", "3")
    assert status == 0, said
    rows = {(row["uid"], row["repetition"]): row for row in read_rows(out / "episodes.jsonl")}
    error = {"type": "PolicyError", "message": "503", "phase": "policy"}
    broken = rows[UIDS[0], 1] | {
        "verdict": {"outcome": "system_error", "score": None, "reasons": [], "details": {}},
        "error": error,
    }
    kept = [row for key, row in rows.items() if key not in {(UIDS[0], 1), (UIDS[1], 2)}]
    data = b"".join(map(seal, [*kept, broken]))
    (out / "episodes.jsonl").write_bytes(data + b'{"uid": "cut')
    status, _, said = run(out, "--resume")
    assert status == 0, said
    assert "There: 4 with a result; 1 broken and 1 missing, which are made now" in said
    after = list(read_rows(out / "episodes.jsonl"))
    assert b"".join(map(seal, after[:5])) == data
    made = {(row["uid"], row["repetition"], row["try"]) for row in after[5:]}
    assert made == {(UIDS[0], 1, 1), (UIDS[1], 2, 0)}
    assert completeness(read_results([str(out)])).final


def fails_on(uid: str) -> Callable[[GoldenPolicy, EpisodeContext], PolicyEpisode]:
    """A policy whose endpoint gives no answer for one task."""
    whole = GoldenPolicy.start

    def started(self: GoldenPolicy, context: EpisodeContext) -> PolicyEpisode:
        if context.task.uid == uid:
            raise PolicyError("no answer")
        return whole(self, context)

    return started


def test_no_figure_is_printed_while_an_attempt_has_no_verdict(
    start: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GoldenPolicy, "start", fails_on(UIDS[1]))
    out = tmp_path / "run"
    status, told, said = start(out, "--attempts", "2", "--tries", "1", "--json")
    assert status == 1
    plain: dict[str, Any] = json.loads(told)
    assert plain.keys() == {"run", "completeness"}
    assert plain["completeness"]["broken"] == [[UIDS[1], 0], [UIDS[1], 1]]
    assert "NOT FINAL: 2 of 4 expected attempts have a result (1 of 2 tasks)." in said
    assert f"outcomebox-eval bench --resume --out {out}" in said
    assert "%" not in said
    assert not (out / "report").exists()
    status, told, said = run(out, "--resume", "--tries", "1", "--allow-incomplete")
    assert status == 0
    assert "NOT FINAL" in told
    assert "NOT FINAL" in (out / "report" / "report.md").read_text()
    assert len(list(read_rows(out / "episodes.jsonl"))) == 6
    monkeypatch.undo()
    status, told, said = run(out, "--resume")
    assert status == 0
    assert "Final: 4 of 4" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--list", "nothing.yaml"], "nothing.yaml"),
        (["--policy", "gold"], "gold"),
        (["--attempts", "0"], "--attempts"),
        (["--only", "desk_refunds.py:nothing"], "did you mean"),
    ],
)
def test_bad_input_is_one_clear_error_and_nothing_is_written(
    start: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    arguments: list[str],
    words: str,
) -> None:
    out = tmp_path / "run"
    status, _, said = start(out, *arguments)
    assert status == 2
    assert words in said
    assert not out.exists()


def test_a_run_of_other_tasks_is_refused_before_anything_is_made(
    start: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    start(out, "--attempts", "1", "--only", UIDS[0])
    before = (out / "episodes.jsonl").read_bytes()
    status, _, said = run(out, "--resume", "--attempts", "2")
    assert (status, "attempts: was 1" in said) == (2, True)
    rows = [json.loads(line) for line in before.splitlines()]
    foreign = rows[0] | {"uid": "desk_refunds.py:another"}
    (out / "episodes.jsonl").write_bytes(before + seal(foreign))
    status, _, said = run(out, "--resume")
    assert (status, "not part of this one" in said) == (2, True)
