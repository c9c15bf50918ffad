"""A package's list of changes: one section a version, the coming one called ``Unreleased``."""

from __future__ import annotations

import re
from pathlib import Path

from tools.release.packages import ReleaseError

COMING = "Unreleased"


def section(text: str, title: str) -> str | None:
    """Return what stands below ``## title``; None where there is no such heading."""
    found = re.search(
        rf"^## {re.escape(title)}[ \t]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    return found[1].strip() if found else None


def require(file: Path, version: str) -> str:
    """Return what the file says of a version.

    Raises:
        ReleaseError: Nothing; or changes wait that are not part of it.
    """
    text = _read(file)
    said = section(text, version)
    if not said:
        raise ReleaseError(
            f"{file}: says nothing of {version}; write its changes below a line `## {version}`"
        )
    if section(text, COMING):
        raise ReleaseError(
            f"{file}: has changes below `## {COMING}`; give them a version with `bump`"
        )
    return said


def release(file: Path, version: str) -> str:
    """Return the file's text with the coming changes under their version.

    Raises:
        ReleaseError: There are none, or the version has a section already.
    """
    text = _read(file)
    if section(text, version) is not None:
        raise ReleaseError(f"{file}: has a section `## {version}` already; take another version")
    if not section(text, COMING):
        raise ReleaseError(
            f"{file}: has no changes below `## {COMING}`; say first what users will notice"
        )
    return re.sub(rf"(?m)^## {COMING}[ \t]*$", f"## {version}", text, count=1)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReleaseError(
            f"{file}: is missing; begin it with `# Changes of ...` and `## {COMING}`"
        ) from None
