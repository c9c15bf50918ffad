"""export, merge, verify and digest: what they write, what they refuse, and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from outcomebox.reward.rows import read_rows, seal
from outcomebox.rollout import EpisodeStore, digest
from outcomebox.rollout.commands.app import app
from outcomebox.rollout.runfolder import EXCHANGES
from outcomebox.rollout.storing.export import SCHEMA
from outcomebox.rollout.storing.groups import TRY


def row(uid: str = "a", repetition: int = 0, attempt: int = 0, **more: Any) -> dict[str, Any]:
    """A whole row."""
    call = {"id": "c1", "name": "move", "arguments": {"n": 10**30}, "status": "ok"}
    outcome = more.pop("outcome", "passed")
    error = {"type": "E", "message": "m", "phase": "open"} if outcome == "system_error" else None
    return {
        "uid": uid,
        "repetition": repetition,
        "try": attempt,
        "domain": "d",
        "family": "f",
        "tags": ["x"],
        "verdict": {"outcome": outcome, "score": 1.0, "reasons": [], "details": {}},
        "finish_reason": "done",
        "messages": [
            {"role": "user", "content": "half \ud83d a \u2028 line"},
            {
                "role": "assistant",
                "content": None,
                "reasoning": "thinking",
                "tool_calls": [{**call, "executable": more.pop("executable", True)}],
            },
            {"role": "tool", "tool_call_id": "c1", "name": "move", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ],
        "changes": [],
        "calls": [],
        "schema_changes": [],
        "effects": None,
        "warnings": [],
        "usage": {"policy": {"prompt": 3, "completion": 4}},
        "timing": {"policy": 1.5, "messages": [0.1], "started": "2025-01-01T00:00:00.000+00:00"},
        "traffic": {"policy": {"requests": 2, "retries": 1, "waited_s": 0.5}},
        "policy": {"name": "golden", "simulated": True},
        "user": {"name": "scripted"},
        "judge": None,
        "seeds": {"episode": 1},
        "error": error,
        "versions": {"packages": {}, "task": "t", "domain": "d", "profile": "strict"},
        **more,
    }


def store(folder: Path, *rows: dict[str, Any], recorded: bool = False) -> Path:
    """A run of some rows."""
    folder.mkdir(parents=True, exist_ok=True)
    with EpisodeStore(folder / "episodes.jsonl") as kept:
        for each in rows:
            place = {name: each[name] for name in ("uid", "repetition", "try")}
            closing = {**place, "role": TRY, "n": 0, "exchanges": 0}
            kept.append(each, [closing] if recorded else [])
    return folder


def run(*arguments: object) -> Result:
    """A command's end."""
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_digest(tmp_path: Path) -> None:
    folder = store(tmp_path / "a", row("b"), row("a"), row("a", 1))
    result = run("digest", folder)
    assert (result.exit_code, result.output.strip()) == (
        0,
        digest(read_rows(folder / "episodes.jsonl")),
    )
    assert run("digest", folder / "episodes.jsonl").output == result.output
    assert run("digest", tmp_path / "none").exit_code == 2


def test_a_digest_of_results_knows_no_tries_that_broke(tmp_path: Path) -> None:
    smooth = store(tmp_path / "a", row("b"), row("a"))
    broken = store(
        tmp_path / "b",
        row("b", outcome="system_error"),
        row("a"),
        row("b", attempt=1),
        row("a", attempt=1, outcome="system_error"),
    )
    other = store(tmp_path / "c", row("b"), row("a", outcome="failed"))
    told = [run("digest", folder, "--results").output for folder in (smooth, broken, other)]
    assert told[0] == told[1] != told[2]
    assert told[0].strip() == digest(read_rows(broken / "episodes.jsonl"), results=True)
    assert run("digest", smooth).output != run("digest", broken).output


