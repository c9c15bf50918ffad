"""The pool that is trained on, as a selection wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.selection import Pool, SelectionError, mixed_chance, read_pool
from outcomebox.train.settings import PoolSettings, file_digest


@dataclass(frozen=True)
class PoolFiles:
    """Both sides of a pool.

    Attributes:
        train_file: Its ``train.yaml``.
        train: What it holds.
        test_file: Its ``test.yaml``; None where there is none, or it holds no task.
        test: What that holds.
    """

    train_file: Path
    train: Pool
    test_file: Path | None = None
    test: Pool | None = None

    @property
    def tasks(self) -> tuple[dict[str, Any], ...]:
        """The tasks of both sides."""
        return (*self.train.tasks, *(self.test.tasks if self.test is not None else ()))

    def settings(self, group_size: int) -> PoolSettings:
        """What workers are told of it.

        Args:
            group_size: Attempts at one task in a step.

        Raises:
            InputError: A task has no probe counts.
        """
        chances = self._chances(group_size)
        return PoolSettings(
            path=str(self.train_file),
            sha256=file_digest(self.train_file),
            test_path=None if self.test_file is None else str(self.test_file),
            test_sha256=None if self.test_file is None else file_digest(self.test_file),
            bands={task["uid"]: task.get("band") for task in self.tasks},
            mixed_chances=chances,
        )

    def useful_share(self, group_size: int) -> float:
        """Share of mixed groups to expect over the train side, in [0, 1].

        Args:
            group_size: Attempts at one task in a step.

        Raises:
            InputError: A task has no probe counts.
        """
        chances = self._chances(group_size)
        return sum(chances[uid] for uid in self.train.uids) / len(self.train.uids)

    def _chances(self, group_size: int) -> dict[str, float]:
        counts = []
        for task in self.tasks:
            passes, runs = task.get("passes"), task.get("clean_runs")
            if not isinstance(passes, int) or not isinstance(runs, int) or not 0 <= passes <= runs:
                raise InputError(
                    "has no probe counts (passes, clean_runs); select the pool anew",
                    file=self.train_file.parent,
                    task=task["uid"],
                )
            counts.append((passes, runs))
        passes_of, runs_of = zip(*counts, strict=True)
        found = mixed_chance(passes_of, runs_of, group_size)
        return {
            task["uid"]: round(float(chance), 6)
            for task, chance in zip(self.tasks, found, strict=True)
        }


def read_pool_files(path: Path) -> PoolFiles:
    """Both sides of a pool.

    Args:
        path: The folder that a selection wrote, or its ``train.yaml``.

    Raises:
        InputError: There is none, one side cannot be read, or there is nothing to train on.
    """
    train_file = path / "train.yaml" if path.is_dir() else path
    test_file = train_file.with_name("test.yaml")
    if not train_file.is_file():
        raise InputError(
            "there is no pool; name the folder that outcomebox-select --out wrote",
            field="pool.path",
            value=str(path),
        )
    train = _read(train_file)
    if train.provenance.get("side") == "test":
        raise InputError(
            "is the test side of a pool, which is not trained on; name train.yaml",
            file=train_file,
            field="pool.path",
        )
    if not train.tasks:
        raise InputError("holds no task; select a pool that does", file=train_file)
    test = _read(test_file) if test_file.is_file() else None
    if test is None or not test.tasks:
        return PoolFiles(train_file, train)
    twice = sorted(set(train.uids) & set(test.uids))
    if twice:
        raise InputError(
            "is on both sides of the pool; select it anew", file=test_file, task=twice[0]
        )
    return PoolFiles(train_file, train, test_file, test)


def _read(path: Path) -> Pool:
    try:
        return read_pool(path)
    except SelectionError as error:
        raise InputError(str(error), field="pool.path") from None
