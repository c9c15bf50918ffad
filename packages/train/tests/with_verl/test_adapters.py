"""The agent loop on the real verl, without Ray: groups as verl plays and stores them.

Run by plain pytest in an environment with verl 0.9.0 or 0.9.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import verl
from omegaconf import OmegaConf
from verl.experimental.agent_loop import agent_loop as verl_loop
from verl.protocol import DataProto
from verl.trainer.ppo.v1 import agent_loop_tq
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
from verl_worker import AGENTS, Store, Verl, composed, in_a_process, started

from outcomebox.rollout.tokens import token_samples
from outcomebox.train.config.versions import SUPPORTED
from outcomebox.train.errors import EpisodeFault
from outcomebox.train.settings import SETTINGS_VARIABLE, WorkerSettings
from outcomebox.train.verl import agent_loop as our_loop
from train_chat import QWEN, make_model
from train_episodes import (
    ADD,
    MOVE,
    RIGHT,
    WRONG,
    call,
    rows_of,
)

ADDED = call("add_box", shelf_id="S-1", weight=7, note="new")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder, as hubs hold it."""
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with Qwen3.5's template."""
    return make_model(tmp_path_factory.mktemp("qwen"), QWEN.read_text(encoding="utf-8"))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """Stands for verl's store."""
    store = Store()
    monkeypatch.setattr(agent_loop_tq, "tq", store)
    return store


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the trainer is told of faults."""
    told: list[dict[str, Any]] = []

    async def report(**fault: Any) -> None:
        told.append(fault)

    monkeypatch.setattr(our_loop, "report_fault", report)
    return told


@pytest.fixture(autouse=True)
def _registered(tmp_path: Path) -> Iterator[None]:
    """The loop's name, as verl reads it from the file that the launcher writes."""
    file = tmp_path / "agent.yaml"
    file.write_text(AGENTS, encoding="utf-8")
    before = dict(verl_loop._agent_loop_registry)
    for each in OmegaConf.load(file):
        verl_loop._agent_loop_registry[each.name] = each
    yield
    verl_loop._agent_loop_registry.clear()
    verl_loop._agent_loop_registry.update(before)


