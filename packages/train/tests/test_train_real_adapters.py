"""Dataset, agent loop and reward on the real verl, both versions (``with_verl/test_adapters*``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from train_environment import VERSIONS, Verl
from train_with_verl import passed_with_verl

TESTS = {"test_adapters.py": 10, "test_adapters_data.py": 8}
"""Tests of each file: a version that leaves some out has not been tested."""


@pytest.mark.parametrize("verl", VERSIONS)
@pytest.mark.parametrize("file", TESTS)
def test_the_adapters_work_on_the_real_verl(file: str, verl: Verl, tmp_path: Path) -> None:
    assert passed_with_verl(file, verl, tmp_path) == TESTS[file]
