"""What is needed of a tokenizer."""

from collections.abc import Mapping
from typing import Protocol


class Tokenizer(Protocol):
    """A tokenizer of a language model.

    Those of transformers, vLLM and `tokenizers` fit as they are; `Vocabulary` makes one of a
    tiktoken encoding.
    """

    def get_vocab(self) -> Mapping[str, int]:
        """Return every token's id by its text, added tokens included."""
        ...

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids."""
        ...


class Encoding(Protocol):
    """A tiktoken encoding."""

    @property
    def special_tokens_set(self) -> set[str]:
        """Return the texts of the special tokens."""
        ...

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id; raises KeyError where there is no such id."""
        ...

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of one token; raises KeyError where there is no such token."""
        ...

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of every ordinary token."""
        ...
