"""How an output arrives at a streaming server's parser: one token a delta."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.qwen import SPECIAL
from outcomebox.interpret.profiles.vllm.xml_lexer import DROPPED, SAMPLED, TEXT
from outcomebox.interpret.tokens.text import TokenText

_TOKENS = re.compile("|".join(map(re.escape, [*SAMPLED.values(), *sorted(SPECIAL)])))
_ORDINARY = re.compile(r" ?\w+|\s+|[^\w\s]")
"""How text is cut where its tokens are not known: into words, blanks and signs."""


class Delta(NamedTuple):
    """One token.

    Attributes:
        kind: What marker it is; `text` if it is none.
        text: The text that arrives with it, the marker's own left out: of a marker, what the
            tokens before it left unfinished.
        marker: The marker's own text.
        start: Where it begins in the output.
    """

    kind: str
    text: str
    marker: str
    start: int

    def without_text(self) -> "Delta":
        """Return the marker alone."""
        return self._replace(text="", start=self.start + len(self.text))


def deltas_of(output: Output, dropped: frozenset[str]) -> Iterator[Delta]:
    """Yield the deltas of an output; special tokens in `dropped` are of the kind that is dropped.

    Where tokens are not known, or have no ids for the markers, what is spelled as a marker or a
    special token is one.
    """
    kinds = {spelling: kind for kind, spelling in SAMPLED.items()}
    kinds |= dict.fromkeys(dropped, DROPPED)
    tokens = output.tokens
    if tokens is None or any(spelling not in tokens.vocab for spelling in SAMPLED.values()):
        return _of_text(output.text, kinds)
    return _of_tokens(output.text, tokens, kinds)


def _of_tokens(text: str, tokens: TokenText, kinds: dict[str, str]) -> Iterator[Delta]:
    markers = {tokens.vocab[spelling]: spelling for spelling in kinds if spelling in tokens.vocab}
    start = 0
    for token, end in zip(tokens.ids, tokens.ends, strict=True):
        piece = text[start:end]
        marker = markers.get(token, "")
        if marker:
            yield Delta(kinds[marker], piece.removesuffix(marker), marker, start)
        elif piece:
            yield Delta(TEXT, piece, "", start)
        start = end


def _of_text(text: str, kinds: dict[str, str]) -> Iterator[Delta]:
    done = 0
    for match in _TOKENS.finditer(text):
        start, end = match.span()
        yield from _ordinary(text, done, start)
        spelling = match[0]
        if spelling in kinds:
            yield Delta(kinds[spelling], "", spelling, start)
        else:
            yield Delta(TEXT, spelling, "", start)
        done = end
    yield from _ordinary(text, done, len(text))


def _ordinary(text: str, start: int, end: int) -> Iterator[Delta]:
    for match in _ORDINARY.finditer(text, start, end):
        yield Delta(TEXT, match[0], "", match.start())
