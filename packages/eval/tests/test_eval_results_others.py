"""Results of other systems: ThinkingBox rows, tau2-bench files, logs of Inspect."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from outcomebox.eval.completeness import completeness
from outcomebox.eval.results import Results, by_task, read_results
from outcomebox.sandbox.errors import InputError
from result_rows import lines_file


def json_file(path: Path, value: Any) -> str:
    """A JSON file."""
    path.write_text(json.dumps(value))
    return str(path)


def brief(found: Results) -> list[tuple[Any, ...]]:
    """What the tries came to."""
    names = ("uid", "repetition", "try", "outcome", "finish_reason", "error_phase")
    return found.attempts.select(names).rows()


# ThinkingBox


def tb_row(uid: str, result: bool | None, **more: Any) -> dict[str, Any]:
    """A row of `tb infer`."""
    return {
        "uid": uid,
        "messages": [
            {"T": "Text", "role": "user", "content": "please", "metadata": {}},
            {"T": "Text", "role": "assistant", "content": "hm", "metadata": {"tag": "think"}},
            {"T": "ParallelToolCall", "tool_calls": [], "metadata": {}},
            {"T": "ToolResponse", "name": "x", "content": "1", "metadata": {}},
            {"T": "ToolResponse", "name": "y", "content": "2", "metadata": {}},
            {"T": "Text", "role": "assistant", "content": "done <DONE>", "metadata": {}},
        ],
        "test_result": None
        if result is None
        else {"result": result, "reward": float(result), "is_system_error": False},
        "test_tags": {"labels": ["hard"], "domain": "shop", "skip": False},
        "usage": [
            {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 60},
                "output_tokens": 10,
                "output_tokens_details": {"reasoning_tokens": 4},
            },
            {
                "input_tokens": 150,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        ],
        "metadata": {"repetition": 0, "execution_time": 2.5, "agent": "think", "scenario": "s"},
        "is_system_error": False,
        "finish_reason": "done",
        **more,
    }


def test_rows_of_thinkingbox_count_system_errors_nowhere(tmp_path: Path) -> None:
    error = {"error": {"type": "TimeoutError", "message": "late"}}
    check = {"result": False, "reward": 0.0, "is_system_error": True}
    rows = [
        tb_row("a", True),
        tb_row("a", False, metadata={"repetition": 1}),
        tb_row("a", None, is_system_error=True, metadata=error),  # has lost its repetition
        tb_row("b", None, test_result=check),
        tb_row("b", None, finish_reason="skipped", metadata={"repetition": 1}),
        tb_row("b", None, metadata={"repetition": 2}),
        tb_row("b", False, finish_reason="agent_error", metadata={"repetition": 3}),
    ]
    for number in (1, 2, 6):
        rows[number]["metadata"]["agent"] = "think"
    for each in rows:
        each["metadata"]["agent"] = "think"
    found = read_results([str(lines_file(tmp_path / "tb.jsonl", rows))])
    assert brief(found) == [
        ("a", 0, 0, "passed", "done", None),
        ("a", 1, 0, "failed", "done", None),
        ("a", 2, 0, "system_error", None, "run"),
        ("b", 0, 0, "system_error", None, "check"),
        ("b", 1, 0, "system_error", None, "policy"),
        ("b", 2, 0, "system_error", None, "check"),
        ("b", 3, 0, "failed", "empty_output", None),
    ]
    first = found.attempts.to_dicts()[0]
    assert (first["domain"], first["tags"], first["seconds"]) == ("shop", ["hard"], 2.5)
    assert (first["turns"], first["tool_calls"], first["tool_errors"]) == (2, 2, None)
    assert first["usage"] == [
        {
            "role": "policy",
            "model": None,
            "input": 250,
            "cached": 60,
            "output": 15,
            "reasoning": 4,
        }
    ]
    assert found.attempts["error_type"].to_list()[2] == "TimeoutError"
    proof = completeness(found)
    assert (proof.inferred, len(proof.broken), proof.missing) == (True, 4, (("a", 3),))


def test_tokens_that_one_request_does_not_tell_nobody_knows(tmp_path: Path) -> None:
    usage = [{"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}}]
    told = [*usage, {"input_tokens": 150, "output_tokens": 5}]
    found = read_results([str(lines_file(tmp_path / "tb.jsonl", [tb_row("a", True, usage=told)]))])
    (one,) = found.attempts["usage"].to_list()[0]
    assert (one["input"], one["cached"], one["output"]) == (250, None, None)


def test_fields_of_thinkingbox_rows_can_be_chosen(tmp_path: Path) -> None:
    rows = [tb_row("a", True, info={"parts": [{"area": "sales"}], "a.b": 3})]
    file = str(lines_file(tmp_path / "tb.jsonl", rows))
    fields = {"domain": "info.parts.0.area", "repetition": "info.a.b"}
    with pytest.raises(InputError, match=r"line 1: uid: is neither an object"):
        read_results([file], fields={"repetition": "uid.a"}, kind="thinkingbox")
    rows[0]["info.a.b"] = 3
    found = read_results([str(lines_file(tmp_path / "tb.jsonl", rows))], fields=fields)
    assert found.attempts.select("domain", "repetition").rows() == [("sales", 3)]
    with pytest.raises(InputError, match="no such column"):
        read_results([file], fields={"colour": "uid"}, kind="thinkingbox")


# tau2-bench


def tau2_run(task: str, trial: int | None, reward: float | None, **more: Any) -> dict[str, Any]:
    """A simulation of tau2-bench."""
    return {
        "id": f"{task}-{trial}",
        "task_id": task,
        "trial": trial,
        "duration": 12.5,
        "termination_reason": "user_stop",
        "agent_cost": 0.25,
        "user_cost": 0.05,
        "reward_info": None if reward is None else {"reward": reward},
        "messages": [
            {"role": "assistant", "content": "Hi", "usage": None},
            {
                "role": "user",
                "content": "Hello",
                "usage": {"prompt_tokens": 50, "completion_tokens": 5},
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            },
            {
                "role": "tool",
                "tool_messages": [
                    {"role": "tool", "requestor": "assistant", "error": False},
                    {"role": "tool", "requestor": "assistant", "error": True},
                ],
            },
            {"role": "tool", "requestor": "user", "error": True},
            {
                "role": "assistant",
                "content": "Bye",
                "usage": {"prompt_tokens": 120, "completion_tokens": 12},
            },
        ],
        **more,
    }


def tau2_file(simulations: list[dict[str, Any]], **info: Any) -> dict[str, Any]:
    """A result file of tau2-bench."""
    return {
        "timestamp": "2026-01-01",
        "info": {
            "git_commit": "0123456789abcdef",
            "num_trials": 2,
            "agent_info": {"implementation": "llm_agent", "llm": "m", "llm_args": {"t": 0}},
            "user_info": {"implementation": "user_simulator", "llm": "u"},
            "environment_info": {"domain_name": "retail"},
            **info,
        },
        "tasks": [{"id": "0"}, {"id": "1"}],
        "simulations": simulations,
    }


def test_a_result_file_of_tau2_bench(tmp_path: Path) -> None:
    runs = [
        tau2_run("0", 0, 1.0),
        tau2_run("0", 1, 0.5, termination_reason="max_steps"),
        tau2_run("1", 0, 0.0, termination_reason="user_error"),
        tau2_run("1", 1, None, termination_reason="infrastructure_error", messages=None),
    ]
    found = read_results([json_file(tmp_path / "r.json", tau2_file(runs))])
    assert brief(found) == [
        ("retail/0", 0, 0, "passed", "user_done", None),
        ("retail/0", 1, 0, "failed", "agent_limit", None),
        ("retail/1", 0, 0, "system_error", None, "user"),
        ("retail/1", 1, 0, "system_error", None, "run"),
    ]
    first = found.attempts.to_dicts()[0]
    assert (first["turns"], first["tool_calls"], first["tool_errors"]) == (3, 2, 1)
    assert (first["last_tool_error"], first["wrote"], first["score"]) == (True, None, 1.0)
    assert first["cost"] == pytest.approx(0.3)
    assert {
        each["role"]: (each["model"], each["input"], each["output"]) for each in first["usage"]
    } == {
        "user": ("u", 50, 5),
        "policy": ("m", 220, 22),
    }
    proof = completeness(found)
    assert (proof.inferred, proof.final, proof.todo) == (
        False,
        False,
        (("retail/1", 0), ("retail/1", 1)),
    )
    again = read_results([json_file(tmp_path / "r.json", tau2_file(runs[:2]))])
    assert completeness(again).missing == (("retail/1", 0), ("retail/1", 1))


def test_tau2_bench_in_a_folder_must_hold_what_its_index_says(tmp_path: Path) -> None:
    runs = [tau2_run(task, trial, 1.0) for task in "01" for trial in range(2)]
    folder = tmp_path / "run"
    (folder / "simulations").mkdir(parents=True)
    head = tau2_file([]) | {"simulation_index": [{"id": run["id"]} for run in runs]}
    del head["simulations"]
    json_file(folder / "results.json", head)
    for run in runs:
        json_file(folder / "simulations" / f"{run['id']}.json", run)
    found = read_results([str(folder)])
    assert completeness(found).final
    (folder / "simulations" / "0-1.json").unlink()
    with pytest.raises(InputError, match=r"differ: 1 files are missing \['0-1'\]"):
        read_results([str(folder)])


TAU2_BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "NaN": (tau2_file([tau2_run("0", 0, math.nan)]), "reward must|nothing tells|not JSON"),
    "above one": (tau2_file([tau2_run("0", 0, 1.5)]), "simulation 1: reward_info.reward"),
    "a text": (
        tau2_file([tau2_run("0", 0, 1.0) | {"reward_info": {"reward": "1"}}]),
        "reward_info.reward: must be a number",
    ),
    "no trial": (tau2_file([tau2_run("0", None, 1.0)]), "simulation 1: trial"),
    "no trials": (tau2_file([], num_trials=0), "num_trials: must be a whole number from 1"),
    "doubled": (
        tau2_file([tau2_run("0", 0, 1.0), tau2_run("0", 0, 0.0)]),
        "simulation 2: .* stands already at .* simulation 1",
    ),
    "two ids": (
        tau2_file([tau2_run("0", 0, 1.0), {**tau2_run("0", 1, 1.0), "task_id": 0}]),
        "the number 0 and the text '0' both name a task",
    ),
    "none": (tau2_file([]), "holds no complete row"),
}


@pytest.mark.parametrize("name", TAU2_BROKEN)
def test_a_broken_file_of_tau2_bench_is_one_clear_error(tmp_path: Path, name: str) -> None:
    value, words = TAU2_BROKEN[name]
    with pytest.raises(InputError, match=words):
        read_results([json_file(tmp_path / "r.json", value)], kind="tau2")


def test_half_a_file_is_one_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(tau2_file([tau2_run("0", 0, 1.0)]))[:-9])
    with pytest.raises(InputError, match="is not JSON"):
        read_results([str(file)], kind="tau2")
    file.write_text("")
    with pytest.raises(InputError, match="is empty"):
        read_results([str(file)])


# Inspect


def inspect_sample(sample: Any, epoch: int, value: Any, **more: Any) -> dict[str, Any]:
    """A sample of a log of Inspect."""
    return {
        "id": sample,
        "epoch": epoch,
        "input": "x",
        "target": "y",
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": ""},
            {"role": "tool", "content": "", "error": {"type": "timeout", "message": "late"}},
            {"role": "assistant", "content": "y"},
        ],
        "scores": {"match": {"value": value}},
        "model_usage": {
            "host/m": {
                "input_tokens": 40,
                "input_tokens_cache_read": 60,
                "output_tokens": 9,
                "total_tokens": 109,
                "total_cost": 0.5,
            },
            "host/g": {
                "input_tokens": 7,
                "output_tokens": 1,
                "total_tokens": 8,
                "total_cost": 0.25,
            },
        },
        "total_time": 1.5,
        **more,
    }


def inspect_log(samples: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """A log of Inspect in its JSON form."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "books",
            "model": "host/m",
            "model_roles": {"grader": {"model": "host/g"}},
            "dataset": {"name": "d", "samples": 2, "sample_ids": [1, 2]},
            "config": {"epochs": 2},
            "packages": {"inspect_ai": "0.3.200"},
            **spec,
        },
        "samples": samples,
    }


