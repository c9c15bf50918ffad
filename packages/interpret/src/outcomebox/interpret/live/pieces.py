"""A small deterministic tokenizer, for outputs of which only the text is known.

Its markers and special tokens are those of Qwen3's tokenizer, each one token; the rest is cut into
words, blanks and signs, which get their ids as they come. It loses nothing: ids decode to what was
encoded.
"""

import re
from collections.abc import Sequence

from outcomebox.interpret.live.base import Recorded
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.tokens.text import Tokenizer, TokenReader
from outcomebox.interpret.turn import Tool

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>")
"""Special tokens, which decoding may skip."""

MARKERS = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)
"""Tokens of their own that decoding never skips."""

_SPELLED = re.compile("|".join(map(re.escape, SPECIAL + MARKERS)))
_ORDINARY = re.compile(r" ?\w+|\s+|[^\w\s]")


class PieceTokenizer:
    """Gives each piece of text an id.

    Attributes:
        all_special_tokens: The special tokens.
        all_special_ids: Their ids.
        bos_token_id: None: an output of Qwen3 begins with no token of its own.
        eos_token_id: The id of the end of turn; some parsers look out for it.
        pad_token_id: The id of padding; likewise.
    """

    def __init__(self) -> None:
        self._ids = {token: number for number, token in enumerate(SPECIAL + MARKERS)}
        self._pieces = list(self._ids)
        self.all_special_tokens = list(SPECIAL)
        self.all_special_ids = [self._ids[token] for token in SPECIAL]
        self.bos_token_id = None
        self.eos_token_id = self._ids["<|im_end|>"]
        self.pad_token_id = self._ids["<|endoftext|>"]

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each piece met so far."""
        return self._ids

    def id_of(self, piece: str) -> int:
        """Return the id of a piece, a new one where it was not met before."""
        number = self._ids.setdefault(piece, len(self._pieces))
        if number == len(self._pieces):
            self._pieces.append(piece)
        return number

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        """Return the ids of a text; a spelled marker is its token."""
        del add_special_tokens  # There are none to add.
        return [self.id_of(piece) for piece in split(text)]

    def decode(self, token_ids: int | Sequence[int], skip_special_tokens: bool = False) -> str:
        """Return the text of ids."""
        ids = [token_ids] if isinstance(token_ids, int) else token_ids
        special = set(self.all_special_ids) if skip_special_tokens else ()
        return "".join(self._pieces[number] for number in ids if number not in special)


def split(text: str) -> list[str]:
    """Cut a text into pieces: markers and special tokens whole, the rest into words and signs."""
    pieces: list[str] = []
    done = 0
    for match in _SPELLED.finditer(text):
        pieces += _ORDINARY.findall(text[done : match.start()])
        pieces.append(match.group())
        done = match.end()
    return pieces + _ORDINARY.findall(text[done:])


def recorded(
    output: str | Sequence[int] | Sequence[str],
    *,
    tools: Sequence[Tool] | None = None,
    format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
    prompt_state: PromptState = "think_closed",
    finish_reason: str = "stop",
    tokenizer: Tokenizer | None = None,
) -> Recorded:
    """Make the record that live parsers read.

    Args:
        output: A text, the texts of the tokens, or the ids.
        tools: As for `interpret`.
        format: As for `interpret`.
        prompt_state: As for `interpret`.
        finish_reason: As for `interpret`.
        tokenizer: The model's tokenizer, for ids; texts get a `PieceTokenizer`.

    Raises:
        TypeError: Ids come without a tokenizer, or texts with one.
    """
    pieces, ids, used = _tokens(output, tokenizer)
    return Recorded("".join(pieces), pieces, ids, used, tools, format, prompt_state, finish_reason)


def _tokens(
    output: str | Sequence[int] | Sequence[str], tokenizer: Tokenizer | None
) -> tuple[tuple[str, ...], tuple[int, ...], Tokenizer]:
    whole = split(output) if isinstance(output, str) else output
    texts = [piece for piece in whole if isinstance(piece, str)]
    ids = [number for number in whole if isinstance(number, int)]
    if texts and ids:
        raise TypeError("output mixes texts and ids; give one or the other")
    if not ids:
        own = PieceTokenizer()
        return tuple(texts), tuple(map(own.id_of, texts)), own
    if tokenizer is None:
        raise TypeError("output is token ids: pass the model's tokenizer as `tokenizer`")
    reader = TokenReader(tokenizer)
    # The reader gives each character to the token that completes it, as an engine does.
    parts = [reader.feed([number]) for number in ids]
    parts[-1] += reader.finish()
    return tuple(parts), tuple(ids), tokenizer
