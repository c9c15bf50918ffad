"""The platform "cpu", the rollout backend "transformers" and the mended functions, on the real verl."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import subprocess
import sys
from collections import Counter
from multiprocessing import shared_memory
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from verl.plugin.platform import platform_manager
from verl.utils import device as verl_device
from verl.utils.torch_functional import logprobs_from_logits
from verl.workers.rollout.base import get_rollout_class
from verl.workers.rollout.replica import RolloutReplica, get_rollout_replica_class

from outcomebox.train.cpu import load, processgroup, sharedmemory
from outcomebox.train.cpu.rollout.adapter import TransformersRollout
from outcomebox.train.cpu.rollout.engine import Engine, end_ids
from outcomebox.train.cpu.rollout.names import server_name
from outcomebox.train.cpu.rollout.replica import TransformersReplica
from outcomebox.train.cpu.rollout.sampling import Sampling, choose, kept, logprobs_of
from outcomebox.train.cpu.rollout.server import Server
from outcomebox.train.cpu.vllm import plugin

WORDS, CONTEXT, END = 12, 32, 1
DRAWS = 5_000
PROMPT = [3, 4, 5]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder: 12 words, and 4 ids more than the tokenizer has."""
    path = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=WORDS + 4, hidden_size=16, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, eos_token_id=END,
        max_position_embeddings=CONTEXT, tie_word_embeddings=True,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config)
    for parameter in model.parameters():
        parameter.data.mul_(20)  # else all words are about equally likely
    model.save_pretrained(path)
    words = {f"w{number}": number for number in range(WORDS)}
    own = Tokenizer(models.WordLevel(words, unk_token="w0"))
    PreTrainedTokenizerFast(tokenizer_object=own, eos_token="w1").save_pretrained(path)
    return path


@pytest.fixture
def engine(folder: Path) -> Engine:
    """An engine of its own: its chance begins anew."""
    return Engine.from_folder(str(folder), context=CONTEXT, seed=0)


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    """The model itself, to compute directly what the engine should do."""
    return Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def logits_behind(model: Any, ids: list[int]) -> torch.Tensor:
    """Logits of the next id, by one plain pass."""
    with torch.no_grad():
        found: torch.Tensor = model(torch.tensor([ids])).logits[0, -1]
    return found


def directly(logits: torch.Tensor, temperature: float, top_k: int, top_p: float) -> list[float]:
    """The distribution that is to be sampled from, written down in plain Python."""
    values = [math.exp(float(each) / temperature) for each in logits[:WORDS]]
    order = sorted(range(WORDS), key=lambda each: -values[each])
    if top_k:
        order = order[:top_k]
    total = sum(values[each] for each in order)
    stays, mass = [], 0.0
    for each in order:
        if mass >= top_p:
            break
        stays.append(each)
        mass += values[each] / total
    total = sum(values[each] for each in stays)
    return [values[each] / total if each in stays else 0.0 for each in range(WORDS)]


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1.0, 0, 1.0), (0.5, 0, 1.0), (2.5, 0, 1.0), (1.0, 3, 1.0), (3.0, 0, 0.7), (3.0, 5, 0.8)],
)
def test_ids_are_sampled_as_often_as_the_softmax_says(
    engine: Engine, model: Any, temperature: float, top_k: int, top_p: float
) -> None:
    sampling = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, max_tokens=1)
    wanted = directly(logits_behind(model, PROMPT), temperature, top_k, top_p)
    logprobs = logprobs_of(logits_behind(model, PROMPT)[:WORDS], sampling)
    generator = torch.Generator().manual_seed(1)
    shares = kept(logprobs, sampling)
    assert shares.tolist() == pytest.approx(wanted, abs=1e-5)
    seen = Counter(choose(logprobs, sampling, generator) for _ in range(DRAWS))
    assert set(seen) <= {each for each, share in enumerate(wanted) if share > 0}
    for each, share in enumerate(wanted):
        spread = math.sqrt(share * (1 - share) / DRAWS)
        assert abs(seen[each] / DRAWS - share) <= 4.5 * spread + 1e-9, each
    assert engine.generate(PROMPT, sampling).ids[0] in seen


