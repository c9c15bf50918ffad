"""What a profile is: whose reading of an output is wanted."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from outcomebox.interpret.output import Output
from outcomebox.interpret.turn import Turn

Reading = Callable[[Output], Turn]
"""Reads one whole output. Takes time linear in its text."""

ShortReading = Callable[[Output], Turn | None]
"""The same for outputs that need no scanner; None for any other."""


class Profile(NamedTuple):
    """One reading of each format that it knows.

    Attributes:
        name: What users call it.
        summary: Whose reading it is, and what certifies it.
        readings: Name of a format -> how it is read.
        scans: Whether the readings want the format's markers (`Output.scanner`).
        short: Name of a format -> a quicker way for common outputs that come as a whole.
    """

    name: str
    summary: str
    readings: Mapping[str, Reading]
    scans: bool = False
    short: Mapping[str, ShortReading] = MappingProxyType({})
