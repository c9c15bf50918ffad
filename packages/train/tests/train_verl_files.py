"""verl's files, for tests that compose its configuration and import nothing of it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from outcomebox.train.config.fetching import fetch_verl

VARIABLES = {"0.9.0": "OUTCOMEBOX_VERL_090", "0.9.1": "OUTCOMEBOX_VERL_091"}
"""A release -> the variable that may name a folder with its package verl."""


@cache
def verl_files(version: str) -> Path:
    """A folder that holds the package verl of a release; got by pip where no variable names one."""
    named = os.environ.get(VARIABLES[version])
    return Path(named) if named else fetch_verl(version)[0]
