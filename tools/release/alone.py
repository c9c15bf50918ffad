"""Installs a built wheel alone in an empty environment, and runs its README's examples there."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

from tools.release import examples
from tools.release.building import environment, pip, run
from tools.release.packages import Package, ReleaseError

_IMPORT = """
import importlib, importlib.metadata, sys
module = importlib.import_module(sys.argv[1])
assert module.__file__.startswith(sys.prefix), module.__file__
assert importlib.metadata.version(sys.argv[2]) == sys.argv[3]
"""


def install_alone(package: Package, wheel: Path, ours: list[Path]) -> str:
    """Install a wheel and use it as its README says.

    Args:
        package: The package.
        wheel: Its wheel. One without requirements is installed without an index.
        ours: Wheels of the packages of ours that it needs.

    Returns:
        What was done, for people.

    Raises:
        ReleaseError: The wheel brings something it does not require, or cannot be installed or
            imported, or an example fails.
    """
    with tempfile.TemporaryDirectory(prefix="outcomebox-alone-") as name:
        work = Path(name)
        lonely = not _required(wheel)
        options = ["--no-index"] if lonely else []
        files = tuple(str(each) for each in (wheel, *ours))
        python = environment(work / "env", files, *options)
        listed = json.loads(pip(python, "list", "--format=json"))
        brought = sorted({each["name"] for each in listed} - {"pip", "setuptools"})
        if lonely and brought != [package.name]:
            raise ReleaseError(f"{wheel.name}: brings {brought}, and requires nothing")
        module = f"outcomebox.{package.short}"
        run([str(python), "-c", _IMPORT, module, package.name, package.version], cwd=work)
        shutil.copy(package.folder / "README.md", work)
        shutil.copy(str(examples.__file__), work / "run_examples.py")
        try:
            said = run([str(python), "run_examples.py", "README.md"], cwd=work).split("\n")[-2]
        except ReleaseError as error:
            raise ReleaseError(f"packages/{package.short}/README.md: {error}") from None
    return f"{len(brought)} distributions installed, {said} of the README run"


def _required(wheel: Path) -> list[str]:
    """Return what a wheel requires whatever extra is asked for."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    lines = map(str, metadata.get_all("Requires-Dist", []))
    return [line for line in lines if "extra ==" not in line]
