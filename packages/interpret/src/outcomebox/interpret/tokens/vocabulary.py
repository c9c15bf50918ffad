"""What a tokenizer says of its ids: the id of a token's text, and the bytes an id stands for.

Most tokenizers of language models write bytes, not characters, and say so in their vocabulary.
Where they do, text is put together from bytes here, which is exact for any split of the ids. Three
kinds are known:

- *bytes*: byte-level BPE as Hugging Face's `tokenizers` writes it: each byte is one of 256
  printable characters (the table of GPT-2), so a token's text spells its bytes. Also tiktoken,
  which hands bytes out.
- *pieces*: sentencepiece as `tokenizers` writes it: `SPACE_MARK` is a space, and `<0xE4>` is one
  byte of a character that has no token. Bytes in a row that are not UTF-8 are one U+FFFD each.
- *decode*: any other tokenizer is asked to decode.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer

Kind = Literal["bytes", "pieces", "decode"]

SPACE_MARK = "\u2581"
"""How sentencepiece writes a space."""


class Vocabulary:
    """A tokenizer made ready once for many outputs; itself a `Tokenizer`.

    A tokenizer that learns further tokens later needs a new one.

    Raises:
        TypeError: The tokenizer has no `get_vocab` or no `decode`.

    Attributes:
        kind: How ids become text; see the module.
        control: Ids of tokens that were added beside the trained ones: markers, ends of turns.
            Empty where the tokenizer does not tell.
        whole: Texts of ids met so far that begin and end with whole characters.
    """

    def __init__(self, tokenizer: Tokenizer | Encoding) -> None:
        self._bytes: dict[int, bytes] = {}
        self.whole: dict[int, str] = {}
        self._texts: dict[int, str] = {}
        if hasattr(tokenizer, "decode_single_token_bytes"):
            encoding = cast(Encoding, tokenizer)
            self.kind: Kind = "bytes"
            self._ids: Mapping[str, int] = _EncodingTokens(encoding)
            self._find = _bytes_of_encoding(encoding)
            self._decode: Callable[[list[int]], str] = self._joined
            special = encoding.special_tokens_set
            self.control = frozenset(encoding.encode_single_token(each) for each in special)
            return
        for method in ("get_vocab", "decode"):
            if not callable(getattr(tokenizer, method, None)):
                raise TypeError(
                    f"tokenizer {type(tokenizer).__name__} has no {method}(); pass a tokenizer of "
                    "transformers, vLLM or `tokenizers`, or a tiktoken encoding"
                )
        self._ids = tokenizer.get_vocab()
        self._decode = _decode_of(tokenizer)
        self.kind = _kind(self._ids, self._decode)
        if self.kind != "decode":
            self._texts = {token_id: text for text, token_id in self._ids.items()}
        self._find = self._bytes_of_byte_level if self.kind == "bytes" else self._bytes_of_piece
        self.control = frozenset(_added(tokenizer))

    def get_vocab(self) -> Mapping[str, int]:
        """Return every token's id by its text."""
        return self._ids

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids as the tokenizer itself writes it."""
        if skip_special_tokens:
            token_ids = [each for each in token_ids if each not in self.control]
        return self._decode(list(token_ids))

    def knows(self, token_id: int) -> bool:
        """Say whether there is such an id; True where the tokenizer does not tell."""
        if self._texts:
            return token_id in self._texts
        if self.kind == "decode":
            return True
        try:
            self.bytes_of(token_id)
        except ValueError:
            return False
        return True

    def bytes_of(self, token_id: int) -> bytes:
        """Return the bytes of one id; not for the kind `decode`.

        Raises:
            ValueError: The tokenizer has no such id and does not say what it stands for.
        """
        found = self._bytes.get(token_id)
        if found is None:
            found = self._bytes[token_id] = self._find(token_id)
        return found

    def byte_of(self, token_id: int) -> int | None:
        """Return the one byte that an id of the kind `pieces` stands for; None for other ids."""
        return _byte_of(self._texts.get(token_id, ""))

    def _joined(self, ids: list[int]) -> str:
        return b"".join(map(self.bytes_of, ids)).decode("utf-8", "replace")

    def _bytes_of_byte_level(self, token_id: int) -> bytes:
        text = self._texts.get(token_id, "")  # Decoding skips an id that has no token.
        table = _byte_table()
        if all(each in table for each in text):
            return bytes(table[each] for each in text)
        return text.encode("utf-8", "surrogatepass")

    def _bytes_of_piece(self, token_id: int) -> bytes:
        text = self._texts.get(token_id, "")
        return text.replace(SPACE_MARK, " ").encode("utf-8", "surrogatepass")


def vocabulary_of(tokenizer: Tokenizer | Encoding) -> Vocabulary:
    """Return the vocabulary of a tokenizer: itself, one made before, or a new one."""
    if isinstance(tokenizer, Vocabulary):
        return tokenizer
    try:
        size = len(tokenizer)  # type: ignore[arg-type]
        made = _MADE.get(tokenizer)
    except TypeError:  # It has no length, or cannot be held weakly: nothing tells it has not grown.
        return Vocabulary(tokenizer)
    if made is None or made[0] != size:
        made = _MADE[tokenizer] = (size, Vocabulary(tokenizer))
    return made[1]


_MADE: WeakKeyDictionary[Any, tuple[int, Vocabulary]] = WeakKeyDictionary()
"""Tokenizer -> its size and its vocabulary, for tokenizers that tell their size."""


class _EncodingTokens(Mapping[str, int]):
    """The tokens of a tiktoken encoding by their text, looked up one by one."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def __getitem__(self, text: str) -> int:
        return self._encoding.encode_single_token(text)

    def __iter__(self) -> Iterator[str]:
        for each in self._encoding.token_byte_values():
            try:
                yield each.decode("utf-8")
            except UnicodeDecodeError:
                continue  # A part of a character has no text of its own.
        yield from self._encoding.special_tokens_set

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _bytes_of_encoding(encoding: Encoding) -> Callable[[int], bytes]:
    def find(token_id: int) -> bytes:
        try:
            return encoding.decode_single_token_bytes(token_id)
        except (KeyError, OverflowError):
            raise ValueError(
                f"id {token_id} is not in the encoding; add the model's special tokens to it"
            ) from None

    return find