def test_a_log_of_inspect(tmp_path: Path) -> None:
    samples = [
        inspect_sample(1, 1, "C"),
        inspect_sample(1, 2, "I", limit={"type": "message", "limit": 4}),
        inspect_sample(2, 1, math.nan),
        inspect_sample(2, 2, "C", error={"message": "boom"}, error_retries=[{"message": "once"}]),
    ]
    found = read_results([json_file(tmp_path / "log.json", inspect_log(samples))])
    assert brief(found) == [
        ("books/1", 0, 0, "passed", "done", None),
        ("books/1", 1, 0, "failed", "agent_limit", None),
        ("books/2", 0, 0, "system_error", None, "judge"),
        ("books/2", 1, 0, "system_error", None, "run"),
        ("books/2", 1, 1, "system_error", None, "run"),
    ]
    first = found.attempts.to_dicts()[0]
    assert [(each["role"], each["input"], each["cached"]) for each in first["usage"]] == [
        ("policy", 100, 60),
        ("grader", 7, None),
    ]
    assert (first["cost"], first["turns"], first["last_tool_error"]) == (0.75, 2, True)
    assert completeness(found).broken == (("books/2", 0), ("books/2", 1))
    assert not found.notes
    log = inspect_log(samples[:1]) | {"status": "cancelled"}
    stopped = read_results([json_file(tmp_path / "log.json", log)])
    assert "status of the log is 'cancelled'" in stopped.notes[0]
    assert completeness(stopped).missing == (("books/1", 1), ("books/2", 0), ("books/2", 1))


