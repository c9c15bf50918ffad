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


QWEN3_XML = Format(
    name="qwen3_xml",
    spellings={
        "think_open": "<think>",
        "think_close": "</think>",
        "call_open": "<tool_call>",
        "call_close": "</tool_call>",
        "function_open": "<function={name}>",
        "function_close": "</function>",
        "parameter_open": "<parameter={name}>",
        "parameter_close": "</parameter>",
    },
    end_of_turn=("<|im_end|>", "<|endoftext|>"),
)

FORMATS: dict[str, Format] = {"qwen3_xml": QWEN3_XML, "qwen3_coder": QWEN3_XML}
"""Every name a format is known by."""


def format_named(name: str) -> Format:
    """Return the format of that name.

    Raises:
        ValueError: The name is unknown; the message lists the known ones.
    """
    try:
        return FORMATS[name]
    except KeyError:
        known = ", ".join(sorted(FORMATS))
        raise ValueError(f"format {name!r} is unknown; use one of: {known}") from None
