"""Runs tests that need torch and verl, in the environment that has them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from train_environment import Verl, variables, verl_python

FOLDER = Path(__file__).parent / "with_verl"
_CLOSING = re.compile(r"^(\d+) passed(?:, \d+ warnings?)? in [\d.]+s", re.MULTILINE)


def passed_with_verl(file: str, verl: Verl, scratch: Path, *, limit_s: float = 600) -> int:
    """How many tests of a file have passed; none has failed, and none was skipped.

    Args:
        file: Its name in ``with_verl``.
        verl: The version to run it with.
        scratch: Where it may write.
        limit_s: Seconds until it is given up.

    Raises:
        AssertionError: One failed or was skipped, or there is none; what pytest said is told.
    """
    command = [str(verl_python()), "-m", "pytest", str(FOLDER / file), "-q", "-rs"]
    options = ["-p", "no:cacheprovider", "--rootdir", str(FOLDER), "-c", "/dev/null"]
    done = subprocess.run(
        [*command, *options, "--basetemp", str(scratch / f"verl-{verl}")],
        env=variables(verl),
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s,
    )
    said = (done.stdout + done.stderr)[-6000:]
    closing = _CLOSING.search(done.stdout)
    assert done.returncode == 0, said
    assert closing is not None, said
    count = int(closing[1])
    assert count > 0, said
    return count
