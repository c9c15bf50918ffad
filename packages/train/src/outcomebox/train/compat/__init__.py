"""What verl has to do otherwise for our runs, changed at run time, version by version.

A change is made only where verl's code is known to be what the change was written for: its source
is read from verl's files and its SHA-256 compared with the one pinned for that release. Another
release, or a release that somebody edited, is refused by name. verl's modules are changed when verl
imports them, so nothing here imports torch or verl.
"""

from outcomebox.train.compat.applying import Applied, apply, check
from outcomebox.train.compat.hooks import after_import
from outcomebox.train.compat.patches import PATCHES, Patch

__all__ = ["PATCHES", "Applied", "Patch", "after_import", "apply", "check"]
