"""`--reparse`: recorded episodes executed again under another interpreter profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner

from outcomebox.eval.replay_command import app
from outcomebox.rollout import (
    EpisodeSetting,
    EpisodeStore,
    ScriptedUser,
    make_policy,
    run_all,
    seeder,
)
from outcomebox.sandbox import load_tasks, sandbox, start_domains


def reparse(out: Path, *arguments: str) -> tuple[int, Any, str, list[dict[str, Any]]]:
    given = ["--out", str(out), "--json", *arguments]
    done = CliRunner().invoke(app, given, env={"COLUMNS": "200"}, catch_exceptions=False)
    told = json.loads(done.stdout) if done.stdout else None
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return done.exit_code, told, done.stderr, rows


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded episodes of the simulated policy, some calls written as parsers disagree about."""
    folder = tmp_path_factory.mktemp("reparse")
    tasks = load_tasks(["travel"])

    async def record() -> None:
        async with sandbox() as box:
            await start_domains(box, list(tasks.domains.values()))
            setting = EpisodeSetting(
                sandbox=box,
                policy=make_policy("simulated", {"skill": "4", "quirks": "0.15"}),
                user=ScriptedUser(),
                seed_of=seeder(3),
            )
            with EpisodeStore(folder / "episodes.jsonl") as store:
                await run_all(setting, tasks, store, attempts=1, concurrency=4)

    anyio.run(record)
    return folder


def test_the_profile_of_the_recording_gives_the_recorded_verdicts(
    episodes: Path, tmp_path: Path
) -> None:
    status, told, said, rows = reparse(
        tmp_path / "a.jsonl", "--reparse", "strict", "--episodes", str(episodes)
    )
    assert status == 0, said
    assert told["episodes"] == len(rows) > 20
    assert (told["calls_differ"], told["ran_out"], told["changed"]) == (0, 0, [])
    for row in rows:
        assert row["verdict"] == row["recorded"]["verdict"]
        assert row["finish_reason"] == row["recorded"]["finish_reason"]
        assert row["turns_read"] == row["turns_recorded"]
    assert {each["recorded"] for each in told["verdicts"]} == {"passed", "failed"}


def test_another_profile_tells_which_verdicts_change_and_where_it_begins(
    episodes: Path, tmp_path: Path
) -> None:
    status, told, said, rows = reparse(
        tmp_path / "a.jsonl",
        *("--reparse", "verl-0.9", "--plain-schemas", "--tasks", "travel"),
        *("--episodes", str(episodes / "episodes.jsonl")),
    )
    assert status == 0, said
    assert told["calls_differ"] > 0
    changed = [row for row in rows if row["verdict"] != row["recorded"]["verdict"]]
    assert len(told["changed"]) == len(changed) > 0
    for row in changed:
        first = row["first_difference"]
        assert first is not None
        assert first["recorded"] != first["now"]
    assert sum(each["episodes"] for each in told["verdicts"]) == len(rows)


def test_tools_that_a_profile_refuses_are_told(episodes: Path, tmp_path: Path) -> None:
    one = tmp_path / "episodes.jsonl"
    one.write_bytes((episodes / "episodes.jsonl").read_bytes().splitlines(keepends=True)[0])
    status, told, said, rows = reparse(
        tmp_path / "a.jsonl", "--reparse", "verl-0.9", "--episodes", str(one)
    )
    assert status == 0, said
    assert (told["tools_refused"], rows[0]["finish_reason"]) == (1, "empty_output")
    assert "refuses the tools as they are" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--reparse", "nope"], "profile 'nope' is unknown"),
        (["--reparse", "strict", "--tasks", "retail"], "name its domain or file with --tasks"),
        (["--reparse", "strict", "--episodes", "nothing.jsonl"], "nothing.jsonl: cannot be read"),
        ([], "give both --reparse and --episodes"),
    ],
)
def test_mistakes_are_told(
    episodes: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    given = arguments if "--episodes" in arguments else [*arguments, "--episodes", str(episodes)]
    status, told, said, rows = reparse(tmp_path / "a.jsonl", *given)
    assert (status, told, rows) == (2, None, [])
    assert words in said


def test_a_turn_without_its_raw_output_is_refused(episodes: Path, tmp_path: Path) -> None:
    from outcomebox.reward.rows import seal, unseal

    line = (episodes / "episodes.jsonl").read_bytes().splitlines(keepends=True)[0]
    row = unseal(line)
    index = next(i for i, m in enumerate(row["messages"]) if m["role"] == "assistant")
    del row["messages"][index]["raw"]
    file = tmp_path / "episodes.jsonl"
    file.write_bytes(seal(row))
    status, _, said, _ = reparse(
        tmp_path / "a.jsonl", "--reparse", "strict", "--episodes", str(file)
    )
    assert status == 2
    assert f"messages[{index}].raw: is not recorded" in said


def test_golden_replays_still_need_a_dataset(tmp_path: Path) -> None:
    status, _, said, _ = reparse(tmp_path / "a.jsonl")
    assert status == 2
    assert "dataset: is missing" in said
