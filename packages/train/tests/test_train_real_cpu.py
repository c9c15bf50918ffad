"""Platform and rollout backend for CPUs, on both supported releases of verl."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from train_environment import VERSIONS, Verl
from train_with_verl import passed_with_verl

pytestmark = pytest.mark.skipif("OUTCOMEBOX_HEAVY" not in os.environ, reason="installs verl")

TESTS = 28


@pytest.mark.parametrize("verl", VERSIONS)
def test_on_the_real_verl(verl: Verl, tmp_path: Path) -> None:
    assert passed_with_verl("test_cpu.py", verl, tmp_path) >= TESTS
