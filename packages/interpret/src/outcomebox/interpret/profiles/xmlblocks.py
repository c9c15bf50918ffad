"""Blocks between an opener and a closer, as the parsers built on regular expressions see them.

Such a parser takes the first closer behind an opener, whatever stands between, and goes on behind
it. Each character is looked at once for each kind of block.
"""

from collections.abc import Iterator
from typing import NamedTuple

CALL_OPEN = "<tool_call>"
CALL_CLOSE = "</tool_call>"
FUNCTION_OPEN = "<function="
FUNCTION_CLOSE = "</function>"
PARAMETER_OPEN = "<parameter="
PARAMETER_CLOSE = "</parameter>"


class Block(NamedTuple):
    """One block.

    Attributes:
        start: Where its opener begins.
        body: Where its inside begins.
        body_end: Where its inside ends.
        end: Where the block ends, its closer included.
    """

    start: int
    body: int
    body_end: int
    end: int


def blocks(text: str, start: int, end: int, opener: str, closer: str) -> Iterator[Block]:
    """Yield the blocks between `start` and `end`; one that is not closed reaches to `end`."""
    at = text.find(opener, start, end)
    while at >= 0:
        body = at + len(opener)
        close = text.find(closer, body, end)
        if close < 0:
            yield Block(at, body, end, end)
            return
        stop = close + len(closer)
        yield Block(at, body, close, stop)
        at = text.find(opener, stop, end)


def without_last_newline(text: str, start: int, end: int) -> int:
    """Return where a regular expression's `$` first matches: before a newline at the end."""
    return end - 1 if end > start and text[end - 1] == "\n" else end


def unpadded(value: str) -> str:
    """Take one newline off each side of a value."""
    return value.removeprefix("\n").removesuffix("\n")


def call_span(block: Block, functions: int, function: Block) -> tuple[int, int]:
    """Return the markup of a call: its wrapper's, or its function's where the wrapper has more."""
    return (block.start, block.end) if functions == 1 else (function.start, function.end)
