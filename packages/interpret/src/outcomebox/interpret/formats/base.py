"""Formats: which strings are markup, as data.

A format only says how things are spelled. What a marker *means* where it stands is a profile's
business, so one format can be read by several profiles.
"""

from typing import Literal, NamedTuple

MarkerKind = Literal[
    "think_open",
    "think_close",
    "call_open",
    "call_close",
    "function_open",
    "function_close",
    "parameter_open",
    "parameter_close",
]

NAME = "{name}"
"""Stands for a name in a spelling. A name holds no `<`, `>` or newline."""

MAX_NAME = 128
"""Longest name in characters. A bound makes a stream's memory, and rereading, constant."""


class Format(NamedTuple):
    """The markup of one tool-call format.

    Attributes:
        name: What users call it.
        spellings: Kind of marker -> how it is written; every spelling starts with `<`.
        end_of_turn: Special tokens that may be left at the very end of decoded output.
    """

    name: str
    spellings: dict[MarkerKind, str]
    end_of_turn: tuple[str, ...]

    def write(self, kind: MarkerKind, name: str = "") -> str:
        """Return the marker's text."""
        return self.spellings[kind].replace(NAME, name)
