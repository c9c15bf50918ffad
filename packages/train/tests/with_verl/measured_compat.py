"""Measures verl with and without the changes of ``compat``, on the smallest objects.

Each function runs on two ranks. verl is imported unchanged, measured, changed, and measured again:
the change is made to modules that are there already.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch  # pants: no-infer-dep
from tensordict import TensorDict  # pants: no-infer-dep
from torch.distributed.device_mesh import init_device_mesh  # pants: no-infer-dep
from transformers import PreTrainedModel  # pants: no-infer-dep

from outcomebox.train import compat

LENGTH = 6
VOCABULARY = 48


def measured(rank: int) -> dict[str, Any]:
    """Everything, unchanged and changed."""
    from verl.utils import fsdp_utils  # noqa: F401 -- imported unchanged
    from verl.workers.engine.fsdp import transformer_impl  # noqa: F401 -- the same

    plain = _everything(rank)
    applied = compat.apply()
    changed = _everything(rank)
    return {
        "plain": plain,
        "changed": changed,
        "cutting": cutting(),
        "applied": [[one.name, one.state, str(one)] for one in applied],
    }


def _everything(rank: int) -> dict[str, Any]:
    return {
        "head": {family: head_gradients(rank, family) for family in ("qwen3", "qwen3_5")},
        "tied": head_gradients(rank, "qwen3", tied=True),
        "kernel": {family: kernel_weight(family) for family in ("qwen3", "qwen3_5")},
        "unfused": units("qwen3", fused=False),
        "fused": units("qwen3", fused=True),
        "sync": gradient_sync(rank),
        "ulysses": ulysses(),
    }


def tiny(family: str, *, tied: bool = False) -> PreTrainedModel:
    """An untrained model of a family that verl knows; the same weights each time."""
    torch.manual_seed(0)
    text = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "tie_word_embeddings": tied,
    }
    if family == "qwen3":
        from transformers import Qwen3Config, Qwen3ForCausalLM

        config = Qwen3Config(num_hidden_layers=1, **text)
        config._attn_implementation = "eager"
        return Qwen3ForCausalLM(config)
    from transformers.models.qwen3_5 import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    hybrid = {
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 1,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
    }
    vision = {
        "depth": 1,
        "hidden_size": 16,
        "num_heads": 2,
        "intermediate_size": 32,
        "out_hidden_size": 16,
        "num_position_embeddings": 16,
        "patch_size": 4,
    }
    both = Qwen3_5Config(
        text_config={**text, **hybrid},
        vision_config=vision,
        tie_word_embeddings=tied,
        image_token_id=40,
        video_token_id=41,
    )
    both._attn_implementation = "eager"
    return Qwen3_5ForConditionalGeneration(both)


def fused(model: PreTrainedModel) -> PreTrainedModel:
    """The model with verl's fused head."""
    from verl.models.transformers.monkey_patch import apply_monkey_patch

    apply_monkey_patch(
        model, use_remove_padding=False, use_fused_kernels=True, fused_kernels_backend="torch"
    )
    return model


def sharded(model: PreTrainedModel, **settings: Any) -> PreTrainedModel:
    """The model under FSDP2 on both ranks, as verl's engine does it."""
    from verl.utils import fsdp_utils

    kwargs = {
        "mesh": init_device_mesh("cpu", (2,)),
        "mp_policy": fsdp_utils.MixedPrecisionPolicy(cast_forward_inputs=True),
        "offload_policy": None,
        "reshard_after_forward": True,
        **settings,
    }
    fsdp_utils.apply_fsdp2(model, kwargs, {})
    return model


def micro_batches() -> list[torch.Tensor]:
    """Four micro-batches, two for each rank, each (2, LENGTH)."""
    first = torch.arange(2 * LENGTH).reshape(2, LENGTH)
    return [(first * (one + 1) + one) % 40 for one in range(4)]


