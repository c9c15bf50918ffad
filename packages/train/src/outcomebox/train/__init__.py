"""Trains a policy on the selected pool with the terminal-state verdict as reward, on verl.

Importing this package imports neither torch nor verl: those are for the processes that train.
"""

from outcomebox.train.errors import BatchUnfilled, EpisodeFault, TrainError
from outcomebox.train.settings import (
    SETTINGS_VARIABLE,
    PoolSettings,
    RefillSettings,
    WorkerSettings,
    load_settings,
)

__all__ = [
    "SETTINGS_VARIABLE",
    "BatchUnfilled",
    "EpisodeFault",
    "PoolSettings",
    "RefillSettings",
    "TrainError",
    "WorkerSettings",
    "load_settings",
]
