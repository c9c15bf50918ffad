"""Process groups on a CPU.

verl 0.9.0 and 0.9.1 ask torch for the backend ``cpu:gloo,<device>:<backend>``: one for tensors on
the CPU, one for those on the device. Where the device is the CPU that names it twice, which torch
refuses ("Duplicate device type cpu"). It is the same backend, so it is asked for once.
"""

from __future__ import annotations

import functools
from typing import Any

import torch.distributed  # pants: no-infer-dep

TWICE = "cpu:gloo,cpu:gloo"
ONCE = "gloo"


def fix() -> None:
    """Wrap ``torch.distributed.init_process_group``, once."""
    made = torch.distributed.init_process_group
    if getattr(made, "names_cpu_once", False):
        return

    @functools.wraps(made)
    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> Any:
        return made(ONCE if backend == TWICE else backend, *args, **kwargs)

    wrapper: Any = init_process_group
    wrapper.names_cpu_once = True
    torch.distributed.init_process_group = wrapper
