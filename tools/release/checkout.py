"""What git says of the checkout: what is released is a commit, never a working tree."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from tools.release.packages import ReleaseError

_MOST_SHOWN = 10


def require_clean(root: Path) -> None:
    """Refuse a checkout with changes that are not committed.

    Raises:
        ReleaseError: There are; the message lists them.
    """
    lines = git(root, "status", "--porcelain").splitlines()
    if lines:
        shown = "\n  ".join(lines[:_MOST_SHOWN])
        more = f"\n  and {len(lines) - _MOST_SHOWN} more" if len(lines) > _MOST_SHOWN else ""
        raise ReleaseError(
            f"{root}: the checkout is not clean; commit or remove what changed:\n  {shown}{more}"
        )


def require_new(root: Path, tag: str) -> None:
    """Refuse a version that is released already, unless its tag stands on this very commit.

    Raises:
        ReleaseError: The tag stands elsewhere.
    """
    if not git(root, "tag", "--list", tag).strip():
        return
    tagged = git(root, "rev-list", "-n", "1", tag).strip()
    if tagged != head(root):
        raise ReleaseError(
            f"the tag {tag} stands on {tagged[:12]}: that version is out; `bump` before a release"
        )


def head(root: Path) -> str:
    """Return the id of the commit."""
    return git(root, "rev-parse", "HEAD").strip()


def export(root: Path, folder: Path, into: Path) -> Path:
    """Write what the commit holds of ``folder`` below ``into``; returns the folder there."""
    inside = folder.relative_to(root).as_posix()
    packed = subprocess.run(
        ["git", "archive", "--format=tar", "HEAD", inside],
        cwd=root,
        check=True,
        capture_output=True,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(into, filter="data")
    return into / inside


def git(root: Path, *arguments: str) -> str:
    """Run git and return what it prints.

    Raises:
        ReleaseError: It fails.
    """
    done = subprocess.run(
        ["git", *arguments], cwd=root, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise ReleaseError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
