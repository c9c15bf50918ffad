"""The changes to verl, on the smallest objects, with each verl that we support."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from train_environment import VERSIONS, Verl, variables, verl_python
from train_with_verl import passed_with_verl


@pytest.mark.parametrize("verl", VERSIONS)
def test_compat_with_the_real_verl(verl: Verl, tmp_path: Path) -> None:
    assert passed_with_verl("test_compat.py", verl, tmp_path) >= 16


@pytest.mark.parametrize("verl", VERSIONS)
def test_the_pins_are_those_of_each_release(verl: Verl) -> None:
    code = (
        "from outcomebox.train import compat\n"
        "from outcomebox.train.compat.source import package_folder, package_version\n"
        "print(package_version(package_folder('verl')), *(one.name for one in compat.check()))"
    )
    done = subprocess.run(
        [str(verl_python()), "-c", code],
        env=variables(verl),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [verl, "gradient-sync", "fused-head", "text-only-ulysses"]
