"""The environments of the releases that certify profiles: made once from their locks, then kept.

They are no resolves of Pants: Pex refuses a set of requirements that lacks what its packages say
they need, and these leave out gigabytes that parsing does not use (see oracle_standins).
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_LOCKS = Path(__file__).parents[3] / "3rdparty" / "python"

GIVEN = "OUTCOMEBOX_ORACLES"
"""Environment variable: `vllm032=PYTHON vllm024=PYTHON sglang=PYTHON`, for those that exist."""


def python_of(release: str) -> Path:
    """Return the Python that has a release; its environment is made where there is none yet.

    Raises:
        RuntimeError: It cannot be made; the message says why.
    """
    given = dict(item.split("=", 1) for item in os.environ.get(GIVEN, "").split())
    if release in given:
        return Path(given[release])
    lock = _LOCKS / f"{release}.lock"
    made_of = lock.read_bytes() + sys.version.encode()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "outcomebox-oracles" / f"{release}-{hashlib.sha256(made_of).hexdigest()[:16]}"
    if not folder.exists():
        _make(lock, folder)
    return folder / "bin" / "python"


def _make(lock: Path, folder: Path) -> None:
    """Make an environment; the rename that ends it is all that others can see."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    base = getattr(sys, "_base_executable", sys.executable)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as scratch:
        new = Path(scratch) / folder.name
        _run([base, "-m", "venv", str(new)])
        options = ["--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        pip = [str(new / "bin" / "python"), "-m", "pip", "install", "-q", *options]
        _run([*pip, "--no-compile", "--require-hashes", "-r", str(lock)])
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
