"""The tiny model passes some attempts at each task and not others, and is the same each time."""

from __future__ import annotations

import hashlib
from pathlib import Path

import anyio
import pytest
from train_tiny import LAMPS, make, rates

from outcomebox.rollout.stages import NativeTasks
from outcomebox.sandbox import load_tasks

ATTEMPTS = 16


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    make(folder)
    return folder


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_its_groups_are_mixed_where_they_should_be(model: Path) -> None:
    tasks = NativeTasks(load_tasks([str(LAMPS)]))
    passed = anyio.run(rates, model, tasks, ATTEMPTS)
    kinds: dict[str, list[int]] = {}
    for uid, number in passed.items():
        kinds.setdefault(uid.rsplit("/", 1)[1], []).append(number)
    assert {kind: len(numbers) for kind, numbers in kinds.items()} == {
        "easy": 2, "hopeless": 2, "coin": 4,
    }  # fmt: skip
    assert min(kinds["easy"]) >= ATTEMPTS - 3
    assert max(kinds["hopeless"]) == 0
    assert all(3 <= number <= ATTEMPTS - 3 for number in kinds["coin"])


def test_making_it_again_gives_the_same_bytes(model: Path, tmp_path: Path) -> None:
    make(tmp_path)
    assert digests(tmp_path) == digests(model)
