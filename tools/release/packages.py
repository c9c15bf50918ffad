"""The packages of the repository, what they need of each other, and their versions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

PARTS = ("major", "minor", "patch")


class ReleaseError(Exception):
    """Something that must be mended before a release; the message says what, where and how."""


class Package(NamedTuple):
    """One distribution.

    Attributes:
        folder: Where it lies.
        name: What it is called in an index.
        version: Its version.
        requires: Its requirements, those of extras included.
        build_requires: What builds it.
        backend: The module that builds it.
    """

    folder: Path
    name: str
    version: str
    requires: tuple[str, ...]
    build_requires: tuple[str, ...]
    backend: str

    @property
    def short(self) -> str:
        """The name of its folder, by which the commands call it."""
        return self.folder.name

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        return f"{self.name.replace('-', '_')}-{self.version}"

    @property
    def tag(self) -> str:
        """The git tag of this version."""
        return f"{self.short}-v{self.version}"

    @property
    def changelog(self) -> Path:
        """Its list of changes."""
        return self.folder / "CHANGELOG.md"


def load(folder: Path) -> Package:
    """Read the package in ``folder``."""
    file = folder / "pyproject.toml"
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    project, build = read["project"], read["build-system"]
    extras = project.get("optional-dependencies", {}).values()
    return Package(
        folder=folder,
        name=project["name"],
        version=project["version"],
        requires=(*project.get("dependencies", ()), *(line for extra in extras for line in extra)),
        build_requires=tuple(build["requires"]),
        backend=build["build-backend"],
    )


def load_all(root: Path) -> dict[str, Package]:
    """Read all packages: name of the folder to package."""
    files = sorted(root.glob("packages/*/pyproject.toml"))
    if not files:
        raise ReleaseError(f"{root}: there is no packages/*/pyproject.toml; run it from a checkout")
    return {file.parent.name: load(file.parent) for file in files}


def chosen(packages: Mapping[str, Package], names: Iterable[str]) -> list[Package]:
    """Return the named packages, or all, each behind those that it needs."""
    wanted = list(names) or list(packages)
    for name in wanted:
        if name not in packages:
            known = ", ".join(packages)
            raise ReleaseError(f"there is no package {name!r}; there are: {known}")
    return [packages[name] for name in _order(packages) if name in wanted]


def needed(packages: Mapping[str, Package], package: Package) -> list[Package]:
    """Return the packages of ours that one needs, directly or not."""
    found: dict[str, None] = {}
    waiting = [package.short]
    while waiting:
        for name in _ours(packages, packages[waiting.pop()]):
            if name not in found:
                found[name] = None
                waiting.append(name)
    return [packages[name] for name in _order(packages) if name in found]


def bad_ranges(packages: Mapping[str, Package]) -> Iterator[str]:
    """Say which requirement on a package of ours leaves out its version."""
    for package in packages.values():
        for name, requirement in _ours(packages, package).items():
            other = packages[name]
            if not requirement.specifier.contains(other.version, prereleases=True):
                yield (
                    f"packages/{package.short}/pyproject.toml: {requirement} leaves out "
                    f"{other.name} {other.version}; widen the range, release {package.short} too"
                )


def next_version(current: str, wanted: str) -> str:
    """Return the version that follows ``current``: a part of it raised, or the given one.

    Raises:
        ReleaseError: It is no version, or does not follow.
    """
    now = Version(current)
    if wanted in PARTS:
        numbers = [*now.release, 0, 0][:3]
        at = PARTS.index(wanted)
        raised = [*numbers[:at], numbers[at] + 1, 0, 0][:3]
        return ".".join(map(str, raised))
    try:
        version = Version(wanted)
    except InvalidVersion:
        raise ReleaseError(
            f"{wanted!r} is neither a version nor one of {', '.join(PARTS)}"
        ) from None
    if version <= now or str(version) != wanted or version.local:
        raise ReleaseError(f"{wanted!r} does not follow {current}; write it like {current}")
    return wanted


def set_version(package: Package, version: str) -> None:
    """Write the version into ``pyproject.toml``."""
    file = package.folder / "pyproject.toml"
    text = file.read_text(encoding="utf-8")
    old = f'version = "{package.version}"'
    if text.count(f"\n{old}\n") != 1:
        raise ReleaseError(f"{file}: the line {old!r} does not stand there exactly once")
    file.write_text(re.sub(f"(?m)^{re.escape(old)}$", f'version = "{version}"', text), "utf-8")


def _ours(packages: Mapping[str, Package], package: Package) -> dict[str, Requirement]:
    names = {each.name: short for short, each in packages.items()}
    parsed = map(Requirement, package.requires)
    return {names[each.name]: each for each in parsed if each.name in names}


def _order(packages: Mapping[str, Package]) -> list[str]:
    graph = {name: list(_ours(packages, each)) for name, each in packages.items()}
    return list(TopologicalSorter(graph).static_order())
