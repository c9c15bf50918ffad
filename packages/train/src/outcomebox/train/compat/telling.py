"""Lets what this package says be heard in verl's processes.

verl sets up no logging for others, so that Python would drop what is less than a warning; what was
changed in verl, and which groups were thrown away, is for whoever reads a run's log.
"""

from __future__ import annotations

import logging
import sys

LOGGER = "outcomebox.train"
"""Ancestor of all loggers of this package."""


def speak_up() -> None:
    """Have this package's lines written, to standard error where nobody else writes them.

    Where somebody chose a level for them, nothing is changed.
    """
    logger = logging.getLogger(LOGGER)
    if logger.level != logging.NOTSET:
        return
    logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        logger.addHandler(handler)
