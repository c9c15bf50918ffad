"""Profiles: whose reading of a format is wanted.

Parsers disagree about the same output. A profile is one of their readings as a pair of functions:
one finds calls and text by a format's markers, one types the parameters of a call.
"""

from collections.abc import Callable
from typing import NamedTuple

from outcomebox.interpret.raw import RawCall, RawTurn, Source
from outcomebox.interpret.strict import read_strict
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Diagnostic, ToolCall
from outcomebox.interpret.typed import type_strict


class Profile(NamedTuple):
    """One reading.

    Attributes:
        name: What users call it.
        read: Splits an output into reasoning, content and calls.
        type_call: Makes a call of text into a call of values, with what else was noticed.
    """

    name: str
    read: Callable[[Source], RawTurn]
    type_call: Callable[[RawCall, Toolbox], tuple[ToolCall, list[Diagnostic]]]


STRICT = Profile("strict", read_strict, type_strict)

PROFILES: dict[str, Profile] = {STRICT.name: STRICT}
"""Every profile by its name."""


def profile_named(name: str) -> Profile:
    """Return the profile of that name.

    Raises:
        ValueError: The name is unknown; the message lists the known ones.
    """
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(sorted(PROFILES))
        raise ValueError(f"profile {name!r} is unknown; use one of: {known}") from None
