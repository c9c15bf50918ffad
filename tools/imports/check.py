"""Proves that the import rules hold, and that each package declares what it imports.

Usage: ``python3 -m tools.imports.check``

Two questions, asked of Pants (see docs/design/import-rules.md):

1. Is a wrong import refused, and a right one not? Modules with one import each are planted in a
   throw-away copy of the repository, and Pants is asked for the dependencies of each.
2. Do a package's imports and the dependencies in its pyproject.toml name the same distributions?
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tools.tree import throwaway_copy


class Case(NamedTuple):
    """A module to plant."""

    file: str  # below packages/
    imports: str
    allowed: bool


def _source(package: str, imports: str, *, allowed: bool = False, name: str = "planted") -> Case:
    module = imports.replace(".", "_")
    return Case(f"{package}/src/outcomebox/{package}/{name}_{module}.py", imports, allowed)


CASES = [
    _source("interpret", "outcomebox.sandbox"),
    _source("interpret", "pydantic"),
    _source("interpret", "rich"),
    Case("interpret/src/outcomebox/interpret/replay/planted_rich.py", "rich", allowed=True),
    _source("sandbox", "outcomebox.interpret"),
    _source("sandbox", "outcomebox.reward"),
    _source("sandbox", "pydantic", allowed=True),
    _source("reward", "outcomebox.interpret"),
    _source("reward", "outcomebox.rollout"),
    _source("reward", "outcomebox.sandbox", allowed=True),
    _source("rollout", "outcomebox.selection"),
    _source("rollout", "outcomebox.interpret", allowed=True),
    _source("rollout", "outcomebox.reward", allowed=True),
    _source("selection", "outcomebox.rollout"),
    _source("selection", "outcomebox.sandbox"),
    _source("selection", "outcomebox.selection.probe_command"),
    _source("selection", "outcomebox.interpret"),
    _source("selection", "outcomebox.interpret", name="probe_planted"),
    _source("selection", "outcomebox.rollout", name="probe_planted", allowed=True),
    _source("eval", "outcomebox.rollout"),
    _source("eval", "outcomebox.selection"),
    _source("eval", "outcomebox.interpret"),
    _source("eval", "outcomebox.reward", allowed=True),
    _source("eval", "outcomebox.sandbox", allowed=True),
    _source("eval", "outcomebox.rollout", name="replay_planted", allowed=True),
    _source("eval", "outcomebox.rollout", name="bench_planted", allowed=True),
    _source("rollout", "outcomebox.train"),
    _source("eval", "outcomebox.train"),
    _source("train", "outcomebox.eval", allowed=True),
    _source("train", "outcomebox.selection", allowed=True),
    # A requirement that nothing here brings is refused ...
    _source("rollout", "jax"),
    # ... and these even where one does: the copy adds them to the resolve.
    *(_source("rollout", name) for name in ("torch", "ray", "verl", "vllm", "transformers")),
    # ... but for who trains.
    _source("train", "torch", allowed=True),
    Case("interpret/tests/test_planted_pydantic.py", "pydantic", allowed=True),
    Case("interpret/tests/test_planted_sandbox.py", "outcomebox.sandbox", allowed=False),
]
_LOADED = re.compile(r"""import_module\(["'](\w+)""")
_UNSEEN = re.compile(r"^\s*(?:import|from) (\w+)[^\n]*# pants: no-infer-dep", re.MULTILINE)
"""An import of what no resolve of Pants holds: of training's environment."""
_OURS = "outcomebox-"
_REFUSAL = re.compile("DependencyRuleActionDenied|UnownedDependencyError")


def main() -> int:
    """Asks both questions and tells the answers; returns the exit status."""
    with planted_copy() as copy:
        wrong = [problem for case in CASES if (problem := judge(case, copy))]
        wrong += list(undeclared(copy))
    for problem in wrong:
        print(problem)
    print(f"{len(CASES)} planted imports, {len(wrong)} problems")
    return int(bool(wrong))


@contextlib.contextmanager
def planted_copy() -> Iterator[Path]:
    """A copy of the repository with all cases planted, for as long as the context lasts."""
    with throwaway_copy() as copy:
        for case in CASES:
            file = copy / "packages" / case.file
            file.write_text(f"import {case.imports}\n", encoding="utf-8")
        with (copy / "3rdparty/python/base.txt").open("a", encoding="utf-8") as inputs:
            inputs.write("torch\nray\nverl\nvllm\ntransformers\n")
        yield copy


def pants(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Pants in the copy; its daemon makes all runs but the first quick."""
    return subprocess.run(
        ["./pants", "--pantsd", "--no-colors", *arguments],
        cwd=copy,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def judge(case: Case, copy: Path) -> str | None:
    """What is wrong with Pants' answer to one case, if anything."""
    answer = pants(copy, "dependencies", f"packages/{case.file}")
    if case.allowed:
        if answer.returncode == 0:
            return None
        return f"{case.file}: `import {case.imports}` is allowed, yet Pants said\n{answer.stderr}"
    if answer.returncode == 0:
        return f"{case.file}: `import {case.imports}` was not refused; mend the package's BUILD"
    if not _REFUSAL.search(answer.stderr):
        return f"{case.file}: Pants failed for another reason than the rule\n{answer.stderr}"
    return None


def undeclared(copy: Path) -> Iterator[str]:
    """Each package whose imports and declared dependencies differ, with the difference."""
    for case in CASES:
        (copy / "packages" / case.file).unlink()
    answer = pants(copy, "peek", "packages::")
    if answer.returncode:
        yield f"`./pants peek packages::` failed\n{answer.stderr}"
        return
    imported: defaultdict[str, set[str]] = defaultdict(set)
    for target in json.loads(answer.stdout):
        if target["target_type"] != "python_source":
            continue
        _, package, folder, *_ = target["address"].split("/")
        if folder == "src":
            imported[package] |= {_distribution(name) for name in target["dependencies"]}
    for project in sorted(copy.glob("packages/*/pyproject.toml")):
        package = project.parent.name
        metadata = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        extras = metadata.get("optional-dependencies", {}).values()
        declared = _plain(
            [*metadata["dependencies"], *(line for extra in extras for line in extra)]
        )
        needed = imported[package] - {"", f"{_OURS}{package}"}
        needed |= _unseen(project.parent)
        # A library that an extra brings may be loaded by name, when it is wanted: by the package
        # itself, or by one of ours that it imports.
        ours = [package, *(name.removeprefix(_OURS) for name in needed if name.startswith(_OURS))]
        sources = (
            file.read_text(encoding="utf-8")
            for name in ours
            for file in (copy / "packages" / name).glob("src/**/*.py")
        )
        named = {_normal(name) for text in sources for name in _LOADED.findall(text)}
        file = project.relative_to(copy)
        if needed - declared:
            yield f"{file}: add to dependencies: {', '.join(sorted(needed - declared))}"
        idle = declared - needed - (named - _plain(metadata["dependencies"]))
        if idle:
            yield f"{file}: is not imported: {', '.join(sorted(idle))}"


def _unseen(package: Path) -> set[str]:
    """The distributions that a package imports and Pants is told not to look for."""
    texts = (file.read_text(encoding="utf-8") for file in package.glob("src/**/*.py"))
    # A module's name without its underscores is its distribution's: TransferQueue, transfer_queue.
    return {name.replace("_", "").lower() for text in texts for name in _UNSEEN.findall(text)}


def _distribution(address: str) -> str:
    """The distribution that a dependency comes from; empty for what no user installs."""
    if requirement := re.match(r"3rdparty/python:\w+#(.+)", address):
        name = _normal(requirement[1])
        return "" if name.startswith("types-") else name
    if source := re.match(r"packages/(\w+)/src/.*\.py", address):
        return f"{_OURS}{source[1]}"
    return ""


def _plain(requirements: Iterable[str]) -> set[str]:
    """The names of the distributions that requirement lines ask for."""
    return {_normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in requirements}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
