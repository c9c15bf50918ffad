"""The real verl with real Ray on a CPU: three steps, killed after the second and resumed.

Each step has a tool server that dies once, groups without contrast, and updates that count. One run
for each pair of verl and rollout backend; every test looks at what it left behind.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from operator import mul
from pathlib import Path
from typing import Any

import anyio
import pytest

from outcomebox.interpret import Toolbox, interpret
from outcomebox.interpret.tokens import read_ids
from outcomebox.reward.regrade import Order, open_run, regrade
from outcomebox.reward.rows import Row
from outcomebox.rollout.policies.modelfolder import model_folder
from outcomebox.rollout.stages import NativeTasks
from outcomebox.rollout.tokens import token_samples
from outcomebox.sandbox import load_tasks, sandbox
from train_environment import Verl, variables, verl_python, vllm_python
from train_live import GROUP, PER_STEP, RATE, STEPS, LiveRun, made_model, wait_for

pytestmark = pytest.mark.skipif("OUTCOMEBOX_HEAVY" not in os.environ, reason="runs verl and Ray")

CASES: dict[str, tuple[Verl, str]] = {
    "verl-0.9.1-transformers": ("0.9.1", "transformers"),
    "verl-0.9.1-vllm": ("0.9.1", "vllm"),
    "verl-0.9.0-transformers": ("0.9.0", "transformers"),
}
CHOSEN = os.environ.get("OUTCOMEBOX_VERL_CASES", " ".join(CASES)).split()
"""Which of them; all by default."""
PROFILES = {"transformers": "strict", "vllm": "vllm-0.32"}
CLOSE = 1e-3
"""Nats that log-probabilities of rollout and actor may differ by."""


@pytest.fixture(scope="session")
def model() -> Iterator[Path]:
    """The tiny model."""
    with tempfile.TemporaryDirectory() as folder:
        yield made_model(verl_python(), Path(folder) / "tiny", variables())


@pytest.fixture(scope="module", params=CHOSEN)
def run(request: pytest.FixtureRequest, model: Path) -> Iterator[LiveRun]:
    """A run that was killed after its second step and went on."""
    verl, backend = CASES[request.param]
    python = verl_python() if backend == "transformers" else vllm_python()
    # Ray keeps sockets in it, whose names must be short.
    with tempfile.TemporaryDirectory(
        prefix="ob-", dir="/tmp", ignore_cleanup_errors=True
    ) as folder:
        live = LiveRun(Path(folder), python, variables(verl))
        changes: dict[str, Any] = {
            "model": {"path": str(model), "profile": PROFILES[backend]},
            "rollout": {"backend": backend, "sequences": 8, "batched_tokens": 512},
        }
        live.lay_out(model, changes)
        live.start(lambda process: _kill_after_two(live, process))
        wait_for(lambda: not live.processes(), "the processes of the killed run to be gone")
        live.let_go()
        live.start(lambda process: _break_the_third(live, process))
        yield live


def _kill_after_two(live: LiveRun, process: subprocess.Popen[bytes]) -> None:
    """Let a server die in the first two steps, and end the run in its third."""
    wait_for(lambda: live.verl_is_up, "verl", process)
    live.break_once("1")
    wait_for(lambda: len(live.steps()) == 1, "the first step", process)
    live.break_once("2")
    wait_for(lambda: len(live.steps()) == 2, "the second step", process)
    # One episode of the third step may end, so that it is there to be done again; no more, or the
    # step would be over before Ray is.
    live.hold(but=1)
    before = len(live.rows())
    wait_for(lambda: live.saved() == 2, "the second checkpoint", process)
    wait_for(lambda: len(live.rows()) > before, "rows of the third step", process)
    process.send_signal(signal.SIGTERM)


def _break_the_third(live: LiveRun, process: subprocess.Popen[bytes]) -> None:
    """Let a server die in the third step, when it is done again."""
    wait_for(lambda: live.verl_is_up, "verl", process)
    live.break_once("3")


def test_it_is_ended_by_a_signal_and_goes_on_to_its_last_step(run: LiveRun) -> None:
    assert run.statuses == [128 + signal.SIGTERM, 0], run.said[-1][-4000:]
    assert run.saved() == STEPS
    assert [each["step"] for each in run.steps()] == [1, 2, 3]
    wait_for(lambda: not run.processes(), "its processes to be gone")


def test_a_schedule_goes_on_where_it_was(run: LiveRun) -> None:
    rates = {int(step): float(rate) for step, rate in _told(run, "actor/lr").items()}
    wanted = {
        step: RATE * 0.5 * (1 + math.cos(math.pi * step / STEPS)) for step in range(1, STEPS + 1)
    }
    shifted = {step: RATE * 0.5 * (1 + math.cos(math.pi * (step - 1) / STEPS)) for step in wanted}
    # verl tells the rate behind an update or before it, by version.
    assert rates == pytest.approx(wanted, abs=1e-9) or rates == pytest.approx(shifted, abs=1e-9)


def test_each_step_has_one_system_error_whose_group_was_refilled(run: LiveRun) -> None:
    assert run.breaks_left == []
    for step in run.steps():
        figures = step["figures"]
        assert figures["system_errors/total"] == 1
        assert figures["system_errors/phase/tool"] == 1
        assert figures["refills/system_error"] == 1
    errors = [row for row in run.rows() if row["verdict"]["outcome"] == "system_error"]
    assert [row["error"]["type"] for row in errors] == ["ServerDied"] * STEPS
    assert sorted(row["training"]["step"] for row in errors) == [1, 2, 3]


def test_groups_without_contrast_are_dropped_and_refilled_in_each_step(run: LiveRun) -> None:
    for step in run.steps():
        figures = step["figures"]
        uniform = figures["groups/all_pass"] + figures["groups/all_fail"]
        assert uniform >= 1
        assert figures["groups/useful"] == figures["groups/trained"] == PER_STEP
        assert figures["groups/tried"] == PER_STEP + uniform + figures["groups/system_error"]
        assert figures["refills/total"] == uniform + figures["groups/system_error"]
        assert figures["attempts/trained"] == PER_STEP * GROUP


def test_what_is_trained_on_are_whole_mixed_groups_with_the_rewards_of_their_rows(
    run: LiveRun,
) -> None:
    scores = _told(run, "critic/score/mean")
    for step in run.steps():
        groups = [group for group in _groups(run, step["step"]) if _mixed(group)]
        assert len(groups) == PER_STEP
        rows = [row for group in groups for row in group]
        rewards = [float(row["verdict"]["outcome"] == "passed") for row in rows]
        assert step["figures"]["reward/mean"] == pytest.approx(sum(rewards) / len(rewards))
        # verl counts an episode once for each sequence that it is trained as.
        parts = [len(row["training"]["sequences"]) for row in rows]
        mean = sum(map(mul, rewards, parts)) / sum(parts)
        assert scores[step["step"]] == pytest.approx(mean, abs=1e-6)


def test_the_standalone_grader_gives_every_row_the_same_reward(run: LiveRun) -> None:
    tasks = load_tasks([str(run.domain)])
    graded = clean = 0
    for file in run.row_files():
        report = anyio.run(regrade, Order(open_run(file), tasks))
        assert report.moved == []
        graded += report.regraded
    clean = sum(row["verdict"]["outcome"] != "system_error" for row in run.rows())
    assert graded == clean >= STEPS * PER_STEP * GROUP


def test_every_turn_is_read_by_the_evaluation_profile_as_it_was_carried_out(run: LiveRun) -> None:
    worker = json.loads((run.out / "worker.json").read_text(encoding="utf-8"))
    vocabulary = model_folder(Path(worker["model_path"]), "qwen3_xml", {}).tokenizer
    tools = Toolbox(anyio.run(_tools, run.domain))
    turns = calls = 0
    for row in run.rows():
        for message in row["messages"]:
            if message["role"] != "assistant":
                continue
            turns += 1
            read = interpret(
                read_ids(message["ids"], vocabulary)[0],
                tools=tools,
                format="qwen3_xml",
                profile=worker["spec"]["profile"],
                prompt_state=message["prompt_state"],
                finish_reason=message["finish_reason"],
            )
            ours = [
                (call["name"], call["arguments"], call["executable"])
                for call in message.get("tool_calls", ())
            ]
            assert ours == [(c.name or "", c.arguments, c.executable) for c in read.tool_calls]
            assert message["content"] == read.content
            calls += len(ours)
    assert turns > calls > 0
    for step in run.steps():
        assert step["figures"]["parity/differences"] == 0
        assert step["figures"]["parity/turns"] >= PER_STEP * GROUP
    assert all(row["training"]["parity"]["differences"] == [] for row in run.rows())


def test_rollout_and_actor_agree_and_the_weights_that_sampled_are_the_newest(
    run: LiveRun, model: Path, tmp_path: Path
) -> None:
    for step in run.steps():
        assert step["figures"]["log_probs/difference/max"] < CLOSE
        assert step["figures"]["log_probs/tokens"] > 0
    samples = []
    for row in run.rows():
        oldest, newest = row["training"]["weights"]
        assert oldest == newest == row["training"]["step"] - 1
        samples += [
            {"weights": newest, "ids": each.ids, "mask": each.mask, "logprobs": each.logprobs}
            for each in token_samples(row["messages"])
        ]
    order = tmp_path / "order.json"
    checkpoints = {step: str(run.shard(step)) for step in range(1, STEPS + 1)}
    plain = {"base": str(model), "checkpoints": checkpoints, "samples": samples}
    order.write_text(json.dumps(plain), encoding="utf-8")
    script = Path(__file__).parent / "with_verl" / "recomputed.py"
    done = subprocess.run(
        [str(run.python), str(script), str(order)],
        env=dict(run.environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout)
    assert set(found["changes"]) == {"1", "2", "3"}
    assert min(found["changes"].values()) > RATE / 100
    assert max(found["own"].values()) < CLOSE
    # Had the rollout's weights stayed the first ones, this is what would have been seen.
    assert min(found["first"][step] for step in ("1", "2")) > CLOSE


def test_attempts_are_numbered_on_after_the_resume(run: LiveRun) -> None:
    tries = Counter((row["uid"], row["repetition"], row["try"]) for row in run.rows())
    assert set(tries.values()) == {1}
    again = [key for key in tries if key[2] == 1]
    # What the killed start had begun of its third step was done again.
    assert again
    draws = defaultdict(set)
    for row in run.rows():
        draws[row["uid"]].add(row["training"]["draw"])
    for numbers in draws.values():
        assert numbers == set(range(len(numbers)))


def test_checkpoints_are_whole_and_make_a_model(run: LiveRun, tmp_path: Path) -> None:
    run.call("checkpoint", "verify", str(run.out))
    merged = tmp_path / "merged"
    run.call("checkpoint", "merge", str(run.out), "--to", str(merged))
    assert (merged / "model.safetensors").stat().st_size > 0
    assert (merged / "tokenizer.json").is_file()


async def _tools(domain: Path) -> list[dict[str, Any]]:
    tasks = NativeTasks(load_tasks([str(domain)]))
    async with (
        sandbox() as box,
        tasks.started(box),
        tasks.open(tasks.tasks[0], seed=0, repetition=0) as stage,
    ):
        return [tool.spec.openai() for tool in stage.tools]


def _told(run: LiveRun, name: str) -> dict[int, float]:
    """A figure of verl's own in each step, as its console tells it; the last that was told."""
    found = {}
    for said in run.said:
        for step, line in re.findall(r"step:(\d+) - (.*)", said):
            value = re.search(rf"(?:^| ){re.escape(name)}:(?:np\.float\d+\()?([-+.e\d]+)", line)
            if value is not None:
                found[int(step)] = float(value[1])
    return found


def _groups(run: LiveRun, step: int) -> list[list[Row]]:
    """The groups of a step, by the last try of each attempt."""
    last: dict[tuple[str, int], Row] = {}
    for row in run.rows():
        key = (row["uid"], row["repetition"])
        if key not in last or last[key]["try"] < row["try"]:
            last[key] = row
    groups = defaultdict(list)
    for row in last.values():
        if row["training"]["step"] == step:
            groups[row["uid"], row["training"]["draw"]].append(row)
    return list(groups.values())


def _mixed(group: list[Row]) -> bool:
    outcomes = {row["verdict"]["outcome"] for row in group}
    return outcomes == {"passed", "failed"} and len(group) == GROUP
