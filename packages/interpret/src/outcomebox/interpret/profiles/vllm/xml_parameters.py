"""Finds the parameters in the text of a call, as vLLM's patterns do, in linear time."""

import re
from typing import NamedTuple

SPACE = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*+"
"""White space as Unicode has it, as much as there is; Python's own has four characters more."""

_HEAD = re.compile(rf"<{SPACE}parameter{SPACE}={SPACE}")
_END = re.compile(rf"<{SPACE}(?:(?P<close>/{SPACE}parameter{SPACE}>)|parameter{SPACE}=)")
_NAME = re.compile(rf'"name"{SPACE}:{SPACE}"([^"]*)"')


class Parameter(NamedTuple):
    """A parameter.

    Attributes:
        name: Its name.
        early_name: Its name while it has no end; None if it is not seen until then. Differs from
            the name only where that is empty: then the last blank before `>` stands for it.
        start: Where its value begins.
        end: Where its value ends; the end of the text for one that has no end.
        known: Where the text must have come to for the end to be known; None without an end.
    """

    name: str
    early_name: str | None
    start: int
    end: int
    known: int | None


class JsonName(NamedTuple):
    """A name that a JSON member gives, and where the text must have come to for it to be known."""

    name: str
    known: int


def parameters_in(text: str) -> list[Parameter]:
    """Return the parameters of a text; only the last can be without an end.

    A value ends at the first closer or at the next opener. An opener that has no end hides
    everything behind it, so each character is looked at a bounded number of times.
    """
    found: list[Parameter] = []
    at = 0
    while head := _HEAD.search(text, at):
        angle = text.find(">", head.end())
        if angle < 0:
            break
        name = text[head.end() : angle]
        early = name or (None if head[0].endswith("=") else head[0][-1])
        end = _END.search(text, angle + 1)
        if end is None:
            found.append(Parameter(name, early, angle + 1, len(text), None))
            break
        found.append(Parameter(name, early, angle + 1, end.start(), end.end()))
        at = end.end() if end["close"] else end.start()
    return found


def name_in_json(text: str) -> JsonName | None:
    """Return the first member `"name"` that looks like JSON; None if there is none or it is empty.

    This is what names a call whose markup has no name.
    """
    match = _NAME.search(text)
    return JsonName(match[1], match.end()) if match and match[1] else None
