"""Environment variables in settings: secrets are named, never written down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(
    r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)", re.IGNORECASE
)
OURS = (
    "VERL_USE_EXTERNAL_MODULES",
    "OUTCOMEBOX_TRAIN_SETTINGS",
    "OUTCOMEBOX_BACKEND",
    "VERL_PLATFORM",
    "VERL_ENGINE_DEVICE",
)
"""What the launcher sets itself, or what may hold a password."""


def check_plain(env: Mapping[str, str]) -> None:
    """See that variables can be written down.

    Raises:
        ValueError: A name is none, looks like a secret's, or is the launcher's own. Its value is
            not in the message.
    """
    for name in env:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a variable; write letters, digits and _")
        if _SECRET.search(name):
            raise ValueError(
                f"{name} looks like a secret, and settings are written down in the run's folder; "
                "export it on every node and list its name under secrets"
            )
        if name in OURS:
            raise ValueError(f"{name} is set by outcomebox-train itself; take it out of env")


def check_names(names: Iterable[str]) -> None:
    """See that names are names, and not the secrets themselves.

    Raises:
        ValueError: One is no name of a variable; it is not shown.
    """
    for place, name in enumerate(names, 1):
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"entry {place} is no name of a variable (it is not shown here: it may be the "
                "secret itself); write the variable's name"
            )
