"""The files of a run: rows, index, exchanges and settings, found from the folder or the rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from outcomebox.sandbox import InputError

ROWS = "episodes.jsonl"
INDEX = "episodes.index"
EXCHANGES = "exchanges.jsonl"
SETTINGS = "run.json"
STOPPED = "stopped.json"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where the files of a run are; only the rows have to be there.

    Attributes:
        rows: The rows, one a try.
    """

    rows: Path

    @property
    def folder(self) -> Path:
        """The folder that holds them all."""
        return self.rows.parent

    @property
    def index(self) -> Path:
        """What the rows are, in short; derived from them."""
        return self.rows.with_suffix(".index")

    @property
    def exchanges(self) -> Path:
        """What was said to models and back, where the run was recorded."""
        return self._beside(EXCHANGES)

    @property
    def settings(self) -> Path:
        """What the run was started with."""
        return self._beside(SETTINGS)

    @property
    def stopped(self) -> Path:
        """The tasks that an adaptive probe left early, where one made the rows."""
        return self._beside(STOPPED)

    def _beside(self, name: str) -> Path:
        """A file of these rows: rows under a name of their own have files of their own."""
        own = name if self.rows.name == ROWS else f"{self.rows.stem}.{name}"
        return self.rows.with_name(own)


def run_files(given: Path) -> RunFolder:
    """The files of a run that is there or is to be.

    Args:
        given: Its folder, or its file of rows (a name that ends in ``.jsonl``).
    """
    return RunFolder(given if given.suffix == ".jsonl" and not given.is_dir() else given / ROWS)


def find_run(given: Path) -> RunFolder:
    """The files of a run that is there.

    Args:
        given: Its folder, or its file of rows.

    Raises:
        InputError: There are no rows.
    """
    run = RunFolder(given) if given.is_file() else run_files(given)
    if not run.rows.is_file():
        raise InputError(
            f"there is no run here; give a run's folder or its {ROWS}",
            file=given,
        )
    return run