def test_parquet_has_one_typed_row_a_try(tmp_path: Path) -> None:
    folder = store(tmp_path / "a", row(outcome="system_error"), row(attempt=1), row("b"))
    to = tmp_path / "rows.parquet"
    assert run("export", folder, "--parquet", to).exit_code == 0
    table = pl.read_parquet(to)
    assert table.schema == SCHEMA
    assert table["outcome"].to_list() == ["system_error", "passed", "passed"]
    first = table.row(0, named=True)
    assert first["error_phase"] == "open"
    assert (first["policy_prompt_tokens"], first["turns"], first["tool_calls"]) == (3, 2, 1)
    assert (first["seconds"], first["requests"], first["waited_s"]) == (1.5, 2, 0.5)
    assert json.loads(first["messages"]) == row()["messages"]
    again = run("export", folder, "--parquet", to)
    assert again.exit_code == 2
    assert "is there already" in again.output
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


def test_marks_of_an_adaptive_probe_go_where_its_rows_go(tmp_path: Path) -> None:
    one = store(tmp_path / "a", row("a"), row("b"))
    two = store(tmp_path / "b", row("c"))
    (one / "stopped.json").write_text('{"b": {"rule": "exact", "clean": 1}}')
    merged, table = tmp_path / "all", tmp_path / "rows.parquet"
    assert run("merge", one, two, "--out", merged).exit_code == 0
    assert json.loads((merged / "stopped.json").read_text()) == {"b": {"rule": "exact", "clean": 1}}
    assert run("export", merged, "--parquet", table).exit_code == 0
    told = pl.read_parquet(table)
    assert dict(told.select("uid", "stopped").iter_rows()) == {"a": False, "b": True, "c": False}

    (two / "stopped.json").write_text('{"b": {"rule": "exact", "clean": 3}}')
    refused = run("merge", one, two, "--out", tmp_path / "no")
    assert refused.exit_code == 2
    assert "in another shard" in refused.output
    assert not (tmp_path / "no").exists()
    (two / "stopped.json").write_text("[")
    refused = run("merge", two, one, "--out", tmp_path / "no")
    assert (refused.exit_code, "restore it" in refused.output) == (2, True)


def test_chat_takes_the_results_that_passed_in_the_order_of_their_keys(tmp_path: Path) -> None:
    folder = store(
        tmp_path / "a",
        row("b"),
        row("a", 1),
        row("a", 0, outcome="system_error"),
        row("a", 0, 1),
        row("c", outcome="failed"),
        row("d", executable=False),
    )
    to = tmp_path / "sft.jsonl"
    result = run("export", folder, "--chat", to, "--no-tools")
    assert result.exit_code == 0, result.output
    assert "3 conversations on 2 tasks" in result.output
    assert "1 left out" in result.output
    lines = [json.loads(line) for line in to.read_bytes().split(b"\n")[:-1]]
    assert [(each["uid"], each["repetition"]) for each in lines] == [("a", 0), ("a", 1), ("b", 0)]
    call = lines[0]["messages"][1]["tool_calls"][0]
    assert call["type"] == "function"
    assert json.loads(call["function"]["arguments"]) == {"n": 10**30}
    assert "reasoning_content" not in lines[0]["messages"][1]
    more = tmp_path / "more.jsonl"
    run("export", folder, "--chat", more, "--no-tools", "--per-task", 1, "--reasoning")
    lines = [json.loads(line) for line in more.read_bytes().split(b"\n")[:-1]]
    assert [each["uid"] for each in lines] == ["a", "b"]
    assert lines[0]["messages"][1]["reasoning_content"] == "thinking"


def test_tasks_of_a_benchmark_are_no_training_data_unless_one_insists(tmp_path: Path) -> None:
    versions = {"packages": {}, "task": "t", "servers": "s", "profile": "strict"}
    folder = store(tmp_path / "a", row("b/1", versions=versions))
    refused = run("export", folder, "--chat", tmp_path / "x.jsonl", "--no-tools")
    assert refused.exit_code == 2
    assert "made for evaluation" in refused.output
    assert not (tmp_path / "x.jsonl").exists()
    insisted = run("export", folder, "--chat", tmp_path / "x.jsonl", "--no-tools", "--benchmark")
    assert insisted.exit_code == 0
    assert "warning" in insisted.output


