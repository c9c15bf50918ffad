"""How an output reaches sglang's parsers: as text, a token at a time in a stream."""

import re
from itertools import pairwise
from typing import NamedTuple

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.qwen import SPECIAL

_MARKERS = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)

_PIECES = re.compile(
    "|".join(map(re.escape, (*sorted(SPECIAL), *_MARKERS))) + r"| ?\w+|\s+|[^\w\s]"
)
"""Where only text is known: markers and special tokens whole, the rest in words, blanks and signs.

A sign ends where a marker begins, because no other alternative takes a `<`.
"""


class Delta(NamedTuple):
    """The text of one step, and where it ends in the output."""

    text: str
    end: int


def whole_text(output: Output) -> str:
    """Return the text that the parsers get: without the end of turn that stopped the model."""
    if calls_wanted(output):
        return output.text[: _stop(output)]
    return "".join(delta.text for delta in deltas(output))


def deltas(output: Output) -> list[Delta]:
    """Return the steps of a stream.

    A model that ended its turn by itself is stopped by a token without text, the last step; one
    that was cut ends with its last token.
    """
    text, stop, keep = output.text, _stop(output), calls_wanted(output)
    if output.tokens is not None:
        ends = output.tokens.ends
    else:
        ends = tuple(match.end() for match in _PIECES.finditer(text))
    steps = []
    for start, end in pairwise((0, *ends)):
        if end <= stop:
            piece = text[start:end]
            steps.append(Delta(piece if keep or piece not in SPECIAL else "", end))
    if not output.cut:
        steps.append(Delta("", stop))
    return steps


def calls_wanted(output: Output) -> bool:
    """Say whether the server looks for calls: not where no tools are offered."""
    return not output.tools.none_offered


def _stop(output: Output) -> int:
    """Return where the text ends for the parsers."""
    text, tokens = output.text, output.tokens
    if not output.cut:
        for token in output.format.end_of_turn:
            start = len(text) - len(token)
            if text.endswith(token) and (
                tokens is None or tokens.is_token(start, len(text), tokens.vocab.get(token, -1))
            ):
                return start
    return len(text)