@pytest.fixture
def run(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> WorkerSettings:
    """A run whose processes find its settings by the environment."""
    return started(tmp_path / "run", model, monkeypatch)


def test_the_verl_under_test_is_one_of_ours() -> None:
    assert verl.__version__ in SUPPORTED


def test_a_group_as_verl_trains_on_it(run: WorkerSettings, store: Store) -> None:
    worker = Verl(run, store)
    put = in_a_process(worker.group("g", RIGHT, WRONG))
    assert store.tags["g"] == {"status": "finished", "partition": "train"}
    assert sorted(put) == ["g_0_0", "g_1_0"]
    rows = {row["training"]["session"]: row for row in rows_of(run)}
    for session, reward in enumerate((1.0, 0.0)):
        found, row = put[f"g_{session}_0"], rows[session]
        assert row["verdict"]["outcome"] == ("passed" if reward else "failed")
        (sample,) = token_samples(row["messages"])
        length = len(found["prompts"])
        assert found["prompts"].tolist() + found["responses"].tolist() == list(sample.ids)
        assert found["input_ids"].tolist() == list(sample.ids)
        assert found["response_mask"].tolist() == list(sample.mask[length:])
        assert found["loss_mask"].tolist() == found["response_mask"].tolist()
        assert sample.logprobs is not None
        told = torch.tensor(sample.logprobs[length:])
        assert torch.allclose(found["rollout_log_probs"], told)
        assert found["position_ids"].tolist() == list(range(len(sample.ids)))
        # The reward stands on the last token, which the model wrote, and nowhere else.
        assert found["rm_scores"].sum().item() == found["rm_scores"][-1].item() == reward
        assert found["response_mask"][-1].item() == 1
        extra = found["extra_fields"]
        assert extra["outcomebox"]["score"] == extra["reward_extra_info"]["score"] == reward
        assert extra["outcomebox"]["row_digest"]
        assert extra["outcomebox"]["parity_differences"] == 0
        assert extra["outcomebox"]["band"] == "intermediate"
        assert "acc" not in extra["reward_extra_info"]
        assert (extra["min_global_steps"], extra["max_global_steps"]) == (3, 3)
        assert store.tags[f"g_{session}_0"]["max_global_steps"] == 3
        assert found["num_turns"] == 4
        assert row["training"]["verl"] == verl.__version__
    assert [rows[at]["repetition"] for at in (0, 1)] == [0, 1]
    assert {each["temperature"] for each in worker.server.asked} == {1.0}


def test_a_group_with_a_system_error_has_no_reward_and_is_told(
    run: WorkerSettings, store: Store, faults: list[dict[str, Any]]
) -> None:
    worker = Verl(run, store)
    broken = (RIGHT[0], ConnectionError("the engine is gone"))
    put = in_a_process(worker.group("g", broken, RIGHT))
    assert store.tags["g"]["status"] == "failure"
    assert list(put) == ["g_1_0"]
    (fault,) = faults
    assert (fault["uid"], fault["session"], fault["task"]) == ("g", 0, MOVE)
    assert (fault["phase"], fault["kind"]) == ("policy", "PolicyError")
    outcomes = {row["training"]["session"]: row["verdict"]["outcome"] for row in rows_of(run)}
    assert outcomes == {0: "system_error", 1: "passed"}


def test_the_settings_may_be_named_by_verl_s_configuration(
    run: WorkerSettings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SETTINGS_VARIABLE)
    worker = Verl(run, store)
    in_a_process(worker.group("a", RIGHT))
    assert store.tags["a"]["status"] == "failure"
    worker.worker.config = composed(run, f"+data.settings_path={run.out}/worker.json")
    in_a_process(worker.group("b", RIGHT))
    assert store.tags["b"]["status"] == "finished"


def test_a_fault_is_raised_though_the_trainer_cannot_be_told(
    run: WorkerSettings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(**_: Any) -> None:
        raise ConnectionError("no store")

    monkeypatch.setattr(our_loop, "report_fault", broken)
    worker = Verl(run, store)
    loop = our_loop.OutcomeboxLoop(
        SimpleNamespace(config=worker.config), worker.server, worker.tokenizer
    )
    fields = {"uid": "g", "session_id": 0, "global_steps": 1, "uid_task": MOVE}
    extra = {"draw": 0, "side": "train"}
    worker.server.scripts["g_0"] = (ConnectionError("gone"),)
    with pytest.raises(EpisodeFault) as caught:
        in_a_process(loop.run({"logprobs": True}, **fields, extra_info=extra))
    assert caught.value.__notes__ == [
        "and the trainer could not be told: ConnectionError: no store"
    ]


def test_a_conversation_that_began_anew_is_several_outputs_with_one_reward(
    tmp_path: Path, qwen: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started(tmp_path / "run", qwen, monkeypatch)
    worker = Verl(run, store)
    asks = (
        "I should ask.\n</think>\n\nMay I add it?",
        f"Now add.\n</think>\n\n{ADDED}",
        "It is there.\n</think>\n\nDone. <DONE>",
    )
    silent = ("Nothing to do.\n</think>\n\nDone. <DONE>",)
    put = in_a_process(worker.group("g", asks, silent, uid_task=ADD))
    assert sorted(put) == ["g_0_0", "g_0_1", "g_1_0"]
    scores = {key: value["rm_scores"].sum().item() for key, value in put.items()}
    assert scores == {"g_0_0": 1.0, "g_0_1": 1.0, "g_1_0": 0.0}
    sent = [each["prompt"] for each in worker.server.asked if each["id"] == "g_0"]
    assert put["g_0_0"]["prompts"].tolist() == sent[0]
    assert put["g_0_1"]["prompts"].tolist() == sent[1]
    assert put["g_0_1"]["input_ids"].tolist()[: len(sent[2])] == sent[2]
    assert put["g_0_1"]["extra_fields"]["outcomebox"]["samples"] == 2
    # verl's advantages: of sessions, the same for all outputs of one.
    keys = sorted(put)
    data = DataProto.from_single_dict(
        {
            "response_mask": torch.nn.utils.rnn.pad_sequence(
                [put[key]["response_mask"] for key in keys], batch_first=True
            ),
            "token_level_rewards": torch.nn.utils.rnn.pad_sequence(
                [put[key]["rm_scores"] for key in keys], batch_first=True
            ),
            "uid": np.array(["g", "g", "g"], dtype=object),
        }
    )
    found = compute_advantage_for_multi_trajectories(
        data, batch_keys=keys, adv_estimator="grpo", norm_adv_by_std_in_grpo=False
    ).batch["advantages"]
    for at, value in enumerate((0.5, 0.5, -0.5)):
        mask = put[keys[at]]["response_mask"].bool()
        assert torch.allclose(found[at][: len(mask)][mask], torch.tensor(value))
        assert not found[at][: len(mask)][~mask].any()


def test_groups_at_a_time_share_one_sandbox_and_no_number_stands_twice(
    run: WorkerSettings, store: Store
) -> None:
    worker = Verl(run, store)

    async def groups() -> int:
        await asyncio.gather(
            *(worker.group(f"g{draw}", RIGHT, WRONG, extra={"draw": draw}) for draw in range(4))
        )
        return len(our_loop._WORKERS)

    assert in_a_process(groups()) == 1
    assert our_loop._WORKERS == {}
    keys = sorted((row["uid"], row["repetition"], row["try"]) for row in rows_of(run))
    assert keys == [(MOVE, at, 0) for at in range(8)]
    assert {store.tags[f"g{at}"]["status"] for at in range(4)} == {"finished"}


def test_a_turn_cut_at_its_cap_and_a_spent_budget(
    tmp_path: Path, model: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    cap = 150
    run = started(tmp_path / "run", model, monkeypatch, turn_tokens=cap, response_tokens=400)
    worker = Verl(run, store)
    look = call("get_box", box_id="B-008")
    put = in_a_process(worker.group("g", (RIGHT[0], "x" * 500), (look,) * 9))
    assert store.tags["g"]["status"] == "finished"
    cut, spent = (put[f"g_{at}_0"] for at in (0, 1))
    assert cut["extra_fields"]["outcomebox"]["finish_reason"] == "token_limit"
    assert cut["rm_scores"].sum().item() == 1.0  # the box was moved; the state decides
    assert cut["response_mask"][-cap:].tolist() == [1] * cap
    assert spent["extra_fields"]["outcomebox"]["finish_reason"] == "token_limit"
    assert spent["rm_scores"].sum().item() == 0.0
    assert all(len(each["responses"]) <= 400 for each in (cut, spent))


def test_settings_that_verl_was_not_started_with_are_refused(
    tmp_path: Path,
    model: Path,
    store: Store,
    faults: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = started(tmp_path / "run", model, monkeypatch)
    worker = Verl(run, store)
    worker.config.actor_rollout_ref.rollout.response_length = 4000
    in_a_process(worker.group("g", RIGHT))
    assert store.tags["g"]["status"] == "failure"
    assert faults[0]["phase"] == "settings"
    assert "response_tokens: is 3000 and verl was started with 4000" in faults[0]["message"]
    rollout = worker.config.actor_rollout_ref.rollout
    rollout.response_length, rollout.max_model_len = 3000, 5000
    assert our_loop.budget_of(run, rollout).context_tokens == 5000


def test_a_resumed_run_doubles_no_row(run: WorkerSettings, store: Store) -> None:
    for _ in range(2):  # the second process does the first one's step again, and one more
        worker = Verl(run, store)
        in_a_process(worker.group("a", RIGHT, WRONG, extra={"draw": 0}))
    in_a_process(Verl(run, store).group("b", RIGHT, WRONG, extra={"draw": 1}))
    keys = sorted((row["repetition"], row["try"]) for row in rows_of(run))
    assert keys == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (3, 0)]
