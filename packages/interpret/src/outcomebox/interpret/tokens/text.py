"""The text of token ids, and which of its characters each id wrote."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer

__all__ = ["TokenReader", "TokenText", "Tokenizer", "read_ids"]


class TokenText(NamedTuple):
    """Token ids beside their text.

    Attributes:
        ids: The ids, as sampled.
        ends: For each id, where its text ends. An id with a part of a character only ends where
            that character begins; the id that completes it is the one that wrote it.
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

    def index_at(self, position: int) -> int:
        """Return the first id whose text begins at this character or behind it.

        An id belongs to the character at which its text begins, so ranges of characters that tile
        the text make ranges of ids that tile the ids. Ids without text at the very end belong to
        the last character.
        """
        if position <= 0:
            return 0
        if not self.ends or position >= self.ends[-1]:
            return len(self.ids)
        return bisect_left(self.ends, position) + 1

    def holding(self, position: int) -> int:
        """Return the id that wrote this character; the number of ids behind the last one."""
        return bisect_right(self.ends, position)

    def between(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of ids whose text begins in the characters `start` to `end`.

        Where a token reaches over a border it belongs to the side on which it begins, so a short
        range may have no id of its own.
        """
        if start >= end:
            at = self.index_at(start)
            return at, at
        return self.index_at(start), self.index_at(end)


class TokenReader:
    """Decodes ids that arrive in pieces; the text does not depend on the pieces."""

    def __init__(self, tokenizer: Tokenizer | Encoding) -> None:
        # Most outputs are text: the rest is loaded for the first that is not.
        from outcomebox.interpret.tokens.decoders import decoder_for  # noqa: PLC0415
        from outcomebox.interpret.tokens.vocabulary import vocabulary_of  # noqa: PLC0415

        vocabulary = vocabulary_of(tokenizer)
        self._vocab = vocabulary.get_vocab()
        self._decoder = decoder_for(vocabulary)
        self._ids: list[int] = []

    def feed(self, ids: Sequence[int]) -> str:
        """Return the text that these ids complete.

        Raises:
            ValueError: An id that the tokenizer does not have.
        """
        step = self._decoder.step
        texts = [step(each) for each in ids]
        self._ids += ids
        return "".join(texts)

    def finish(self) -> str:
        """Return the text of ids that never completed a character."""
        return self._decoder.finish()

    def text(self) -> TokenText:
        """Return the ids and their places so far."""
        return TokenText(tuple(self._ids), tuple(self._decoder.ends), self._vocab)


def read_ids(ids: Sequence[int], tokenizer: Tokenizer | Encoding) -> tuple[str, TokenText]:
    """Return the text of ids, and which of its characters each of them wrote."""
    reader = TokenReader(tokenizer)
    text = reader.feed(ids) + reader.finish()
    return text, reader.text()
