"""What the launcher keeps of verl as lists and rules, against verl itself."""

from __future__ import annotations

import dataclasses
import io
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from train_files import make_model, make_pool, make_run
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import validate_config
from verl.utils.torch_dtypes import PrecisionType
from verl.utils.tracking import Tracking
from verl.workers.config import RolloutConfig
from verl.workers.rollout.replica import RolloutReplicaRegistry

from outcomebox.train.checkpoints.layout import read_checkpoint
from outcomebox.train.checkpoints.verify import verify
from outcomebox.train.config import words
from outcomebox.train.config.compose import compose
from outcomebox.train.config.loading import load_config
from outcomebox.train.config.presets import PRESETS
from outcomebox.train.config.verlsource import find_verl
from outcomebox.train.config.versions import check_supported
from outcomebox.train.launch.plan import MODULE, make_plan

PACKAGE = Path(sys.modules["verl"].__file__ or "").parent


def test_the_files_that_are_composed_are_those_that_are_imported() -> None:
    found = find_verl()
    assert found.package == PACKAGE
    assert check_supported(found.version)


def test_registries() -> None:
    assert set(words.ADVANTAGES) == set(core_algos.ADV_ESTIMATOR_REGISTRY)
    assert set(words.LOSS_MODES) == set(core_algos.POLICY_LOSS_REGISTRY)
    assert set(words.TRACKERS) == set(Tracking.supported_backend)
    assert set(words.ROLLOUTS) - {"transformers"} == set(RolloutReplicaRegistry._registry) - {
        "transformers"
    }
    import_module("verl.experimental.reward_loop")
    managers = import_module("verl.experimental.reward_loop.reward_manager.registry")
    assert set(words.REWARD_MANAGERS) == set(managers.REWARD_MANAGER)


def test_strategies() -> None:
    import_module("verl.workers.engine")
    engines = import_module("verl.workers.engine.base").EngineRegistry._engines["language_model"]
    assert set(words.STRATEGIES) <= set(engines)


@pytest.mark.parametrize("name", words.PENALTIES)
@pytest.mark.parametrize("unbiased", ["", "+"])
def test_penalties(name: str, unbiased: str) -> None:
    values = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    other = torch.tensor([[-1.5, -1.0]])
    if name == "full":
        with pytest.raises(NotImplementedError):
            core_algos.kl_penalty(values, other, name + unbiased)
        return
    assert core_algos.kl_penalty(values, other, name + unbiased).shape == (1, 2)


def test_a_penalty_that_is_none() -> None:
    one = torch.tensor([[-1.0]])
    with pytest.raises(NotImplementedError):
        core_algos.kl_penalty(one, one, "k9")


@pytest.mark.parametrize("mode", words.LOSS_AGGREGATIONS)
def test_loss_aggregations(mode: str) -> None:
    found = core_algos.agg_loss(
        loss_mat=torch.ones(2, 3),
        loss_mask=torch.ones(2, 3),
        loss_agg_mode=mode,
        batch_num_tokens=6,
        global_batch_size=2,
    )
    assert torch.isfinite(found)
    with pytest.raises(ValueError, match="Invalid loss_agg_mode"):
        core_algos.agg_loss(torch.ones(1, 1), torch.ones(1, 1), "mean")


def test_precisions_and_optimizers() -> None:
    for name in words.PRECISIONS:
        assert isinstance(PrecisionType.to_dtype(name), torch.dtype)
    with pytest.raises(RuntimeError):
        PrecisionType.to_dtype("bf61")
    for name in words.OPTIMIZERS:
        assert issubclass(getattr(torch.optim, name), torch.optim.Optimizer)


def test_schedules() -> None:
    config = import_module("verl.workers.config.optimizer").FSDPOptimizerConfig
    for name in words.SCHEDULES:
        config(lr=1e-6, lr_scheduler_type=name)
    with pytest.raises(AssertionError):
        config(lr=1e-6, lr_scheduler_type="linear")


def test_log_probs_are_of_a_mode_that_the_rollout_knows() -> None:
    default = {field.name: field.default for field in dataclasses.fields(RolloutConfig)}
    assert default["logprobs_mode"] in words.LOGPROBS


def test_every_key_with_words_is_in_the_schema() -> None:
    composed = compose(["actor_rollout_ref.rollout.name=vllm"], find_verl())
    for key in words.WORDS:
        value: Any = composed.defaults
        for part in key.split("."):
            assert part in value, key
            value = value[part]


# --- presets


@pytest.mark.parametrize("preset", PRESETS)
def test_verl_itself_takes_every_preset(preset: str, tmp_path: Path) -> None:
    file = make_run(
        tmp_path,
        preset,
        model=make_model(tmp_path / "model"),
        pool=make_pool(tmp_path / "pool"),
    )
    plan = make_plan(file)
    config = OmegaConf.create(plan.composed.resolved)
    assert not need_critic(config)
    assert not need_reference_policy(config)
    validate_config(config, use_reference_policy=False, use_critic=False)
    assert import_module(MODULE).main is not None
    assert load_config(file).config == plan.config


def test_verl_takes_what_it_should_not() -> None:
    """Why words are checked here: composing and verl's validation let these pass."""
    plain = ["actor_rollout_ref.rollout.name=nosuch", "algorithm.adv_estimator=foo"]
    plain += ["trainer.v1.trainer_mode=xx", "actor_rollout_ref.actor.use_dynamic_bsz=True"]
    composed = compose(plain, find_verl())
    config = OmegaConf.create(composed.resolved)
    validate_config(config, use_reference_policy=False, use_critic=False)


# --- checkpoints


def saved(content: Any) -> bytes:
    """What torch.save writes."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def test_files_of_torch_are_read_to_the_last_byte(tmp_path: Path) -> None:
    actor = tmp_path / "global_step_1" / "actor"
    (actor / "huggingface").mkdir(parents=True)
    for name in ("config.json", "tokenizer_config.json"):
        (actor / "huggingface" / name).write_text("{}", encoding="utf-8")
    (actor / "fsdp_config.json").write_text('{"world_size": 1}', encoding="utf-8")
    whole = saved({"weight": torch.arange(10_000, dtype=torch.float32)})
    for kind in ("model", "optim", "extra_state"):
        (actor / f"{kind}_world_size_1_rank_0.pt").write_bytes(whole)
    assert verify(read_checkpoint(actor.parent)).faults == ()
    path = actor / "optim_world_size_1_rank_0.pt"
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda each: each.file_size)
    for at in (largest.header_offset + 2_000, largest.header_offset + 30_000):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        (fault,) = verify(read_checkpoint(actor.parent)).faults
        assert fault.path == path
        assert "has another checksum" in fault.told
    path.write_bytes(whole[:-100])
    (fault,) = verify(read_checkpoint(actor.parent), deep=False).faults
    assert "is cut off" in fault.told