def loss(model: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Mean negative log-probability by the fused head."""
    out = model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        position_ids=torch.arange(LENGTH).unsqueeze(0).expand(2, LENGTH),
        return_dict=True,
        temperature=1.0,
        use_cache=False,
    )
    return -out.log_probs.mean()


def head_gradients(rank: int, family: str, *, tied: bool = False) -> dict[str, Any]:
    """Gradients under FSDP2 against those of the same model on one process."""
    model = fused(tiny(family, tied=tied))
    alone = tiny(family, tied=tied)
    for ids in micro_batches():
        # FSDP2 takes the mean over ranks; micro-batches of one rank add up.
        (loss(alone, ids) / 2).backward()
    wanted = {name: one.grad for name, one in alone.named_parameters()}
    sharded(model)
    try:
        for ids in micro_batches()[2 * rank : 2 * rank + 2]:
            loss(model, ids).backward()
    except (RuntimeError, AttributeError) as error:
        return {"raised": str(error)}
    off, size = {}, {}
    for name, one in model.named_parameters():
        want = wanted[name]
        if want is None or one.grad is None:
            if (want is None) != (one.grad is None):
                off[name] = float("inf")
            continue
        off[name] = float((one.grad.full_tensor() - want).abs().max())
        size[name] = float(want.abs().max())
    return {"off": off, "size": size}


def kernel_weight(family: str) -> dict[str, Any]:
    """What the fused kernel gets as the head's weight, with parameters offloaded."""
    from torch.distributed.fsdp import CPUOffloadPolicy
    from torch.distributed.tensor import DTensor
    from verl.utils import fsdp_utils
    from verl.utils.experimental import torch_functional

    model = sharded(
        fused(tiny(family)),
        mp_policy=fsdp_utils.MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, cast_forward_inputs=True
        ),
        offload_policy=CPUOffloadPolicy(pin_memory=False),
    )
    seen: dict[str, Any] = {}
    original = torch_functional.FusedLinearForPPO.forward

    def looked(self: Any, *, vocab_weights: torch.Tensor, **rest: Any) -> Any:
        seen["sharded"] = isinstance(vocab_weights, DTensor)
        seen["dtype"] = str(vocab_weights.dtype)
        return original(self, vocab_weights=vocab_weights, **rest)

    torch_functional.FusedLinearForPPO.forward = looked
    try:
        with torch.no_grad():
            loss(model, micro_batches()[0])
    except RuntimeError as error:
        seen["raised"] = str(error)
    finally:
        torch_functional.FusedLinearForPPO.forward = original
    return seen


def units(family: str, *, fused: bool) -> list[str]:
    """Names of the modules that become units of their own."""
    from verl.utils import fsdp_utils

    model = tiny(family)
    if fused:
        globals()["fused"](model)
    else:
        # verl changes the class, so an unfused model needs one of its own.
        from transformers import Qwen3ForCausalLM, Qwen3PreTrainedModel

        model.__class__ = type(
            "Unfused", (Qwen3ForCausalLM,), {"forward": Qwen3PreTrainedModel.forward}
        )
    chosen = fsdp_utils._select_fsdp2_wrap_targets(model, ["Qwen3DecoderLayer"])
    return [name for name, one in model.named_modules() if any(one is unit for unit in chosen)]


def gradient_sync(rank: int) -> dict[str, Any]:
    """Which gradients are reduced after the first of two micro-batches, and what they end as."""
    from torch.distributed.fsdp import fully_shard
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4, bias=False)
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    engine = SimpleNamespace(module=model, engine_config=SimpleNamespace(**_fsdp_settings()))
    reduced = []
    for number in range(2):
        with FSDPEngine._gradient_sync_context(engine, is_last_micro_batch=number == 1):
            model(torch.full((1, 4), float(1 + rank + number))).sum().backward()
        reduced.append(model.weight.grad is not None)
    return {"reduced": reduced, "gradient": model.weight.grad.full_tensor()[0].tolist()}


