"""Runs a measurement on two processes joined by gloo, and brings back what the first one saw."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch  # pants: no-infer-dep
import torch.distributed as dist  # pants: no-infer-dep
import torch.multiprocessing as mp  # pants: no-infer-dep


def on_two_ranks(measure: Callable[[int], Any]) -> Any:
    """What ``measure(rank)`` returns on rank 0, as JSON has it; it runs on both."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        mp.spawn(_one, (measure, port, str(told)), nprocs=2)  # type: ignore[no-untyped-call]
        return json.loads(told.read_text())


def _one(rank: int, measure: Callable[[int], Any], port: int, told: str) -> None:
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2"
    )
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    seen = measure(rank)
    if rank == 0:
        Path(told).write_text(json.dumps(seen))
    dist.barrier()
    dist.destroy_process_group()