def test_log_probabilities_are_those_of_verls_actor(engine: Engine, model: Any) -> None:
    sampling = Sampling(temperature=1.7, top_k=4, top_p=0.9, logprobs=True, max_tokens=12, seed=3)
    found = engine.generate(PROMPT, sampling)
    whole = [*PROMPT, *found.ids]
    with torch.no_grad():
        logits = model(torch.tensor([whole[:-1]])).logits / 1.7
    actor = logprobs_from_logits(logits, torch.tensor([whole[1:]]), inplace_backward=False)
    assert found.logprobs == pytest.approx(actor[0, len(PROMPT) - 1 :].tolist(), abs=1e-5)


def test_the_greatest_is_taken_at_temperature_0(engine: Engine, model: Any) -> None:
    found = engine.generate(PROMPT, Sampling(temperature=0, max_tokens=5))
    ids = list(PROMPT)
    for each in found.ids:
        assert each == int(logits_behind(model, ids)[:WORDS].argmax())
        ids.append(each)


def test_a_seed_has_one_answer_whatever_else_is_asked(engine: Engine) -> None:
    seeded = Sampling(temperature=3.0, max_tokens=12, seed=11)
    first = engine.generate(PROMPT, seeded)
    others = [engine.generate(PROMPT, Sampling(temperature=3.0, max_tokens=12)) for _ in range(4)]
    assert engine.generate(PROMPT, seeded) == first
    assert len({tuple(each.ids) for each in others}) > 1


def test_ids_end_a_turn_and_stand_in_it(engine: Engine) -> None:
    many = [engine.generate(PROMPT, Sampling(temperature=4.0)) for _ in range(30)]
    ended = [each for each in many if each.ids[-1] == END]
    assert ended
    assert all(END not in each.ids[:-1] for each in many)
    assert all(len(each.ids) == len(each.logprobs) for each in many)
    # The others ended because the context was full.
    assert {len(each.ids) for each in many if each.ids[-1] != END} <= {CONTEXT - len(PROMPT)}
    stopped = engine.generate(PROMPT, Sampling(temperature=4.0, stop=frozenset(range(WORDS))))
    assert len(stopped.ids) == 1
    on = engine.generate(PROMPT, Sampling(temperature=4.0, ignore_eos=True))
    assert len(on.ids) == CONTEXT - len(PROMPT)


def test_ids_that_the_tokenizer_lacks_are_never_sampled(engine: Engine) -> None:
    sampling = Sampling(temperature=50.0, ignore_eos=True)
    seen = {each for _ in range(40) for each in engine.generate(PROMPT, sampling).ids}
    assert seen == set(range(WORDS))


@pytest.mark.parametrize("most", [1, 4])
def test_a_turn_has_at_most_so_many_ids(engine: Engine, most: int) -> None:
    sampling = Sampling(temperature=4.0, ignore_eos=True, max_tokens=most)
    assert len(engine.generate(PROMPT, sampling).ids) == most


@pytest.mark.parametrize("prompt", [[], [3] * CONTEXT])
def test_a_prompt_without_room_is_refused(engine: Engine, prompt: list[int]) -> None:
    with pytest.raises(ValueError, match="leaves no room in a context of 32"):
        engine.generate(prompt, Sampling())