@pytest.mark.parametrize(
    ("value", "outcome", "score"),
    [
        ("C", "passed", 1.0),
        ("I", "failed", 0.0),
        ("P", "failed", 0.5),
        ("N", "failed", 0.0),
        (True, "passed", 1.0),
        (0, "failed", 0.0),
        (0.75, "failed", 0.75),
    ],
)
def test_scores_of_inspect_as_verdicts(
    tmp_path: Path, value: Any, outcome: str, score: float
) -> None:
    log = inspect_log([inspect_sample(1, 1, value)])
    found = read_results([json_file(tmp_path / "log.json", log)])
    assert found.attempts.select("outcome", "score").rows() == [(outcome, score)]


@pytest.mark.parametrize("value", ["yes", 2, -1, None, [1], {"a": 1}, math.inf])
def test_a_score_that_is_no_verdict_is_refused(tmp_path: Path, value: Any) -> None:
    log = inspect_log([inspect_sample(1, 1, value)])
    with pytest.raises(InputError, match=r"sample 1: scores\.match\.value: is no verdict"):
        read_results([json_file(tmp_path / "log.json", log)])


def test_of_several_scorers_one_is_chosen(tmp_path: Path) -> None:
    sample = inspect_sample(1, 1, "I")
    sample["scores"]["both"] = {"value": {"state": "C", "words": 0}}
    file = json_file(tmp_path / "log.json", inspect_log([sample]))
    with pytest.raises(InputError, match=r"2 scorers \(match, both\); choose one with --field"):
        read_results([file])
    with pytest.raises(InputError, match="has no scorer of that name; there are match, both"):
        read_results([file], fields={"passed": "neither"})
    for chosen, passed in (("match", 0), ("both.state", 1), ("both.words", 0)):
        found = read_results([file], fields={"passed": chosen})
        assert by_task(found)["passed"].to_list()[0] == passed
    with pytest.raises(InputError, match="only passed can be chosen"):
        read_results([file], fields={"uid": "id"})


