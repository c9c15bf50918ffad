from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from outcomebox.interpret import interpret
from tools.bench import interpret as bench
from tools.bench.interpret_reference import SIDES, seconds_per_call

NOBODY: dict[str, str | None] = dict.fromkeys(SIDES)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_SIZES", (64, 256))
    monkeypatch.setattr(bench, "_FLOODS", ("<",))


def stand_in(folder: Path, program: str) -> str:
    """A reference's Python: it runs ``program`` whatever it is asked to run."""
    file = folder / "python"
    file.write_text(f"#!{sys.executable}\n{program}\n", "utf-8")
    file.chmod(0o755)
    return str(file)


def test_the_inputs_are_turns_with_calls_that_are_read() -> None:
    texts = bench.inputs()
    turns = {
        name: interpret(text, tools=bench.TOOLS, prompt_state="think_open")
        for name, text in texts.items()
    }
    (call,) = turns["turn"].tool_calls
    assert (call.status, call.arguments) == ("ok", {"order": "00501", "cents": 750, "notify": True})
    assert len(turns["turn"].reasoning or "") == 201
    assert [each.status for each in turns["code"].tool_calls] == ["ok"]
    assert turns["answer"].content
    assert not any(turn.diagnostics for turn in turns.values())


def test_what_is_not_given_is_skipped_and_said() -> None:
    result = bench.measure(NOBODY, ["strict", "vllm-0.32"], seconds=0.001)
    assert list(result["sides"]) == ["strict", "vllm-0.32"]
    assert result["skipped"] == {side: f"no --{side} PYTHON given" for side in SIDES}
    assert result["turns_per_second"] > 0
    assert set(result["sides"]["strict"]["each"]) == set(result["inputs"])
    assert [goal["goal"].split(",")[0] for goal in result["goals"]] == ["turns a second", "growth"]
    json.dumps(result)
    shown = bench.table(result)
    assert "vllm: skipped, no --vllm PYTHON given" in shown
    assert "turns a second" in shown


def test_a_reference_is_compared_on_the_same_inputs(tmp_path: Path) -> None:
    python = stand_in(
        tmp_path,
        "import json, sys\n"
        "given = json.load(sys.stdin)\n"
        "print('loading ...')\n"
        "times = {name: 60.0 for name in given['inputs']}\n"
        "print(json.dumps({'version': '9', 'times': {sys.argv[2]: times}}))",
    )
    result = bench.measure({**NOBODY, "vllm": python}, [], seconds=0.001)
    assert result["sides"]["vllm"]["version"] == "9"
    assert result["ratios"]["vllm"] > 100
    goal = next(each for each in result["goals"] if each["goal"] == "times vllm's speed")
    assert goal["met"]
    assert "vllm 9" in bench.table(result)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("raise SystemExit('ModuleNotFoundError: no vllm')", "ModuleNotFoundError: no vllm"),
        ("raise SystemExit(3)", "no output"),
        (None, "No such file"),
    ],
)
def test_a_reference_that_does_not_run_is_skipped_with_the_reason(
    tmp_path: Path, program: str | None, why: str
) -> None:
    python = stand_in(tmp_path, program) if program else str(tmp_path / "none")
    result = bench.measure({**NOBODY, "vllm": python}, [], seconds=0.001)
    assert why in result["skipped"]["vllm"]
    assert "vllm" not in result["sides"]


def test_a_missed_goal_is_said() -> None:
    goals = bench._goals(
        {"turns_per_second": 10.0, "floods": {"x": [1.0, 20.0]}, "ratios": {"vllm": 99.0}}
    )
    assert [goal["met"] for goal in goals] == [False, False, False]
    assert goals[1]["goal"] == "growth, worst: x"


def test_a_call_is_timed_by_its_best_round() -> None:
    calls: list[int] = []
    assert seconds_per_call(lambda: calls.append(1), 0.01) > 0
    assert len(calls) > 100
    once: list[int] = []

    def slow() -> None:
        once.append(sum(range(300_000)))

    assert seconds_per_call(slow, 1e-6) > 0
    assert len(once) == 1
