"""Unlimited tasks of the desk, by a seed.

As a program it writes them as task files, which every command takes as ``--tasks FOLDER``::

    python -m outcomebox.sandbox.domains.desk.generating FOLDER --count 300 --side train
"""

from outcomebox.sandbox.domains.desk.generating.draw import Drawn, draws, generate
from outcomebox.sandbox.domains.desk.generating.families import FAMILIES, Family, Wish
from outcomebox.sandbox.domains.desk.generating.files import family_files, write_tasks
from outcomebox.sandbox.domains.desk.generating.sides import (
    SIDES,
    Side,
    side_of,
    state_digest,
    text_digest,
)

__all__ = [
    "FAMILIES",
    "SIDES",
    "Drawn",
    "Family",
    "Side",
    "Wish",
    "draws",
    "family_files",
    "generate",
    "side_of",
    "state_digest",
    "text_digest",
    "write_tasks",
]
