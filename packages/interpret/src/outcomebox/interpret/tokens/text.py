"""The text of token ids, and which of its characters each id wrote."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

_REPLACEMENT = "\ufffd"

_MOST_PENDING = 4
"""Tokens that one character can need: UTF-8 takes at most four bytes."""


class Tokenizer(Protocol):
    """What is needed of a tokenizer; those of transformers and of vLLM fit."""

    def get_vocab(self) -> Mapping[str, int]:
        """Return every token's id by its text, added tokens included."""
        ...

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids."""
        ...


class TokenText(NamedTuple):
    """Token ids beside their text.

    Attributes:
        ids: The ids, as sampled.
        ends: For each id, where its text ends; the ids of one character all end where it ends,
            but the last of them is the one that wrote it.
        vocab: Every token's id by its text.
    """

    ids: tuple[int, ...]
    ends: tuple[int, ...]
    vocab: Mapping[str, int]

    def is_token(self, start: int, end: int, token_id: int) -> bool:
        """Say whether the characters `start` to `end` were written by that one id."""
        first = bisect_left(self.ends, end)
        while first < len(self.ids) and self.ends[first] == end:
            begins = self.ends[first - 1] if first else 0
            if self.ids[first] == token_id and begins == start:
                return True
            first += 1
        return False


class TokenReader:
    """Decodes ids that arrive in pieces; the text does not depend on the pieces."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._vocab = tokenizer.get_vocab()
        self._ids: list[int] = []
        self._ends: list[int] = []
        self._length = 0
        self._pending: list[int] = []
        self._context: list[int] = []

    def feed(self, ids: Sequence[int]) -> str:
        """Return the text that these ids complete."""
        return "".join(map(self._step, ids))

    def finish(self) -> str:
        """Return the text of ids that never completed a character."""
        return self._release() if self._pending else ""

    def text(self) -> TokenText:
        """Return the ids and their places so far."""
        return TokenText(tuple(self._ids), tuple(self._ends), self._vocab)

    def _step(self, token: int) -> str:
        self._ids.append(token)
        self._pending.append(token)
        text = self._decoded()
        if text.endswith(_REPLACEMENT) and len(self._pending) < _MOST_PENDING:
            self._ends.append(self._length)
            return ""
        return self._release(text)

    def _release(self, text: str | None = None) -> str:
        if text is None:
            text = self._decoded()
        else:
            self._ends.append(self._length)
        self._length += len(text)
        self._ends[-1] = self._length
        self._context, self._pending = self._pending[-1:], []
        return text

    def _decoded(self) -> str:
        """Decode what is pending behind the token before it, which some tokenizers look at."""
        decode = self._tokenizer.decode
        before = decode(self._context, skip_special_tokens=False) if self._context else ""
        whole = decode([*self._context, *self._pending], skip_special_tokens=False)
        return whole[len(before) :]
