"""Where verl's files are: its schema is read from them, and nothing of it is imported.

The first of these that has a verl decides: the folder that ``--verl`` names, the training
environment's Python (``python`` in the settings, asked by a process that imports nothing), this
Python, and what ``outcomebox-train fetch-verl`` keeps in the user's cache.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from outcomebox.sandbox import InputError
from outcomebox.train.config.versions import SUPPORTED, check_supported

_ASK = "from importlib.util import find_spec; s = find_spec('verl'); print(s.origin if s else '')"
_ASK_S = 30.0


@dataclass(frozen=True, slots=True)
class VerlSource:
    """A verl that is there.

    Attributes:
        version: Its version, one of those that are supported.
        package: Folder of the package ``verl``.
        found: How it was found, for people.
    """

    version: str
    package: Path
    found: str

    @property
    def schema(self) -> Path:
        """Folder of its configuration."""
        return self.package / "trainer" / "config"


def cache_folder(version: str) -> Path:
    """Where ``fetch-verl`` keeps a release."""
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home else Path.home() / ".cache"
    return base / "outcomebox-train" / f"verl-{version}"


def find_verl(given: Path | None = None, python: str | None = None) -> VerlSource:
    """The verl that a configuration is composed with.

    Args:
        given: A folder that holds the package ``verl``, or the package itself.
        python: The training environment's Python; it need not be on this machine.

    Raises:
        InputError: There is none, or not one that is supported.
    """
    if given is not None:
        package = next((each for each in (given / "verl", given) if _is_verl(each)), None)
        if package is None:
            raise InputError(
                "holds no package verl; name the folder that pip installed it into",
                field="--verl",
                value=str(given),
            )
        return _source(package, "--verl")
    asked = None if python is None else _asked(python)
    if asked is not None:
        return _source(asked, python or "")
    spec = find_spec("verl")
    if spec is not None and spec.origin is not None:
        return _source(Path(spec.origin).parent, "this Python")
    for version in reversed(SUPPORTED):
        package = cache_folder(version) / "verl"
        if _is_verl(package):
            return _source(package, str(cache_folder(version)))
    raise InputError(
        f"is nowhere to be found; run: outcomebox-train fetch-verl {SUPPORTED[-1]}", field="verl"
    )


def version_of(package: Path) -> str | None:
    """The version that a package's own file tells; None where it tells none."""
    try:
        return (package / "version" / "version").read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _source(package: Path, found: str) -> VerlSource:
    return VerlSource(check_supported(version_of(package), file=package), package, found)


def _is_verl(folder: Path) -> bool:
    return (folder / "trainer" / "config" / "ppo_trainer.yaml").is_file()


def _asked(python: str) -> Path | None:
    """The package that another Python would import; None where it has none, or is not here."""
    try:
        done = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    origin = done.stdout.strip()
    return Path(origin).parent if done.returncode == 0 and origin else None
