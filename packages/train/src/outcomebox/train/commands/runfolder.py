"""Finds the run that a path belongs to, for what it was trained with."""

from __future__ import annotations

from pathlib import Path

from outcomebox.train.config.loading import load_config
from outcomebox.train.config.model import RunConfig
from outcomebox.train.launch.writing import RUN_FILE


def run_of(path: Path) -> RunConfig | None:
    """The settings of the run that a checkpoint lies in; None where no run is found above it.

    Args:
        path: A run's folder, or anything in it.

    Raises:
        InputError: There are settings, and they cannot be read.
    """
    there = path.absolute()
    for folder in (there, *there.parents):
        if (folder / RUN_FILE).is_file():
            return load_config(folder / RUN_FILE).config
    return None
