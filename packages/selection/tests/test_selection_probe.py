"""The probe command as its users run it: a process, its files, its exit status."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from outcomebox.rollout import digest, read_rows
from outcomebox.selection.episodes import read_episodes
from outcomebox.selection.probe_command import app

SHELF = Path(__file__).parents[2] / "sandbox" / "tests" / "domains" / "shelf"
DEAD_ENDPOINT = ["--policy-option", "base_url=http://127.0.0.1:9/v1", "--policy-option", "model=m"]
COMMAND = [sys.executable, "-m", "outcomebox.selection.probe_command"]


def arguments(*given: object, tasks: object = SHELF) -> list[str]:
    """Arguments of the command, on the shelf domain."""
    return ["--tasks", str(tasks), *map(str, given)]


def run(*given: object, tasks: object = SHELF, **env: str) -> Result:
    """Run the command to its end, in this process."""
    result = CliRunner().invoke(app, arguments(*given, tasks=tasks), env={"COLUMNS": "200", **env})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def found(folder: Path) -> tuple[str, bytes]:
    """What a run found: the digest of its rows, and its manifest."""
    return digest(read_rows(folder / "episodes.jsonl")), (folder / "manifest.json").read_bytes()


def test_one_seed_gives_the_same_run_at_any_concurrency_and_another_seed_another(
    tmp_path: Path,
) -> None:
    runs, manifests = [], []
    for name, concurrency, seed in (("a", 1, 5), ("b", 8, 5), ("c", 8, 6)):
        done = run(
            "--attempts", 8, "--seed", seed, "--concurrency", concurrency, "--out", tmp_path / name
        )
        assert done.exit_code == 0, done.stderr
        assert "simulated policy" in done.stdout
        assert "simulated policy" in done.stderr
        runs.append(found(tmp_path / name))
        manifests.append(json.loads(runs[-1][1])["inputs"]["episodes"]["digest"])
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0]
    # The manifest's digest is of the facts alone: the order of the rows does not change it.
    lines = (tmp_path / "a" / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "other.jsonl").write_bytes(b"".join(reversed(lines)))
    assert read_episodes([tmp_path / "other.jsonl"]).digest == manifests[0]
    assert manifests[0] == manifests[1] != manifests[2]
    for name in ("train.yaml", "test.yaml", "bands.csv", "bands.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_a_killed_run_goes_on_and_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    settings: list[Any] = ["--attempts", 8, "--seed", 3, "--concurrency", 4]
    whole = run(*settings, "--out", tmp_path / "whole")
    assert whole.exit_code == 0, whole.stderr
    rng = random.Random(11)
    out = tmp_path / "killed"
    kills = 0
    while kills < 3:
        runner = subprocess.Popen(
            [*COMMAND, *arguments(*settings, "--out", out, "--resume")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        rows = out / "episodes.jsonl"
        before = rows.stat().st_size if rows.exists() else 0
        # Some way into the episodes, wherever that is on this machine.
        while runner.poll() is None and (
            not rows.exists() or rows.stat().st_size <= before + rng.randrange(1, 30_000)
        ):
            time.sleep(0.002)
        if runner.poll() is not None:
            break
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        kills += 1
    assert kills >= 2
    done = run(*settings, "--out", out, "--resume")
    assert done.exit_code == 0, done.stderr
    assert found(out) == found(tmp_path / "whole")
    keys = [
        (row["uid"], row["repetition"], row["try"]) for row in read_rows(out / "episodes.jsonl")
    ]
    assert len(keys) == len(set(keys)) == 6 * 8


def test_json_is_one_object_and_a_resumed_whole_run_makes_nothing_new(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = run("--attempts", 4, "--policy", "golden", "--out", out, "--json")
    assert first.exit_code == 0, first.stderr
    plain = json.loads(first.stdout)
    assert plain["report"]["outcomes"] == {"passed": 24}
    assert plain["report"]["complete"] is True
    assert plain["simulated"] is True
    before = (out / "episodes.jsonl").read_bytes()
    again = run("--resume", "--out", out, "--json")
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["report"]["resumed"] == 24
    assert (out / "episodes.jsonl").read_bytes() == before


def broken_domain(folder: Path, *golden: dict[str, Any]) -> Path:
    """The shelf domain with one task whose golden list is this one."""
    folder.mkdir()
    for name in ("domain.yaml", "schema.sql", "seed.sql", "policy.md", "server.py"):
        (folder / name).write_text((SHELF / name).read_text())
    task = {
        "uid": "shelf/broken/1",
        "domain": "shelf",
        "family": "broken",
        "query": "Move it.",
        "golden": list(golden),
        "expect": {"boxes": {"update": [{"key": {"box_id": "B-008"}, "set": {"weight": 9}}]}},
        "limits": {"tool_deadline_s": 2.0},
    }
    (folder / "tasks").mkdir()
    (folder / "tasks" / "t.yaml").write_text(json.dumps({"tasks": [task]}))
    return folder


@pytest.mark.parametrize(("tool", "phase", "error"), [("vanish", "read", "StateUnreadable")])
def test_attempts_without_a_verdict_are_reported_and_the_status_says_so(
    tmp_path: Path, tool: str, phase: str, error: str
) -> None:
    tasks = broken_domain(tmp_path / "d", {"tool": tool, "arguments": {}})
    out = tmp_path / "run"
    done = run("--policy", "golden", "--attempts", 2, "--out", out, tasks=tasks)
    assert done.exit_code == 1
    assert "2 of 2 attempts have no verdict" in done.stderr
    assert f"{phase}: {error}" in done.stderr
    assert "--resume" in done.stderr
    rows = list(read_rows(out / "episodes.jsonl"))
    assert {row["verdict"]["outcome"] for row in rows} == {"system_error"}
    assert sorted(row["try"] for row in rows) == [0, 0, 1, 1, 2, 2]


def test_a_call_that_breaks_the_server_each_time_is_the_agents(tmp_path: Path) -> None:
    tasks = broken_domain(tmp_path / "d", {"tool": "die", "arguments": {}})
    out = tmp_path / "run"
    done = run("--policy", "golden", "--attempts", 4, "--out", out, "--json", tasks=tasks)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["report"]["outcomes"] == {"failed": 4}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "nobody"], ["nobody", "golden, noop, openai, replay, simulated"]),
        (["--policy", "openai"], ["base_url"]),
        (
            ["--policy", "openai", *DEAD_ENDPOINT],
            ["does not answer", "http://127.0.0.1:9/v1"],
        ),
        (["--policy-option", "skill"], ["NAME=VALUE"]),
        (["--user-option", "model=m"], ["base_url"]),
        (["--config", "{tmp}/missing.yaml"], ["missing.yaml"]),
        (["--config", "{tmp}/bad.yaml"], ["bad.yaml", "probe.attempts", "many"]),
        (["--out", "{tmp}/file/run"], ["file", "cannot be written"]),
        (["--resume", "--out", "{tmp}"], ["curation.yaml", "is missing"]),
    ],
)
def test_bad_input_is_one_clear_error_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "bad.yaml").write_text("probe: {attempts: many}\n")
    before = sorted(path for path in tmp_path.rglob("*"))
    filled = [argument.format(tmp=tmp_path) for argument in arguments]
    if "--out" not in filled:
        filled += ["--out", str(tmp_path / "run")]
    done = run(*filled, OPENAI_BASE_URL="")
    assert done.exit_code == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error:") == 1
    for word in words:
        assert word in done.stderr
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_bad_task_file_is_named_with_task_field_and_value(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("domain: retail\nfamily: x\ntasks:\n- {uid: a, query: 3, expect: {}}\n")
    done = run("--out", tmp_path / "run", tasks=file)
    assert done.exit_code == 2
    for word in (str(file), "a: tasks.0.query", "3"):
        assert word in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_only_with_what_it_was_started_with(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("--attempts", 4, "--out", out).exit_code == 0
    twice = run("--attempts", 4, "--out", out)
    assert twice.exit_code == 2
    assert "--resume" in twice.stderr
    for arguments, field in ((["--seed", 9], "probe.seed"), (["--policy", "noop"], "probe.policy")):
        other = run(*arguments, "--resume", "--out", out)
        assert other.exit_code == 2
        assert field in other.stderr
    before = found(out)
    assert run("--resume", "--out", out, "--concurrency", 2).exit_code == 0
    assert found(out) == before


def test_help_has_examples() -> None:
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    assert "Examples:" in done.stdout
    assert "--resume" in done.stdout
