"""`probe --check-parity`: the recorded outputs of a run, read by two parsers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from outcomebox.selection.probe_command import app

QUIRKS = ("--policy-option", "quirks=1")
READERS = ("--check-parity", "vllm-0.24", "verl-0.9")


def probe(out: Path, *arguments: str) -> tuple[int, Any, str]:
    given = ["--out", str(out), "--json", *arguments]
    done = CliRunner().invoke(app, given, env={"COLUMNS": "200"}, catch_exceptions=False)
    return done.exit_code, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, Any, str]:
    """A run of the simulated policy that writes every call in a way that parsers disagree about."""
    out = tmp_path_factory.mktemp("parity") / "run"
    return out, *probe(out, "--tasks", "travel", "--attempts", "2", *QUIRKS, *READERS)


def test_each_quirk_is_found_as_a_class_and_shrunk(run: tuple[Path, int, Any, str]) -> None:
    _, status, told, said = run
    assert status == 1, said  # training would execute other calls than evaluation
    found = {(each["cause"], each["by"]): each for each in told["parity"]["classes"]}
    for key, value in {
        ("white_space_stripped", "left"): " ",
        ("null_for_string", "right"): "null",
        ("boolean_flipped", "left"): "1",
    }.items():
        assert found[key]["shrunk"]["output"] == (
            f"<tool_call><function=f><parameter=a>{value}</parameter></tool_call>"
        )
        assert found[key]["calls_changed"] > 0
    draft = found["draft_executed", "both"]["shrunk"]
    assert draft["output"] == "<tool_call><function=f></think>"
    assert draft["prompt_state"] == "think_open"
    # These tools have unions, which verl refuses; so both were told plain types.
    (note,) = told["parity"]["notes"]
    assert note.startswith("verl-0.9 refuses the offered tools")


def test_the_report_lies_beside_the_rows(run: tuple[Path, int, Any, str]) -> None:
    out, _, told, said = run
    assert json.loads((out / "parity.json").read_text()) == told["parity"]
    assert "vllm-0.24 against verl-0.9" in (out / "parity.html").read_text()
    assert str(out / "parity.html") in said
    tools = json.loads((out / "tools.json").read_text())
    assert tools["travel"][0]["function"]["name"] == "get_travel_policy"


def test_a_finished_run_can_be_checked_later_without_sampling(
    run: tuple[Path, int, Any, str],
) -> None:
    out = run[0]
    rows = (out / "episodes.jsonl").read_bytes()
    (out / "tools.json").unlink()
    status, told, said = probe(out, "--resume", "--check-parity", "strict", "strict")
    assert status == 0, said
    assert told["parity"]["turns"] == run[2]["parity"]["turns"]
    assert (out / "episodes.jsonl").read_bytes() == rows
    # The tools are asked for again, of a run that had none recorded.
    assert (out / "tools.json").exists()


def test_a_reader_that_is_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, _, said = probe(out, "--tasks", "travel", "--check-parity", "vllm-0.24", "nope")
    assert status == 2
    assert "profile 'nope' is unknown" in said
    assert not out.exists()
