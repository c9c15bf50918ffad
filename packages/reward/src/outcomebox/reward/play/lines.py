"""The lines that a person types, read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

Word = Literal["call", "say", "user", "tools", "changes", "help", "done", "quit"]

HELP = """\
  NAME {json}        call a tool; `tool NAME {json}` does too, and {} may be left out
  say TEXT           say something to the user
  user TEXT          answer as the user
  tools [NAME]       the tools, or one with its arguments
  changes            what has changed so far
  done [TEXT]        say a last word and end: the state is graded
  quit               end without a verdict
"""

_WORD = re.compile(r"(\S+)\s*(.*)\Z", re.DOTALL)
_WORDS = ("say", "user", "tools", "changes", "help", "done", "quit")


class LineError(ValueError):
    """A line that means nothing; the message says what would."""


@dataclass(frozen=True, slots=True)
class Line:
    """What was typed.

    Attributes:
        word: What to do.
        text: What to say, or the name of a tool.
        arguments: The arguments of a call.
    """

    word: Word
    text: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


def read_line(line: str, tools: frozenset[str]) -> Line | None:
    """What a line says; None for an empty one.

    Args:
        line: The line.
        tools: Names of tools; one of these wins over a word of ours.

    Raises:
        LineError: It says nothing that is known.
    """
    match = _WORD.match(line.strip())
    if match is None:
        return None
    first, rest = match[1], match[2].strip()
    if first == "tool" and first not in tools:
        match = _WORD.match(rest)
        if match is None:
            raise LineError('write a tool\'s name and its arguments: tool NAME {"id": 1}')
        return _call(match[1], match[2].strip())
    if first in tools or rest.startswith("{"):
        return _call(first, rest)
    if first not in _WORDS:
        raise LineError(f"{first} is no tool and no word; `help` and `tools` say what there is")
    if first in ("say", "user") and not rest:
        raise LineError(f"write what to say: {first} TEXT")
    return Line(first, rest)  # type: ignore[arg-type]  # one of _WORDS, which are Words


def _call(name: str, given: str) -> Line:
    try:
        arguments = json.loads(given or "{}")
    except (ValueError, RecursionError) as error:
        raise LineError(f"the arguments of {name} are no JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise LineError(f'the arguments of {name} must be an object: {name} {{"id": 1}}')
    return Line("call", name, arguments)
