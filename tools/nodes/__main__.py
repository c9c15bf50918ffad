"""Builds the one file that a node with GPUs needs beside its own torch: our wheels, verl, Ray.

Usage: ``python3 -m tools.nodes DIST [--out FILE]`` after ``./pants package packages::``

What it holds is ``3rdparty/python/app.lock``: training's environment without torch, vLLM and CUDA.
Pants cannot hold such a resolve: its Pex looks whether each requirement's own requirements are
there, and verl asks for torch (docs/design/training.md). Pex alone can be told not to.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tools.tree import ROOT

LOCK = ROOT / "3rdparty" / "python" / "app.lock"
ENTRY_POINT = "outcomebox.train.commands.app:main"


def main() -> int:
    """Builds the file; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dist", type=Path, help="the folder with the wheels of all packages")
    parser.add_argument("--out", type=Path, help="default: DIST/outcomebox-train.pex")
    given = parser.parse_args()
    out = given.out or given.dist / "outcomebox-train.pex"
    try:
        build(given.dist, out)
    except ValueError as error:
        print(f"tools.nodes: {error}", file=sys.stderr)
        return 2
    print(f"{out}: {out.stat().st_size / 1e6:.0f} MB")
    return 0


def build(dist: Path, out: Path) -> None:
    """Build the file.

    Args:
        dist: Where the wheels are.
        out: The file; one that is there is replaced.

    Raises:
        ValueError: A package has no wheel.
        subprocess.CalledProcessError: pip or Pex has failed; they have said why.
    """
    ours = list(requirements(dist))
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".nodes-") as folder:
        scratch = Path(folder)
        listed = scratch / "ours.txt"
        listed.write_text("".join(f"{line}\n" for line in ours), encoding="utf-8")
        subprocess.run([sys.executable, "-m", "venv", str(scratch / "venv")], check=True)
        python = str(scratch / "venv" / "bin" / "python")
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, f"pex=={pex_version()}"], check=True)
        command = [python, "-m", "pex", "--python", sys.executable, "-r", str(listed)]
        command += ["-r", str(LOCK), "--intransitive", "--ignore-errors", "--venv"]
        # The node's own torch and vLLM are behind what the file brings.
        command += ["--venv-system-site-packages", "-e", ENTRY_POINT]
        subprocess.run([*command, "-o", str(scratch / "made.pex")], check=True)
        (scratch / "made.pex").replace(out)


def requirements(dist: Path) -> Iterator[str]:
    """The wheels of all packages as lines of a requirements file with hashes.

    Raises:
        ValueError: One is missing.
    """
    for file in sorted(ROOT.glob("packages/*/pyproject.toml")):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        stem = f"{project['name'].replace('-', '_')}-{project['version']}"
        wheel = (dist / f"{stem}-py3-none-any.whl").resolve()
        if not wheel.is_file():
            raise ValueError(f"{wheel} is missing; run ./pants package packages::")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        yield f"{project['name']} @ {wheel.as_uri()} --hash=sha256:{digest}"


def pex_version() -> str:
    """The release of Pex that Pants uses, too."""
    settings = tomllib.loads((ROOT / "pants.toml").read_text(encoding="utf-8"))
    version: str = settings["pex-cli"]["version"]
    return version.removeprefix("v")


if __name__ == "__main__":
    sys.exit(main())