def _fsdp_settings() -> dict[str, Any]:
    """The engine's settings as verl's own configuration has them."""
    from pathlib import Path

    import verl
    from omegaconf import OmegaConf

    file = Path(verl.__file__).parent / "trainer" / "config" / "engine" / "fsdp.yaml"
    read = OmegaConf.load(file)
    name = "use_no_sync_for_gradient_accumulation"
    return {name: read[name]} if name in read else {}


class _Backbone(torch.nn.Module):
    """A text part that keeps what it is given."""

    def forward(self, inputs_embeds: torch.Tensor, **_: Any) -> torch.Tensor:
        return inputs_embeds


class _CuttingBackbone(_Backbone):
    """One that verl teaches to cut the sequence."""

    def forward(self, inputs_embeds: torch.Tensor, **_: Any) -> torch.Tensor:
        return inputs_embeds


def ulysses() -> dict[str, Any]:
    """Lengths of inputs and labels on rank 0, for each kind of model and micro-batch."""
    from verl.models.transformers.monkey_patch import patch_vlm_for_ulysses_input_slicing
    from verl.utils.ulysses import set_ulysses_sequence_parallel_group

    if _CuttingBackbone.forward.__name__ == "forward":
        patch_vlm_for_ulysses_input_slicing(_CuttingBackbone)
    set_ulysses_sequence_parallel_group(torch.distributed.group.WORLD)
    try:
        return {
            "text model": _lengths(_Backbone(), vision=False),
            "multimodal class": _lengths(_Backbone(), vision=True),
            "cuts itself": _lengths(_CuttingBackbone(), vision=True),
            "with an image": _lengths(_Backbone(), vision=True, image=True),
        }
    finally:
        set_ulysses_sequence_parallel_group(None)


def cutting() -> dict[str, bool]:
    """Which real families cut the sequence themselves once verl prepared them for Ulysses."""
    from verl.models.transformers.monkey_patch import apply_monkey_patch

    from outcomebox.train.compat.text_only import cuts_itself

    found = {}
    for family in ("qwen3", "qwen3_5"):
        model = tiny(family)
        found[f"{family} before"] = cuts_itself(model)
        apply_monkey_patch(model, ulysses_sp_size=2, use_remove_padding=True)
        found[family] = cuts_itself(model)
    return found


def _lengths(backbone: torch.nn.Module, *, vision: bool, image: bool = False) -> dict[str, Any]:
    from verl.utils import tensordict_utils as tu
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

    model = torch.nn.Sequential(backbone)
    model.config = SimpleNamespace(**({"vision_config": object()} if vision else {}))
    engine = object.__new__(FSDPEngineWithLMHead)
    engine.module = model
    engine.use_ulysses_sp = True
    engine.ulysses_sequence_parallel_size = 2
    engine.pad_to_length = False
    ids = torch.nested.as_nested_tensor(
        [torch.arange(1, 5), torch.arange(5, 12)], layout=torch.jagged
    )
    places = torch.nested.nested_tensor_from_jagged(
        torch.cat([torch.arange(4), torch.arange(7)]), ids.offsets()
    )
    batch = TensorDict({"input_ids": ids, "position_ids": places}, batch_size=2)
    tu.assign_non_tensor(batch, temperature=1.0, use_remove_padding=True, use_fused_kernels=False)
    if image:
        pixels = [{"pixel_values": torch.zeros(1, 3)} for _ in range(2)]
        tu.assign_non_tensor_stack(batch, "multi_modal_inputs", pixels)
    inputs, outputs = engine.prepare_model_inputs(batch)
    return {
        "input": inputs["input_ids"][0].tolist(),
        "positions": inputs["position_ids"][0].tolist(),
        "labels": outputs["input_ids_rmpad_rolled"].tolist(),
        "same module": engine.module is model,
    }
