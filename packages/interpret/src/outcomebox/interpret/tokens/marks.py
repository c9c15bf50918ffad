"""The ids that give a conversation its turns, in one tokenizer and one format."""

from collections.abc import Sequence

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.tokens.text import read_ids
from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer
from outcomebox.interpret.tokens.vocabulary import vocabulary_of


class Marks:
    """A format's marks as ids.

    Raises:
        ValueError: An unknown format.

    Attributes:
        vocabulary: The tokenizer.
        format: The format.
        ends: Ids that end a turn; empty where the tokenizer has none of the format's.
        think: The texts that open and close reasoning.
        call_open: The text that opens a call; empty where the format has none.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | Encoding,
        format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
    ) -> None:
        self.vocabulary = vocabulary_of(tokenizer)
        self.format = format_named(format)
        ids = self.vocabulary.get_vocab()
        spelled = self.format.spellings
        self.ends = frozenset(ids[each] for each in self.format.end_of_turn if each in ids)
        self.think = (spelled.get("think_open", ""), spelled.get("think_close", ""))
        self.call_open = spelled.get("call_open", "")

    def id_of(self, text: str) -> int | None:
        """Return the id of a mark that is one token; None where ordinary tokens spell it."""
        return self.vocabulary.get_vocab().get(text)

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""
        return read_ids(ids, self.vocabulary)[0]

    def turns(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """Return the range of ids of each turn; a turn ends with its end-of-turn id."""
        cuts = [at + 1 for at, each in enumerate(ids) if each in self.ends]
        starts = [0, *cuts]
        stops = [*cuts, len(ids)]
        return [pair for pair in zip(starts, stops, strict=True) if pair[0] < pair[1]]
