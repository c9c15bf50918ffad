"""Dataset, template, reward and loading on the real verl, without Ray.

Run by plain pytest in an environment with verl 0.9.0 or 0.9.1.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import verl
from torchdata.stateful_dataloader import StatefulDataLoader
from transformers import AutoTokenizer
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.protocol import DataProto
from verl.trainer.ppo.reward import get_custom_reward_fn
from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn, get_dataset_class
from verl_worker import composed, started

from outcomebox.sandbox import InputError
from outcomebox.train.settings import WorkerSettings
from outcomebox.train.verl.chat import chat_of
from outcomebox.train.verl.dataset import PoolDataset
from outcomebox.train.verl.reward import NoVerdict, compute
from train_chat import PLAIN, QWEN, chat_without_library, make_model
from train_episodes import (
    ADD,
    END,
    MOVE,
    make_run,
    spelled,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder, as hubs hold it."""
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def run(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> WorkerSettings:
    """A run whose processes find its settings by the environment."""
    return started(tmp_path / "run", model, monkeypatch)


@pytest.mark.parametrize("template", [PLAIN, QWEN.read_text(encoding="utf-8")])
def test_verl_s_tokenizer_writes_what_evaluation_writes(tmp_path: Path, template: str) -> None:
    folder = make_model(tmp_path / "model", template)
    run = make_run(tmp_path / "run", folder)
    theirs = chat_of(run, AutoTokenizer.from_pretrained(folder))
    ours = chat_without_library(folder)
    tools = [
        {
            "type": "function",
            "function": {
                "name": "add_box",
                "parameters": {
                    "type": "object",
                    "properties": {"note": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                },
            },
        }
    ]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": 'Bøxes <b> & "shelves"\n'},
        {"role": "user", "content": "  Add one. 日本 "},
    ]
    assert theirs.ends == ours.ends
    for generation in (True, False):
        ids = theirs.template.ids(messages, tools=tools, generation=generation)
        assert ids == ours.template.ids(messages, tools=tools, generation=generation)
    told = run.model_copy(update={"enable_thinking": False})
    closed = chat_of(told, AutoTokenizer.from_pretrained(folder)).template
    without = chat_without_library(folder, enable_thinking=False).template
    prompt = closed.ids(messages, tools=tools, generation=True)
    assert prompt == without.ids(messages, tools=tools, generation=True)


def test_another_template_and_the_engine_s_ends(tmp_path: Path, model: Path) -> None:
    folder = make_model(tmp_path / "model")
    (folder / "generation_config.json").write_text('{"eos_token_id": [263, 7]}', "utf-8")
    other = tmp_path / "other.jinja"
    other.write_text("{% for each in messages %}{{ each.content }}<|im_end|>{% endfor %}", "utf-8")
    run = make_run(tmp_path / "run", folder, chat_template=str(other))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    chat = chat_of(run, tokenizer)
    expected = list(spelled(chat.vocabulary, "hi" + END))
    assert chat.template.ids([{"role": "user", "content": "hi"}]) == expected
    assert {7, tokenizer.eos_token_id} <= chat.ends
    gone = run.model_copy(update={"chat_template": str(tmp_path / "none.jinja")})
    with pytest.raises(InputError, match=r"none\.jinja: chat_template: cannot be read"):
        chat_of(gone, tokenizer)


def loader(run: WorkerSettings, **more: Any) -> StatefulDataLoader:
    """verl's own loader of the train side."""
    config = composed(run)
    data = create_rl_dataset(config.data.train_files, config.data, None, None)
    return StatefulDataLoader(
        dataset=data,
        batch_size=1,
        drop_last=True,
        collate_fn=collate_fn,
        sampler=create_rl_sampler(config.data, data),
        **{"num_workers": 0, **more},
    )


def draws(batches: Iterator[Any], count: int) -> list[tuple[str, int]]:
    """Tasks and draws of the next prompts."""
    found = []
    for _ in range(count):
        batch = tu.get_tensordict(next(batches))
        row = {name: batch[name][0] for name in ("uid_task", "extra_info", "agent_name", "index")}
        plain = {name: getattr(value, "data", value) for name, value in row.items()}
        assert plain["agent_name"] == "outcomebox"
        found.append((plain["uid_task"], plain["extra_info"]["draw"]))
    return found


def test_verl_loads_the_pool_and_counts_what_it_gives_out(run: WorkerSettings) -> None:
    assert get_dataset_class(composed(run).data).__name__ == "PoolDataset"
    made = loader(run)
    first = iter(made)
    assert draws(first, 2) == [(MOVE, 0), (ADD, 0)]
    second = iter(made)
    assert draws(second, 1) == [(MOVE, 1)]
    state = made.state_dict()
    assert draws(second, 1) == [(ADD, 1)]
    # A resumed run goes on from its checkpoint: the same draws again, then new ones.
    again = loader(run)
    again.load_state_dict(state)
    resumed = iter(again)
    assert draws(resumed, 1) == [(ADD, 1)]
    assert draws(iter(again), 2) == [(MOVE, 2), (ADD, 2)]


def test_loader_processes_are_refused(run: WorkerSettings) -> None:
    with pytest.raises(InputError, match=r"data\.dataloader_num_workers: must be 0"):
        next(iter(loader(run, num_workers=1)))


def test_only_so_many_tasks(run: WorkerSettings) -> None:
    assert len(PoolDataset([run.pool.path], max_samples=1)) == 1
    assert len(PoolDataset(run.pool.path, config={"settings_path": f"{run.out}/worker.json"})) == 2


def reward_data(details: Any) -> DataProto:
    """What verl's reward worker is given of a trajectory."""
    tensors = {
        "prompts": torch.tensor([[1, 2]]),
        "responses": torch.tensor([[3, 4]]),
        "attention_mask": torch.ones((1, 4), dtype=torch.int64),
    }
    plain = {
        "data_source": "outcomebox",
        "reward_model": {"ground_truth": MOVE},
        "extra_info": {},
        "tool_extra_fields": {"outcomebox": details},
    }
    arrays = {}
    for name, value in plain.items():
        arrays[name] = np.empty(1, dtype=object)
        arrays[name][0] = value
    return DataProto.from_single_dict({**tensors, **arrays})


def test_verl_s_reward_function_is_ours_and_knows_no_default(run: WorkerSettings) -> None:
    config = composed(run)
    found = get_custom_reward_fn(config)
    assert found is not None
    tokenizer = AutoTokenizer.from_pretrained(run.model_path)

    async def score(details: Any) -> Any:
        manager = NaiveRewardManager(config, tokenizer, found)
        return await manager.run_single(reward_data(details))

    given = asyncio.run(score({"uid": MOVE, "outcome": "failed", "turns": 2}))
    assert given["reward_score"] == 0.0
    assert given["reward_extra_info"] == compute(
        "outcomebox", "", MOVE, {"outcomebox": {"uid": MOVE, "outcome": "failed", "turns": 2}}
    )
    with pytest.raises(NoVerdict):
        asyncio.run(score({"uid": MOVE, "outcome": "system_error"}))
    with pytest.raises(NoVerdict):
        asyncio.run(score(None))


def test_verl_loads_what_a_run_needs_in_each_process(tmp_path: Path) -> None:
    program = (
        "import sys, verl\n"
        "from outcomebox.train.verl.load import LOADED\n"
        "print(LOADED.verl, LOADED.platform, len(LOADED.applied))\n"
    )
    for platform in ("", "cpu"):
        environment = {
            **os.environ,
            "VERL_USE_EXTERNAL_MODULES": "outcomebox.train.verl.load",
            "VERL_PLATFORM": platform,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr.decode()
        version, found, count = ended.stdout.decode().split()[-3:]
        assert (version, found) == (verl.__version__, platform or "None")
        assert int(count) > 0
