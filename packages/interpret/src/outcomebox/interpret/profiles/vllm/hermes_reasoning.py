"""What vLLM's `qwen3` reasoning parser takes off an output before its `hermes` tool parser reads.

Reasoning stands first unless the request disabled it, and ends at the first closer or at the first
call. A whole answer is searched for the markers' spelling; a stream knows them by their token ids.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.vllm.hermes_deltas import Deltas
from outcomebox.interpret.profiles.vllm.xml_lexer import DROPPED, MARKERS
from outcomebox.interpret.turn import Span

_MARKERS = frozenset({"think_open", "think_close", "call_open"})


class Pieces(NamedTuple):
    """Pieces of the output joined to one text, and where each of them stands.

    Attributes:
        text: The pieces, joined.
        offsets: Where each piece begins in `text`.
        starts: Where each piece begins in the output.
    """

    text: str
    offsets: tuple[int, ...]
    starts: tuple[int, ...]

    def place(self, start: int, end: int) -> Span:
        """Return where a part of the joined text, which is not empty, stands in the output."""
        first = bisect_right(self.offsets, start) - 1
        last = bisect_right(self.offsets, end - 1) - 1
        return (
            self.starts[first] + start - self.offsets[first],
            self.starts[last] + end - self.offsets[last],
        )


def split_whole(output: Output, dropped: frozenset[str]) -> tuple[str | None, Pieces | None]:
    """Return the reasoning and what the tool parser gets to read; None where there is none.

    Args:
        output: The output as the engine hands it out.
        dropped: The special tokens that are cut out of its text.
    """
    if output.prompt_state == "think_closed":
        return None, Pieces(output.text, (0,), (0,))
    text, done, inside = output.text, 0, True
    reasoning: list[str] = []
    content: list[tuple[str, int]] = []
    for kind, start, end in _spelled(text, dropped):
        if not inside and kind in ("call_open", "think_open"):
            continue
        if inside:
            reasoning.append(text[done:start])
        elif done < start:
            content.append((text[done:start], done))
        inside = inside and kind in ("think_open", DROPPED)
        done = start if kind == "call_open" else end
    if inside:
        return "".join([*reasoning, text[done:]]) or None, None
    if done < len(text):
        content.append((text[done:], done))
    texts = [part for part, _ in content]
    offsets = tuple(accumulate(map(len, texts), initial=0))
    pieces = Pieces("".join(texts), offsets[:-1], tuple(start for _, start in content))
    return "".join(reasoning) or None, pieces if texts else None


def split_stream(output: Output, dropped: frozenset[str]) -> tuple[str | None, Deltas | None]:
    """Return the reasoning and the deltas that the tool parser gets; None where it gets none.

    Args:
        output: The output as the engine hands it out.
        dropped: The special tokens that are left out of the reasoning; nothing is behind it.
    """
    text = output.text
    if output.prompt_state == "think_closed":
        return None, Deltas(output, 0)
    reasoning: list[str] = []
    done = 0
    for kind, start, end in _sampled(output, dropped):
        reasoning.append(text[done:start])
        done = end
        if kind in ("think_close", "call_open"):
            rest = Deltas(output, start if kind == "call_open" else end)
            return "".join(reasoning) or None, rest
    reasoning.append(text[done:])
    return "".join(reasoning) or None, None


@cache
def _pattern(dropped: frozenset[str]) -> re.Pattern[str]:
    """Match a marker, or a special token to be dropped; the group that matched is the kind."""
    spellings = {kind: [MARKERS[kind]] for kind in sorted(_MARKERS)}
    if dropped:
        spellings[DROPPED] = sorted(dropped)
    # They all begin with the same character, which the search then jumps to.
    branches = (
        f"(?P<{kind}>{'|'.join(re.escape(text[1:]) for text in texts)})"
        for kind, texts in spellings.items()
    )
    return re.compile(f"<(?:{'|'.join(branches)})")


def _spelled(text: str, dropped: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of the markers that are spelled."""
    for match in _pattern(dropped).finditer(text):
        yield match.lastgroup or DROPPED, *match.span()


def _sampled(output: Output, dropped: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of the markers that are tokens; those spelled without ids."""
    tokens = output.tokens
    kinds = {MARKERS[kind]: kind for kind in _MARKERS}
    if tokens is None or any(spelling not in tokens.vocab for spelling in kinds):
        yield from _spelled(output.text, dropped)
        return
    kinds |= dict.fromkeys(dropped, DROPPED)
    own = {tokens.vocab[each]: each for each in kinds if each in tokens.vocab}
    for token, end in zip(tokens.ids, tokens.ends, strict=True):
        if token in own:
            # In front of it may stand what was held back until now: a part of a character.
            yield kinds[own[token]], end - len(own[token]), end
