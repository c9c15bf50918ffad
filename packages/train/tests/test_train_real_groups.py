"""Batches of whole groups on verl's real store and Ray, with each verl that we support."""

from __future__ import annotations

from pathlib import Path

import pytest

from train_environment import VERSIONS, Verl
from train_with_verl import passed_with_verl


@pytest.mark.parametrize("verl", VERSIONS)
def test_groups_with_the_real_verl(verl: Verl, tmp_path: Path) -> None:
    assert passed_with_verl("test_groups.py", verl, tmp_path) >= 16
