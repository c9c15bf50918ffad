"""``steps.jsonl``: one row for each step of a run, in the order of steps.

A run that is resumed does again the steps behind its last checkpoint. When the first of them is
written, the rows of it and of all later steps are taken out: they tell of weights that no longer
exist. So a file never has a step twice, and what stands in it led to the newest checkpoint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outcomebox.sandbox import InputError


class StepLog:
    """Writes the rows of a run.

    The file is replaced as a whole with each row, so that no reader meets half of one.

    Args:
        path: The file; rows of an earlier start of the run stay. Its folder is made.

    Raises:
        InputError: It has a line that is no row of a step.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = read_steps(path)

    def write(self, step: int, figures: Mapping[str, float], **facts: Any) -> dict[str, Any]:
        """Write the row of a step, in place of any of it and of later ones.

        Args:
            step: The step, from 1.
            figures: Name -> number.
            **facts: What else the row tells, by name.

        Returns:
            The row.

        Raises:
            InputError: The file cannot be written.
        """
        row = {"step": step, **facts, "figures": dict(figures)}
        self._rows = [each for each in self._rows if each["step"] < step]
        self._rows.append(row)
        text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in self._rows)
        new = self.path.with_name(f".{self.path.name}.new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with new.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self.path) from error
        return row


def read_steps(path: Path) -> list[dict[str, Any]]:
    """The rows of a run's steps; none where there is no file.

    Raises:
        InputError: A line is no row of a step, or steps do not rise.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    rows: list[dict[str, Any]] = []
    last = 0
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            step = row["step"]
            figures = row["figures"]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                "is no row of a step; take the line out", file=path, field=f"line {number}"
            ) from error
        if not isinstance(step, int) or step <= last or not isinstance(figures, dict):
            raise InputError(
                f"is no row of a step behind step {last}; take the line out",
                file=path,
                field=f"line {number}",
                value=step,
            )
        last = step
        rows.append(row)
    return rows
