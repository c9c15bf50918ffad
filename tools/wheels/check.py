"""Checks each package's built wheel and source distribution against its folder.

Usage: ``python3 -m tools.wheels.check DIST`` after ``./pants package packages::``
"""

from __future__ import annotations

import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

from tools.tree import ROOT


def main(dist: Path) -> int:
    """Checks every package below packages/; returns the exit status."""
    projects = sorted(ROOT.glob("packages/*/pyproject.toml"))
    problems = [problem for project in projects for problem in check(project.parent, dist)]
    for problem in problems:
        print(problem)
    print(f"{len(projects)} packages, {len(problems)} problems")
    return int(bool(problems) or not projects)


def check(folder: Path, dist: Path) -> Iterator[str]:
    """What is wrong with the distributions of the package in ``folder``."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    wheel, sdist = dist / f"{stem}-py3-none-any.whl", dist / f"{stem}.tar.gz"
    for file in (wheel, sdist):
        if not file.is_file():
            yield f"{file}: is missing; run ./pants package packages::"
            return
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    info = f"{stem}.dist-info"
    metadata = Parser().parsestr(contents[f"{info}/METADATA"].decode())
    for problem in [
        *wrong_metadata(folder, project, metadata),
        *wrong_contents(folder, project, contents, info),
    ]:
        yield f"{wheel.name}: {problem}"
    with tarfile.open(sdist) as archive:
        packed = set(archive.getnames())
    for name in ("pyproject.toml", "README.md", "LICENSE", *(f"src/{n}" for n in sources(folder))):
        if f"{stem}/{name}" not in packed:
            yield f"{sdist.name}: lacks {name}"


def sources(folder: Path) -> dict[str, Path]:
    """What a package ships: path inside the wheel to file."""
    source = folder / "src"
    return {
        file.relative_to(source).as_posix(): file
        for file in source.glob("outcomebox/**/*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def wrong_metadata(folder: Path, project: dict[str, Any], metadata: Message) -> Iterator[str]:
    """What METADATA gets wrong of pyproject.toml, README, CHANGELOG and our own habits."""
    expected = {
        "Name": project["name"],
        "Version": project["version"],
        "Summary": project["description"],
        "Requires-Python": ">=3.11,<3.13",
        "License-Expression": "MIT",
        "Description-Content-Type": "text/markdown",
    }
    for field, value in expected.items():
        if metadata[field] != value:
            yield f"{field} is {metadata[field]!r}, expected {value!r}"
    requires = [str(line) for line in metadata.get_all("Requires-Dist", []) if ";" not in line]
    if sorted(requires) != sorted(project["dependencies"]):
        yield f"requires {requires}, expected {project['dependencies']}"
    for line in requires:
        if "==" in line or ">=" not in line:
            yield f"requires {line}: write a range; the locks pin"
        if any(host in line for host in ("@", "://")):
            yield f"requires {line}: names an address"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    if str(metadata.get_payload()).strip() != readme.strip():
        yield "its long description is not README.md"
    if f"## {project['version']}" not in (folder / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield f"CHANGELOG.md says nothing of {project['version']}"


def wrong_contents(
    folder: Path, project: dict[str, Any], contents: dict[str, bytes], info: str
) -> Iterator[str]:
    """What the wheel lacks, or has too much of."""
    ships = sources(folder)
    package = f"outcomebox/{folder.name}"
    if f"{package}/py.typed" not in contents:
        yield f"lacks {package}/py.typed"
    if "outcomebox/__init__.py" in contents:
        yield "has outcomebox/__init__.py, which would hide the other packages"
    for name, file in ships.items():
        if contents.get(name) != file.read_bytes():
            yield f"{name} is missing or differs; see `data` and sources in src/BUILD"
    for name in contents:
        if name not in ships and not name.startswith(f"{info}/"):
            yield f"has {name}, which is not in src/"
    if contents.get(f"{info}/licenses/LICENSE") != (ROOT / "LICENSE").read_bytes():
        yield "its license is not the repository's"
    for script, target in project.get("scripts", {}).items():
        module = target.partition(":")[0].replace(".", "/") + ".py"
        if module not in contents:
            yield f"command {script} starts {module}, which is not there"
        if f"{script}=" not in contents[f"{info}/entry_points.txt"].decode().replace(" ", ""):
            yield f"command {script} is not in entry_points.txt"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
