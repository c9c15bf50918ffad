"""Text alone through a model of a multimodal class, under Ulysses sequence parallelism.

Under sequence parallelism each rank computes a share of the sequence. verl cuts the labels always,
the input only where the model's configuration has no ``vision_config``: a multimodal model needs
the whole input to put its images in, and verl has the text parts of some families (Qwen2-VL,
Qwen3-VL, Qwen3.5, GLM-4V, Kimi-VL) cut it behind the embedding. A multimodal class of any other
family gets the whole input and cuts nothing, so that outputs and labels differ in length, even
where there is no image anywhere. For those, text alone is prepared as for a model of text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Any

CUTTING = "ulysses_wrapped_decoder_forward"
"""Name of the ``forward`` that verl gives text parts which cut the sequence themselves."""


def cuts_itself(model: Any) -> bool:
    """Whether some part of a model cuts the sequence behind the embedding."""
    return any(getattr(type(part).forward, "__name__", "") == CUTTING for part in model.modules())


@contextmanager
def _as_text(engine: Any) -> Iterator[None]:
    """While it lasts, verl's question for a ``vision_config`` finds none."""
    module = engine.module
    engine.module = SimpleNamespace(config=SimpleNamespace())
    try:
        yield
    finally:
        engine.module = module


def prepared_by_content(
    prepare: Callable[..., Any], media: Callable[[Any], dict[str, Any]]
) -> Callable[..., Any]:
    """The preparation of a micro-batch, with text told from media by what is in it.

    Args:
        prepare: verl's method.
        media: verl's function that collects a micro-batch's images and videos.
    """

    @wraps(prepare)
    def prepared(self: Any, micro_batch: Any) -> Any:
        # FSDP1 holds the model one deeper.
        model = getattr(self.module, "module", self.module)
        if (
            not self.use_ulysses_sp
            or not hasattr(model.config, "vision_config")
            or media(micro_batch.get("multi_modal_inputs", []))
            or cuts_itself(model)
        ):
            return prepare(self, micro_batch)
        with _as_text(self):
            return prepare(self, micro_batch)

    return prepared


def install(module: ModuleType) -> None:
    """Change verl's ``workers.engine.fsdp.transformer_impl``."""
    engine = module.FSDPEngineWithLMHead
    engine.prepare_model_inputs = prepared_by_content(
        engine.prepare_model_inputs, module.extract_multi_modal_inputs
    )