def test_verls_sampling_parameters_are_taken_over_or_refused() -> None:
    given = {
        "temperature": 0.5, "top_p": 0.9, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True,
        "max_tokens": 7, "seed": 5, "stop_token_ids": [3],
    }  # fmt: skip
    made = Sampling.of(given)
    assert made == Sampling(0.5, 0, 0.9, True, 7, 5, frozenset({3}))
    # transformers itself takes None for its default of 50; here it is off, as in vLLM.
    assert Sampling.of({"top_k": None}).top_k == 0
    assert Sampling.of({"max_new_tokens": 3}).max_tokens == 3
    for wrong, message in (
        ({"min_p": 0.1}, "knows no min_p"),
        ({"repetition_penalty": 1.1}, "repetition_penalty is not 1.0"),
        ({"temperature": -1}, "temperature -1.0"),
        ({"top_p": 0}, "top_p 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            Sampling.of(wrong)


def test_end_ids_are_read_where_the_model_has_them(model: Any) -> None:
    assert end_ids(model) == {END}
    several = SimpleNamespace(config=None, generation_config=SimpleNamespace(eos_token_id=[1, 2]))
    assert end_ids(several) == {1, 2}
    none = SimpleNamespace(config=SimpleNamespace(eos_token_id=None))
    assert end_ids(none) == frozenset()


def test_new_weights_are_sampled_from(engine: Engine, model: Any) -> None:
    sampling = Sampling(temperature=0, max_tokens=1)
    before = engine.generate(PROMPT, sampling)
    weights = {name: value * 0.5 for name, value in model.state_dict().items()}
    engine.load(weights)
    after = engine.generate(PROMPT, sampling)
    changed = Qwen3ForCausalLM(model.config).eval()
    changed.load_state_dict(weights)
    wanted = torch.log_softmax(logits_behind(changed, PROMPT), -1)[after.ids[0]]
    assert after.logprobs[0] == pytest.approx(float(wanted), abs=1e-5)
    assert after.logprobs != before.logprobs


def test_partial_or_foreign_weights_are_refused(engine: Engine, model: Any) -> None:
    weights = dict(model.state_dict())
    assert "lm_head.weight" in weights
    engine.load({name: each for name, each in weights.items() if name != "lm_head.weight"})
    with pytest.raises(ValueError, match="no weight of_another"):
        engine.load({**weights, "of_another": torch.zeros(1)})
    with pytest.raises(ValueError, match=r"weight model\.norm\.weight did not come"):
        engine.load({name: each for name, each in weights.items() if name != "model.norm.weight"})
    with pytest.raises(ValueError, match=r"model\.norm\.weight has shape \(3,\)"):
        engine.load({**weights, "model.norm.weight": torch.zeros(3)})


def test_the_server_answers_verl_and_takes_weights_between_two_requests(
    folder: Path, model: Any
) -> None:
    server = Server(str(folder), CONTEXT, 0)
    params = {"temperature": 2.0, "max_tokens": 4, "logprobs": True, "seed": 1}

    async def talk() -> list[Any]:
        await server.ready()
        await server.load_weights(model.state_dict(), 4)
        told = [await server.generate("a", PROMPT, params)]
        new = {name: value * 2 for name, value in model.state_dict().items()}
        asked = [server.generate(str(each), PROMPT, params) for each in range(3)]
        found = await asyncio.gather(*asked[:2], server.load_weights(new, 5), asked[2])
        return [*told, *(each for each in found if each is not None)]

    first, second, third, last = asyncio.run(talk())
    assert first == second == third
    assert first.extra_fields == {"global_steps": 4}
    assert last.extra_fields == {"global_steps": 5}
    assert last.log_probs != first.log_probs
    assert first.stop_reason == "completed"
    silent = asyncio.run(server.generate("b", PROMPT, {"max_tokens": 1}))
    assert silent.log_probs is None
    with pytest.raises(ValueError, match="only text"):
        asyncio.run(server.generate("c", PROMPT, {}, image_data=[1]))


def test_verl_finds_the_backend_by_name() -> None:
    load.register()
    load.register()
    assert get_rollout_class("transformers") is TransformersRollout
    assert get_rollout_replica_class("transformers") is TransformersReplica
    methods = {
        name
        for name in dir(RolloutReplica)
        if name in {"sleep", "wake_up"} or name.endswith(("_cache", "_profile", "_requests"))
    }
    assert methods
    assert methods <= set(dir(Server))


def test_weights_go_from_adapter_to_server(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[dict[str, torch.Tensor], int | None]] = []

    async def load_weights(weights: dict[str, torch.Tensor], steps: int | None) -> None:
        sent.append((weights, steps))

    handle = SimpleNamespace(load_weights=SimpleNamespace(remote=load_weights))
    monkeypatch.setattr(ray, "get_actor", {server_name(0): handle}.__getitem__)
    adapter = TransformersRollout.__new__(TransformersRollout)
    adapter._replica, adapter._server = 0, None
    own = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    asyncio.run(adapter.update_weights(iter([("w", own)]), global_steps=3, base_sync_done=True))
    ((weights, steps),) = sent
    own.data.zero_()
    assert weights["w"].tolist() == [1, 1]
    assert weights["w"].dtype == torch.float32
    assert steps == 3
    for wrong in ({"wire_format": "delta_flush"}, {"peft_config": {}}):
        with pytest.raises(NotImplementedError, match="whole weights only"):
            asyncio.run(adapter.update_weights(iter([]), **wrong))


def test_a_replica_is_one_process() -> None:
    replica = TransformersReplica.__new__(TransformersReplica)
    replica.world_size = 2
    with pytest.raises(ValueError, match="tensor_model_parallel_size=1"):
        asyncio.run(replica.launch_servers())


PLATFORM = """
import json, sys
from outcomebox.train.cpu.load import register
register()
from verl.utils import device
from verl.plugin.platform import get_platform
module = device.get_torch_device()
module.synchronize(); module.empty_cache(); module.set_device(0); module.ipc_collect()
with module.stream(module.current_stream()): pass
free, total = module.mem_get_info()
state = module.get_rng_state(); module.set_rng_state(state)
with get_platform().nvtx_range("x"): pass
print(json.dumps([
    device.get_device_name(), str(device.get_device_id()), device.get_nccl_backend(),
    device.get_resource_name(), device.is_support_ipc(), module.is_available(),
    module.max_memory_allocated(), 0 < free <= total, module.get_device_name(),
    get_platform().device_count(), device.get_visible_devices_keyword(),
    get_platform().is_platform_available(),
]))
"""


def test_verl_takes_the_platform_that_is_asked_for() -> None:
    environment = {**os.environ, "VERL_PLATFORM": "cpu", "VERL_USE_EXTERNAL_MODULES": ""}
    done = subprocess.run(
        [sys.executable, "-c", PLATFORM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip().splitlines()[-1] == (
        '["cpu", "cpu", "gloo", "GPU", false, true, 0, true, "CPU", 1, "CUDA_VISIBLE_DEVICES", true]'
    )


def test_the_platform_is_complete_and_never_taken_unasked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("VERL_PLATFORM", raising=False)
    load.register()
    found = platform_manager.PlatformRegistry.get("cpu")
    assert found is not None
    assert not found.__abstractmethods__
    assert not found().is_platform_available(use_smi_check=True)
    assert verl_device.get_device_name() in {"cuda", "cpu"}


def test_process_groups_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "init_process_group", None)
    asked: list[Any] = []

    def init_process_group(backend: str | None = None, **kwargs: Any) -> None:
        asked.append((backend, kwargs))

    monkeypatch.setattr(torch.distributed, "init_process_group", init_process_group)
    processgroup.fix()
    processgroup.fix()
    torch.distributed.init_process_group("cpu:gloo,cpu:gloo", rank=0)
    torch.distributed.init_process_group("nccl")
    torch.distributed.init_process_group()
    assert asked == [("gloo", {"rank": 0}), ("nccl", {}), (None, {})]


def test_memory_that_is_looked_into_is_left_and_its_file_closed() -> None:
    sharedmemory.fix()
    sharedmemory.fix()
    memory = shared_memory.SharedMemory(create=True, size=64)
    file = memory._fd  # type: ignore[attr-defined]
    tensor = torch.frombuffer(memory.buf[:64], dtype=torch.uint8)  # as verl receives weights
    tensor.fill_(7)
    memory.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)
    assert tensor.sum() == 7 * 64
    memory.unlink()
    del tensor
    gc.collect()
    memory.close()
    other = shared_memory.SharedMemory(create=True, size=8)
    other.close()
    other.unlink()


def test_linear_layers_keep_what_was_loaded() -> None:
    layer = torch.nn.Linear(2, 2)
    plugin.plain_linear(layer, remove_weight=True)
    given = torch.ones(1, 2)
    before = layer.cpu_linear(given, layer.weight, layer.bias)
    layer.weight.data.add_(1)
    after = layer.cpu_linear(given, layer.weight, layer.bias)
    assert (after - before).flatten().tolist() == pytest.approx([2, 2], abs=1e-5)
