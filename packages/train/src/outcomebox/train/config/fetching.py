"""Gets verl's files into the user's cache, for machines that check settings and never train.

pip does it, so its index, mirrors and certificates count as they are set up. The wheel's digest is
pinned, the files come in whole or not at all, and nothing that verl depends on is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from outcomebox.sandbox import InputError
from outcomebox.train.config.verlsource import cache_folder, version_of
from outcomebox.train.config.versions import WHEELS, check_supported

_FIELD = "fetch-verl"


def fetch_verl(version: str, into: Path | None = None) -> tuple[Path, bool]:
    """Have a release's files in a folder.

    Args:
        version: Which one.
        into: The folder; the user's cache by default.

    Returns:
        The folder, and whether it was there already.

    Raises:
        InputError: It is no supported release, there is no pip, or pip could not.
    """
    check_supported(version)
    folder = into or cache_folder(version)
    if version_of(folder / "verl") == version:
        return folder, True
    if folder.exists() and any(folder.iterdir()):
        raise InputError("holds something else; name another folder with --to", file=folder)
    pip = _pip()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".verl-") as scratch:
            made = Path(scratch) / "verl"
            _install(pip, version, made, Path(scratch) / "requirements.txt")
            if folder.exists():
                folder.rmdir()
            made.rename(folder)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror}); name another folder with --to", file=folder
        ) from error
    return folder, False


def _install(pip: Sequence[str], version: str, made: Path, requirements: Path) -> None:
    requirements.write_text(f"verl=={version} --hash=sha256:{WHEELS[version]}\n", encoding="utf-8")
    command = [
        *pip,
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--only-binary=:all:",
        "--require-hashes",
        "--disable-pip-version-check",
        "--target",
        str(made),
        "--requirement",
        str(requirements),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        told = " ".join((lines or done.stderr.splitlines() or ["it told nothing"])[-1].split())
        raise InputError(
            f"pip could not ({told}); mend its settings, or install verl=={version} elsewhere and "
            "name that folder with --verl",
            field=_FIELD,
            value=version,
        )
    found = version_of(made / "verl")
    if found != version:
        raise InputError("pip gave another release; clear its cache", field=_FIELD, value=found)


def _pip() -> list[str]:
    """A command that is pip; an application file has none of its own."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        found = shutil.which(name)
        if found is not None:
            return [found]
    raise InputError(
        "needs pip, and there is none on PATH; install verl with another tool and name that "
        "folder with --verl",
        field=_FIELD,
    )
