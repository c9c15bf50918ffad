"""The words and rules that are kept of verl, against the real verl (``with_verl/test_config``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from train_environment import VERSIONS, Verl
from train_with_verl import passed_with_verl

TESTS = 35
"""Tests of the file: a version that leaves some out has not been tested."""


@pytest.mark.parametrize("verl", VERSIONS)
def test_what_is_kept_of_verl_is_so(verl: Verl, tmp_path: Path) -> None:
    assert passed_with_verl("test_config_words.py", verl, tmp_path) == TESTS
