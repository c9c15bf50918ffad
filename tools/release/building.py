"""Builds wheels and source distributions, each by its own backend in an environment of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from tools.release.checkout import export
from tools.release.packages import Package, ReleaseError

SOURCE_DATE_EPOCH = "315532800"
"""1980-01-01, the oldest date that a zip holds: the same sources give the same bytes."""

_HOOKS = """
import importlib, sys
backend = importlib.import_module(sys.argv[1])
print(backend.build_sdist(sys.argv[2]))
print(backend.build_wheel(sys.argv[2]))
"""


class Built(NamedTuple):
    """The files of a release."""

    wheel: Path
    sdist: Path


def environment(folder: Path, requirements: tuple[str, ...], *options: str) -> Path:
    """Make an environment that holds some requirements and nothing else; returns its Python.

    Raises:
        ReleaseError: pip cannot install them.
    """
    # The pip beside this tool, where there is one, serves all environments: they start sooner.
    shared = importlib.util.find_spec("pip") is not None
    own = [] if requirements and not shared else ["--without-pip"]
    subprocess.run([sys.executable, "-m", "venv", *own, str(folder)], check=True)
    python = folder / "bin" / "python"
    if requirements:
        pip(python, "install", "--quiet", *options, *requirements)
    return python


def pip(python: Path, *arguments: str) -> str:
    """Run pip on the environment of a Python; returns what it prints.

    Raises:
        ReleaseError: It fails.
    """
    if (python.parent / "pip").exists():
        return run([str(python), "-m", "pip", *arguments])
    return run([sys.executable, "-m", "pip", "--python", str(python), *arguments])


def build(root: Path, package: Package, out: Path) -> Built:
    """Build the package as the commit has it.

    Raises:
        ReleaseError: Its backend fails, or the source distribution builds another wheel.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="outcomebox-release-") as name:
        work = Path(name)
        python = environment(work / "env", package.build_requires)
        source = export(root, package.folder, work / "source")
        built = _hooks(python, package, source, out)
        with tarfile.open(built.sdist) as archive:
            archive.extractall(work / "unpacked", filter="data")
        again = _hooks(python, package, work / "unpacked" / package.stem, work / "again")
        if again.wheel.read_bytes() != built.wheel.read_bytes():
            raise ReleaseError(
                f"{built.sdist.name}: it builds another wheel than the checkout does; look for "
                f"files that it lacks"
            )
    return built


def _hooks(python: Path, package: Package, source: Path, out: Path) -> Built:
    out.mkdir(parents=True, exist_ok=True)
    command = [str(python), "-c", _HOOKS, package.backend, str(out.resolve())]
    lines = run(command, cwd=source, SOURCE_DATE_EPOCH=SOURCE_DATE_EPOCH).split()
    return Built(wheel=out / lines[-1], sdist=out / lines[-2])


def run(command: list[str], cwd: Path | None = None, **more: str) -> str:
    """Run a command that must not see this process's search path; returns what it prints.

    Raises:
        ReleaseError: It fails; the message has the end of what it printed.
    """
    left_out = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    env = {key: value for key, value in os.environ.items() if key not in left_out}
    done = subprocess.run(
        command, cwd=cwd, env={**env, **more}, check=False, capture_output=True, text=True
    )
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-25:])
        raise ReleaseError(f"{' '.join(command[:4])} ...: exit status {done.returncode}\n{said}")
    return done.stdout
