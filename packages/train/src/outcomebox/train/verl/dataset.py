"""The pool as verl's dataset.

It counts how often it gave out each task, because that number makes an attempt's (see
:mod:`outcomebox.train.verl.numbering`). verl saves the counts with the state of its dataloader, in
each checkpoint, and gives them back on resume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset, get_worker_info  # pants: no-infer-dep

from outcomebox.sandbox import InputError
from outcomebox.train.settings import load_settings
from outcomebox.train.verl.pool_rows import pool_rows

_DRAWS = "draws"


class PoolDataset(Dataset):  # type: ignore[misc]  # no torch where types are checked
    """The tasks of a pool; ``data.custom_cls.path=pkg://outcomebox.train.verl.dataset``.

    Args:
        data_files: Files of the pool: ``train.yaml`` or ``test.yaml``.
        tokenizer: Not used: prompts are made in the agent loop.
        config: verl's ``data``; ``settings_path`` may name the run's settings.
        processor: Not used.
        max_samples: Only so many tasks, the first of the file; -1 for all.

    Raises:
        InputError: The settings or a file cannot be used, or is not the run's.
    """

    def __init__(
        self,
        data_files: str | Sequence[str],
        tokenizer: Any = None,  # noqa: ARG002 -- verl's face
        config: Mapping[str, Any] | None = None,
        processor: Any = None,  # noqa: ARG002 -- verl's face
        max_samples: int = -1,
    ) -> None:
        settings = load_settings((config or {}).get("settings_path"))
        paths = [data_files] if isinstance(data_files, str) else list(data_files)
        rows = pool_rows([Path(each) for each in paths], settings)
        self._rows = rows if max_samples < 0 else rows[:max_samples]
        self._draws: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """A row, with the number of times that its task had been given out before.

        Raises:
            InputError: This is a dataloader's worker process, whose counts would be lost.
        """
        if get_worker_info() is not None:
            raise InputError(
                "must be 0: the dataset counts what it gives out, in the trainer's own process",
                field="data.dataloader_num_workers",
            )
        row = self._rows[index]
        draw = self._draws[row["uid_task"]]
        self._draws[row["uid_task"]] += 1
        return {**row, "extra_info": {**row["extra_info"], "index": index, "draw": draw}}

    def state_dict(self) -> dict[str, Any]:
        """The counts, as verl's dataloader saves them with a checkpoint."""
        return {_DRAWS: dict(self._draws)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from saved counts."""
        self._draws = Counter(state[_DRAWS])