def _decode_of(tokenizer: Tokenizer) -> Callable[[list[int]], str]:
    def decode(ids: list[int]) -> str:
        return tokenizer.decode(ids, skip_special_tokens=False)

    return decode


def _kind(ids: Mapping[str, int], decode: Callable[[list[int]], str]) -> Kind:
    """Say how a tokenizer's ids become text, proved on a few of its tokens."""
    table = _byte_table()
    if all(each in ids for each in table):
        sample = [ids[each] for each in table if table[each] < 0x80]
        if decode(sample) == "".join(chr(table[each]) for each in table if table[each] < 0x80):
            return "bytes"
    elif all(f"<0x{byte:02X}>" in ids for byte in range(256)):
        first, second = ids["<0x41>"], ids["<0xC3>"]
        if decode([first, second, ids["<0xA9>"]]) == "A\u00e9" and _spaces_agree(ids, decode):
            return "pieces"
    return "decode"


def _spaces_agree(ids: Mapping[str, int], decode: Callable[[list[int]], str]) -> bool:
    """Say whether a token that begins with a space is written with it behind another token."""
    for text, token_id in ids.items():
        if text.startswith(SPACE_MARK) and text.strip(SPACE_MARK).isalpha():
            return decode([ids["<0x41>"], token_id]) == "A" + text.replace(SPACE_MARK, " ")
    return True


def _added(tokenizer: Tokenizer) -> Iterator[int]:
    """Return the ids of added tokens, as far as the tokenizer tells them."""
    for name in ("get_added_vocab", "get_added_tokens_decoder"):
        tell = getattr(tokenizer, name, None)
        if callable(tell):
            told: Mapping[Any, Any] = tell()
            yield from (each for pair in told.items() for each in pair if isinstance(each, int))
            return
    yield from getattr(tokenizer, "all_special_ids", ())


def _byte_of(text: str) -> int | None:
    if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
        try:
            return int(text[3:5], 16)
        except ValueError:
            return None
    return None


def _byte_table() -> Mapping[str, int]:
    """Return GPT-2's table: the character that stands for each byte -> the byte."""
    if not _BYTES:
        plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        others = [byte for byte in range(256) if byte not in set(plain)]
        _BYTES.update({chr(byte): byte for byte in plain})
        _BYTES.update({chr(256 + place): byte for place, byte in enumerate(others)})
    return _BYTES


_BYTES: dict[str, int] = {}
