"""What verl loads first in each of its processes (``VERL_USE_EXTERNAL_MODULES``); see ``loading``.

An error here ends the process before anything was trained.
"""

from outcomebox.train.verl.loading import load

LOADED = load()
"""What was done when this module was imported."""
