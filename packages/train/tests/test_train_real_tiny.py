"""The model of the live runs by itself: what they can show depends on its pass rates."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from train_with_verl import passed_with_verl

pytestmark = pytest.mark.skipif("OUTCOMEBOX_HEAVY" not in os.environ, reason="installs torch")


def test_the_tiny_model(tmp_path: Path) -> None:
    assert passed_with_verl("test_tiny.py", "0.9.1", tmp_path) == 2