def test_merge_keeps_each_try_once(tmp_path: Path) -> None:
    one = store(tmp_path / "1", row("b"), row("a"), recorded=True)
    other = store(tmp_path / "2", row("a", timing={"policy": 9.0}), row("a", 1), recorded=True)
    whole = store(tmp_path / "w", row("a"), row("a", 1), row("b"), recorded=True)
    out = tmp_path / "deep" / "out"
    result = run("merge", one, other, "--out", out)
    assert result.exit_code == 0, result.output
    for name in ("episodes.jsonl", "episodes.index", EXCHANGES):
        assert (out / name).read_bytes() == (whole / name).read_bytes()
    assert run("verify", out).exit_code == 0
    assert run("merge", one, other, "--out", out).exit_code == 2


@pytest.mark.parametrize(("told", "whole"), [(True, True), (False, False)])
def test_merge_tells_what_all_shards_were_to_do(tmp_path: Path, told: bool, whole: bool) -> None:
    shards = []
    for uid in "ba":
        folder = store(tmp_path / uid, row(uid))
        plan = {"uids": [uid], "domains": ["d"], "tags": [["x"]], "repetitions": [0, 1]}
        if not told and uid == "a":
            del plan["domains"]
        settings = {"spec": {"only": [uid]}, "attempts": 2, "repetitions": None, "plan": plan}
        (folder / "run.json").write_text(json.dumps(settings))
        shards.append(folder)
    result = run("merge", *shards, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "out" / "run.json").read_text())["plan"]
    assert found == (
        {
            "uids": ["a", "b"],
            "domains": ["d", "d"],
            "tags": [["x"], ["x"]],
            "repetitions": [0, 1],
        }
        if whole
        else None
    )


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (row("a", finish_reason="user_done"), "says something else at"),
        (row("b", policy={"name": "noop"}), "policy: differs from"),
        (row("a", 1, versions={**row()["versions"], "task": "u"}), "another version of the task"),
        (row("b", versions={**row()["versions"], "profile": "x"}), "profile: differs from"),
    ],
)
def test_merge_refuses_what_is_not_of_one_run(
    tmp_path: Path, other: dict[str, Any], said: str
) -> None:
    shards = store(tmp_path / "1", row("a")), store(tmp_path / "2", other)
    result = run("merge", *shards, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "out").exists()


def test_verify_names_every_fault_by_its_line(tmp_path: Path) -> None:
    folder = store(tmp_path / "a", row("a"), row("b"), row("c"), recorded=True)
    assert run("verify", folder).exit_code == 0
    path = folder / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"done"', b'"don3"')
    path.write_bytes(b"".join([*lines, lines[0], b'{"uid"']))
    result = run("verify", folder, "--json")
    assert result.exit_code == 1
    faults = json.loads(result.stdout)["faults"]
    assert [(each["kind"], each["file"], each["line"]) for each in faults] == [
        ("damaged", "episodes.jsonl", 2),
        ("twice", "episodes.jsonl", 4),
        ("cut", "episodes.jsonl", 5),
        ("exchanges", EXCHANGES, None),
    ]


def test_verify_finds_an_index_and_exchanges_that_do_not_fit(tmp_path: Path) -> None:
    folder = store(tmp_path / "a", row("a"), row("b"), recorded=True)
    index = folder / "episodes.index"
    index.write_bytes(index.read_bytes().replace(b" p ", b" f ", 1))
    with (folder / EXCHANGES).open("ab") as file:
        file.write(seal({"uid": "z", "repetition": 0, "try": 0, "role": "policy", "n": 0}))
    result = run("verify", folder)
    assert result.exit_code == 1
    assert "episodes.index:1" in result.output
    assert f"{EXCHANGES}:3: exchanges of a try that was cut off" in result.output


def test_verify_knows_the_plan(tmp_path: Path) -> None:
    folder = store(tmp_path / "a", row("a"), row("b", outcome="system_error"))
    settings = {"spec": {"tasks": ["no such tasks"]}, "attempts": 2, "repetitions": None}
    (folder / "run.json").write_text(json.dumps(settings))
    result = run("verify", folder, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["planned"] == 4
    assert [(each["kind"], each["text"].split(": ", 1)[1][:14]) for each in found["faults"]] == [
        ("missing", "a repetition 1"),
        ("missing", "b repetition 1"),
        ("no_verdict", "b repetition 0"),
    ]
