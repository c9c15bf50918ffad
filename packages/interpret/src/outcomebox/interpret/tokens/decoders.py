"""Put the text of ids together, id by id; the text does not depend on how the ids arrive.

Each decoder tells where the text of each id ends. An id that holds only a part of a character ends
where that character begins; the id that completes it is the one that wrote it. Bytes that never
become a character are U+FFFD, and belong to the last of the ids that hold them.
"""

from codecs import getincrementaldecoder
from typing import Protocol

from outcomebox.interpret.tokens.vocabulary import Vocabulary

_REPLACEMENT = "\ufffd"

_MOST_HELD = 16
"""Ids held back for one character. UTF-8 takes four bytes, but an id may end one character and
begin the next, so more can hang together; without a bound hostile output would cost its square."""


class Decoder(Protocol):
    """Writes the text of ids.

    Attributes:
        ends: For each id, where its text ends.
    """

    ends: list[int]

    def step(self, token_id: int) -> str:
        """Return the text that this id completes."""
        ...

    def finish(self) -> str:
        """Return the text of what never became a character."""
        ...


def decoder_for(vocabulary: Vocabulary) -> Decoder:
    """Return a new decoder for a vocabulary's kind of ids."""
    if vocabulary.kind == "bytes":
        return ByteDecoder(vocabulary)
    if vocabulary.kind == "pieces":
        return PieceDecoder(vocabulary)
    return AskingDecoder(vocabulary)


class ByteDecoder:
    """For ids that stand for bytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.ends: list[int] = []
        self._bytes_of = vocabulary.bytes_of
        self._whole = vocabulary.whole
        self._utf8 = getincrementaldecoder("utf-8")("replace")
        self._length = 0
        self._open = False

    def step(self, token_id: int) -> str:
        """See `Decoder`."""
        whole = None if self._open else self._whole.get(token_id)
        if whole is not None:
            self._length += len(whole)
            self.ends.append(self._length)
            return whole
        data = self._bytes_of(token_id)
        text = ""
        if self._open and data and data[0] & 0xC0 != 0x80:
            # The character is broken off: what there is of it belongs to the ids before.
            text = self.finish()
        written = self._utf8.decode(data)
        self._open = bool(self._utf8.getstate()[0])
        if not self._open and written.encode("utf-8", "surrogatepass") == data:
            self._whole[token_id] = written
        self._length += len(written)
        self.ends.append(self._length)
        return text + written

    def finish(self) -> str:
        """See `Decoder`."""
        text = self._utf8.decode(b"", final=True)
        self._utf8.reset()
        self._open = False
        self._length += len(text)
        if text:
            self.ends[-1] = self._length
        return text


class PieceDecoder:
    """For ids that stand for text or for single bytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.ends: list[int] = []
        self._vocabulary = vocabulary
        self._run = bytearray()
        self._run_ids: list[int] = []
        self._length = 0

    def step(self, token_id: int) -> str:
        """See `Decoder`."""
        byte = self._vocabulary.byte_of(token_id)
        if byte is not None:
            self._run.append(byte)
            self._run_ids.append(token_id)
            self.ends.append(self._length)
            return ""
        text = self.finish()
        if self.ends:
            written = self._vocabulary.bytes_of(token_id).decode("utf-8", "surrogatepass")
        else:
            # What becomes of a space at the very start is the tokenizer's own rule.
            written = self._vocabulary.decode([token_id])
        self._length += len(written)
        self.ends.append(self._length)
        return text + written

    def finish(self) -> str:
        """See `Decoder`."""
        run, ids = bytes(self._run), self._run_ids
        self._run, self._run_ids = bytearray(), []
        if not run:
            return ""
        first = len(self.ends) - len(run)
        try:
            text = run.decode("utf-8")
        except UnicodeDecodeError:
            text = _REPLACEMENT * len(run)
            written = list(range(1, len(run) + 1))
        else:
            written = _characters_after(text)
        if first == 0 and text.startswith(" "):
            kept = self._vocabulary.decode(ids)  # Its own rule again.
            lost, text = len(text) - len(kept), kept
            written = [max(0, each - lost) for each in written]
        self.ends[first:] = [self._length + each for each in written]
        self._length += len(text)
        return text


def _characters_after(text: str) -> list[int]:
    """Return, for each byte of a text, how many characters are complete behind it."""
    counts: list[int] = []
    for done, character in enumerate(text):
        counts += [done] * (len(character.encode("utf-8")) - 1) + [done + 1]
    return counts


class AskingDecoder:
    """For tokenizers that do not tell what an id stands for: the tokenizer is asked to decode."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.ends: list[int] = []
        self._decode = vocabulary.decode
        self._length = 0
        self._held: list[int] = []
        self._context: list[int] = []

    def step(self, token_id: int) -> str:
        """See `Decoder`."""
        self.ends.append(self._length)
        self._held.append(token_id)
        text = self._behind_context()
        if len(self._held) > 1:
            alone = self._decode([token_id])
            if alone and _REPLACEMENT not in alone and text.endswith(alone):
                # This id stands for itself; what was held before it never became a character.
                return self._release_before(text[: -len(alone)]) + self._release(alone)
        if text.endswith(_REPLACEMENT) and len(self._held) < _MOST_HELD:
            return ""
        return self._release(text)

    def finish(self) -> str:
        """See `Decoder`."""
        return self._release(self._behind_context()) if self._held else ""

    def _release_before(self, text: str) -> str:
        self._length += len(text)
        self.ends[-2] = self.ends[-1] = self._length
        return text

    def _release(self, text: str) -> str:
        self._length += len(text)
        self.ends[-1] = self._length
        self._context, self._held = self._held[-1:], []
        return text

    def _behind_context(self) -> str:
        """Decode what is held behind the id before it, which some tokenizers look at."""
        before = self._decode(self._context) if self._context else ""
        return self._decode([*self._context, *self._held])[len(before) :]