def test_ids_of_two_kinds_are_two_tasks_or_an_error(tmp_path: Path) -> None:
    samples = [inspect_sample(1, 1, "C"), inspect_sample("1", 2, "I")]
    with pytest.raises(InputError, match="the number 1 and the text '1' both name a task"):
        read_results([json_file(tmp_path / "log.json", inspect_log(samples))])


class _Own:
    """What Inspect's own reader gives."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def model_dump(self, *, exclude_none: bool) -> dict[str, Any]:
        """As plain values."""
        assert exclude_none
        return self.value


def test_eval_files_are_read_by_inspect_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.eval"
    file.write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(InputError, match=r"install outcomebox-eval\[inspect\]"):
        read_results([str(file)])
    log = inspect_log([inspect_sample(1, 1, "C"), inspect_sample(1, 2, "I")])
    asked: list[str] = []

    def read_eval_log(path: str, *, header_only: bool) -> _Own:
        assert header_only
        asked.append(path)
        return _Own({**log, "samples": None})

    def read_eval_log_samples(path: str, *, all_samples_required: bool) -> Iterator[_Own]:
        assert not all_samples_required
        asked.append(path)
        return map(_Own, log["samples"])

    module = ModuleType("inspect_ai.log")
    vars(module).update(read_eval_log=read_eval_log, read_eval_log_samples=read_eval_log_samples)
    monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.log", module)
    found = read_results([str(file)])
    assert asked == [str(file)] * 2
    assert [each[3] for each in brief(found)] == ["passed", "failed"]
    assert found.source[0].kind == "inspect"
