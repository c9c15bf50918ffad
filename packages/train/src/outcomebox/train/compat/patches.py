"""The changes to verl: what each is for, where it is made, and for which source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Patch:
    """One change to one function of verl.

    Attributes:
        name: What it is called in messages.
        why: The fault that it mends, for a person.
        module: The module of verl that holds the function.
        function: Qualified name of the function.
        digests: Version -> SHA-256 (hex) of the function's source in that release.
        installer: ``module:function`` of ours that takes verl's module and changes it.
        not_needed: Version -> why that release is right without the change. Its source is pinned
            all the same, since that is what the judgement is about.
    """

    name: str
    why: str
    module: str
    function: str
    digests: Mapping[str, str]
    installer: str
    not_needed: Mapping[str, str]

    @property
    def where(self) -> str:
        """Module and function as one name."""
        return f"{self.module}.{self.function}"


PATCHES = (
    Patch(
        name="gradient-sync",
        why="gradients are reduced after each micro-batch, so that no rank keeps the whole "
        "model's unsharded gradients in memory until the last one",
        module="verl.workers.engine.fsdp.transformer_impl",
        function="FSDPEngine._gradient_sync_context",
        digests={
            "0.9.0": "527402026161665e554993aa1061ef45029b1c2a9995032204e94a4863fbdbe6",
            "0.9.1": "3084cf8d01ea4643ed0b871e3dc8cbc3a64317bcdad4a1d40e68eaf522d2eb00",
        },
        installer="outcomebox.train.compat.gradient_sync:install",
        not_needed={
            "0.9.1": "fsdp_config.use_no_sync_for_gradient_accumulation decides it, and verl's "
            "own configuration says false"
        },
    ),
    Patch(
        name="fused-head",
        why="an untied head that a fused kernel reads past its own forward belongs to FSDP2's "
        "root unit: there it is gathered on the device that computes, and its gradient is reduced "
        "over the ranks like every other",
        module="verl.utils.fsdp_utils",
        function="_select_fsdp2_wrap_targets",
        digests={
            "0.9.0": "f738ec112a9093b78ca2c32398f68fb7237d08a151065997b81a2a7d8215307a",
            "0.9.1": "f738ec112a9093b78ca2c32398f68fb7237d08a151065997b81a2a7d8215307a",
        },
        installer="outcomebox.train.compat.fused_head:install",
        not_needed={},
    ),
    Patch(
        name="text-only-ulysses",
        why="a model of a multimodal class that is given text alone, and whose text part does not "
        "cut the sequence itself, gets its share of the sequence under sequence parallelism, as "
        "its labels do",
        module="verl.workers.engine.fsdp.transformer_impl",
        function="FSDPEngineWithLMHead.prepare_model_inputs",
        digests={
            "0.9.0": "0129b8d38c8f017a45b08c11f46ada4744dc81a5fd20112d1e97a15e1455dfd2",
            "0.9.1": "ef54213906ac028ab68f673afc741d134f69e529fb2aa771dba31883762ef56a",
        },
        installer="outcomebox.train.compat.text_only:install",
        not_needed={},
    ),
)
"""All of them, in the order in which they are told."""
