"""Formats: which strings are markup, and how a call is built from them, as data.

A format only says how things are spelled. What a marker *means* where it stands is a profile's
business, so one format can be read by several profiles.
"""

from typing import Literal, NamedTuple

MarkerKind = Literal[
    "think_open",
    "think_close",
    "section_open",
    "section_close",
    "call_open",
    "call_close",
    "function_open",
    "function_close",
    "parameter_open",
    "parameter_close",
    "call_id",
    "separator",
    "key_open",
    "key_close",
    "value_open",
    "value_close",
]

NAME = "{name}"
"""Stands for a name in a spelling. A name holds no `<`, `>` or newline."""

INDEX = "{index}"
"""Stands for the number of a call, from 0, in a header."""

MAX_NAME = 128
"""Longest name in characters. A bound makes a stream's memory, and rereading, constant."""

BodyKind = Literal["xml", "keyed", "json", "headed"]
"""How a call is written between its markers.

`xml`: `function` markers with `parameter` markers in them; values are text, typed by the schema.
`keyed`: a name, then keys and values between `key` and `value` markers; values as in `xml`.
`json`: an object with the name and the arguments, or a list of them. `headed`: a header with the
name, then the arguments as a JSON object.
"""


class Header(NamedTuple):
    """What stands around the JSON object of a `headed` call, white space being free.

    Attributes:
        before: From the call's opener to the separator, or to the object where there is none.
        after: From the separator to the object.
        close: From the object to the call's closer.
        separated: Whether the separator stands between `before` and `after`.
    """

    before: str
    after: str = ""
    close: str = ""
    separated: bool = True


class Format(NamedTuple):
    """The markup of one tool-call format.

    Attributes:
        name: What users call it.
        spellings: Kind of marker -> how it is written. The first character of a spelling stands
            nowhere else in it, nor does that of another one.
        end_of_turn: Special tokens that may be left at the very end of decoded output.
        bodies: The bodies that a call can have; the first is the one that is written.
        headers: The headers of a `headed` body; the first is the one that is written.
        argument_keys: The members that hold a `json` body's arguments; the first is the one that
            is written.
        listed: Whether several `json` calls stand in one list behind one opener.
        padded: Whether a newline on each side of a value belongs to the markup.
        bare: Whether a `json` call needs no opener.
        joiner: What is written between two calls.
        always_reasons: Whether the model reasons wherever the prompt leaves it at the start of its
            turn, so that the opener may be missing there.
    """

    name: str
    spellings: dict[MarkerKind, str]
    end_of_turn: tuple[str, ...]
    bodies: tuple[BodyKind, ...] = ("xml",)
    headers: tuple[Header, ...] = ()
    argument_keys: tuple[str, ...] = ("arguments",)
    listed: bool = False
    padded: bool = False
    bare: bool = False
    joiner: str = "\n"
    always_reasons: bool = False

    def write(self, kind: MarkerKind, name: str = "") -> str:
        """Return the marker's text; nothing where the format has no such marker."""
        return self.spellings.get(kind, "").replace(NAME, name)
