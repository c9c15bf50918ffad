"""What verl's processes need of their environment on a CPU.

Nothing of torch or verl is imported here: the launcher asks before any of them is started.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, get_args

from outcomebox.sandbox import InputError

CpuBackend = Literal["transformers", "vllm"]
"""Rollout backends that run on a CPU, as ``actor_rollout_ref.rollout.name`` calls them."""

SHIMS = "shims"
"""Folder of the shims below that of the run."""

_PATIENCE_S = 180
"""Seconds that Ray waits for processes of its own: a busy machine of few cores imports for long."""


def cpu_environment(backend: CpuBackend, folder: Path) -> dict[str, str]:
    """Environment variables of the launcher and of all that it starts.

    Args:
        backend: The rollout backend.
        folder: Of the run. Where it says so, ``PYTHONPATH`` names its ``shims``, which
            ``python -m outcomebox.train.cpu.shims`` writes with the Python that is to train.

    Raises:
        InputError: The backend does not run on a CPU.
    """
    _check(backend)
    found = {
        "VERL_PLATFORM": "cpu",
        # The FSDP engine is registered for cuda and npu alone; it asks the platform for the rest.
        "VERL_ENGINE_DEVICE": "cuda",
        # Processes are many and cores few: threads that wait for each other only cost.
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "TOKENIZERS_PARALLELISM": "false",
        "RAY_raylet_start_wait_time_s": str(_PATIENCE_S),
        "RAY_agent_register_timeout_ms": str(1000 * _PATIENCE_S),
    }
    if backend == "vllm":
        path = [str(folder.absolute() / SHIMS), *filter(None, [os.environ.get("PYTHONPATH")])]
        found |= {
            "PYTHONPATH": os.pathsep.join(path),
            "VLLM_CPU_KVCACHE_SPACE": os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1"),
            # One core each would be taken for vLLM alone, and the others sit on the first.
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "VLLM_NO_USAGE_STATS": "1",
        }
    return found


def _check(backend: str) -> None:
    known = get_args(CpuBackend)
    if backend not in known:
        raise InputError(
            f"does not run on a CPU; use {' or '.join(known)}", field="rollout.name", value=backend
        )
