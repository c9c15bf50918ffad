"""The repository as the checks see it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def files(root: Path = ROOT) -> list[Path]:
    """A repository's files relative to its root: tracked, or new and not ignored; sorted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted({Path(name) for name in listed.split("\0") if name and (root / name).is_file()})


@contextlib.contextmanager
def throwaway_copy(root: Path = ROOT) -> Iterator[Path]:
    """A copy of the repository that is gone, with its Pants daemon, when the context ends."""
    with tempfile.TemporaryDirectory(prefix="outcomebox-check-") as folder:
        copy = Path(folder)
        for file in files(root):
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / file, copy / file)
        try:
            yield copy
        finally:
            for pid in copy.glob(".pids/**/pid"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid.read_text(encoding="utf-8")), signal.SIGTERM)
