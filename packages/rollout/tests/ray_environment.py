"""The environment of the Ray executor's heavy tests: made once from its lock, then kept.

It is no resolve of Pants, for nothing of ours may import Ray: the tests start commands in it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_LOCK = _ROOT / "3rdparty" / "python" / "ray.lock"

GIVEN = "OUTCOMEBOX_RAY"
"""Environment variable: a Python that has Ray and what an episode imports, to be used instead."""


def python_with_ray() -> Path:
    """Return a Python that has what ``ray.lock`` says; its environment is made where there is none.

    Raises:
        RuntimeError: It cannot be made; the message says why.
    """
    if GIVEN in os.environ:
        return Path(os.environ[GIVEN])
    made_of = _LOCK.read_bytes() + sys.version.encode()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "outcomebox-ray" / hashlib.sha256(made_of).hexdigest()[:16]
    if not folder.exists():
        _make(folder)
    return folder / "bin" / "python"


def variables(folder: Path) -> dict[str, str]:
    """Environment of commands that run there.

    Args:
        folder: For Ray's own files; its name is short, for Ray keeps sockets in it.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RAY_", "OUTCOMEBOX_", "PYTHON"))
    }
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(_sources()),
        "RAY_TMPDIR": str(folder),
        "RAY_USAGE_STATS_ENABLED": "0",
        # Loopback alone: Ray listens everywhere on what it takes for a cluster's machine.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "disabled",
    }


def _sources() -> list[str]:
    """Where our packages lie, as this process imports them."""
    return [path for path in sys.path if (Path(path) / "outcomebox").is_dir()]


def _make(folder: Path) -> None:
    """Make an environment; the rename that ends it is all that others can see."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    base = getattr(sys, "_base_executable", sys.executable)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as scratch:
        new = Path(scratch) / folder.name
        _run([base, "-m", "venv", str(new)])
        options = ["--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        pip = [str(new / "bin" / "python"), "-m", "pip", "install", "-q", *options]
        _run([*pip, "--no-compile", "--require-hashes", "-r", str(_LOCK)])
        try:
            new.rename(folder)
        except OSError:
            # Somebody else was first: a rename replaces no filled folder, and theirs is as good.
            if not folder.exists():
                raise


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
