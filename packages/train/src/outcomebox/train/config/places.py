"""Who set a value of verl's, so that a message names what its reader can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.config.command_line import COMMAND_LINE
from outcomebox.train.config.overrides import Override


class Places:
    """Finds the place of a key.

    Args:
        file: The settings file.
        own: What the launcher sets.
        user: Keys that the user sets after ``--``.
        verl: verl's version.
    """

    def __init__(self, file: str, own: Sequence[Override], user: Sequence[str], verl: str) -> None:
        self._file = file
        self._fields = {each.key: each.field for each in own}
        self._user = frozenset(user)
        self._verl = verl

    def wrong(self, key: str, message: str, value: Any = None) -> InputError:
        """The error of a key.

        Args:
            key: Dotted name in verl's schema.
            message: What is wrong with it, and the mend.
            value: What was found.
        """
        parts = key.split(".")
        above = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
        if above & self._user:
            return InputError(message, file=COMMAND_LINE, field=key, value=value)
        field = self._fields.get(key)
        if field:
            return InputError(message, file=self._file, field=field, value=value)
        return InputError(message, file=f"verl {self._verl}", field=key, value=value)

    def name(self, key: str) -> str:
        """What the reader of a message knows a key as."""
        return (self._fields.get(key) if key not in self._user else None) or key
