"""Reading from ids: the text is the tokenizer's own, whatever the tokenizer and the split."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interpret_tokenizers import (
    ADDED_IDS,
    FIRST_ADDED,
    IM_END,
    HubTokenizer,
    Words,
    byte_fallback,
    encode,
    hub,
    qwen,
    ranks,
    small_byte_level,
    spell,
    vocabulary,
)
from outcomebox.interpret import Interpreter, interpret
from outcomebox.interpret.tokens import TokenReader, Vocabulary, read_ids

EXAMPLES = settings(max_examples=200, deadline=None)

TOKENIZERS: dict[str, Any] = {
    "tiktoken": qwen,
    "transformers": hub,
    "tokenizers": small_byte_level,
    "byte fallback": lambda: byte_fallback(strip=False),
    "byte fallback, leading space stripped": lambda: byte_fallback(strip=True),
}
SIZES = {
    "tiktoken": FIRST_ADDED + len(ADDED_IDS),
    "transformers": FIRST_ADDED + len(ADDED_IDS),
    "tokenizers": 3000,
}
KINDS = {"tiktoken": "bytes", "transformers": "bytes", "tokenizers": "bytes"}

BROKEN = [
    rank for token, rank in ranks().items() if token.decode("utf-8", "ignore").encode() != token
]
"""Ids of Qwen's that hold a part of a character."""


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_kind_of_a_tokenizer_is_found(name: str) -> None:
    vocabulary = Vocabulary(TOKENIZERS[name]())
    assert vocabulary.kind == KINDS.get(name, "pieces")
    assert vocabulary.control


def own_decode(tokenizer: Any, ids: list[int]) -> str:
    """Decode as the tokenizer does, special tokens kept."""
    if hasattr(tokenizer, "decode_single_token_bytes"):
        return str(tokenizer.decode(ids))
    return str(tokenizer.decode(ids, skip_special_tokens=False))


@pytest.mark.parametrize("name", TOKENIZERS)
@EXAMPLES
@given(data=st.data())
def test_the_text_is_the_tokenizer_s_own_for_any_ids(name: str, data: st.DataObject) -> None:
    tokenizer = TOKENIZERS[name]()
    size = SIZES.get(name) or tokenizer.get_vocab_size()
    likely = st.sampled_from(BROKEN[:200]) if size > FIRST_ADDED else st.integers(0, size - 1)
    ids = data.draw(st.lists(st.integers(0, size - 1) | likely, max_size=30))
    text, tokens = read_ids(ids, tokenizer)
    assert text == own_decode(tokenizer, ids)
    assert tokens.ids == tuple(ids)
    assert list(tokens.ends) == sorted(tokens.ends)
    assert (tokens.ends[-1] if ids else 0) == len(text)


@pytest.mark.parametrize("name", TOKENIZERS)
@EXAMPLES
@given(data=st.data())
def test_the_text_does_not_depend_on_the_pieces(name: str, data: st.DataObject) -> None:
    tokenizer = TOKENIZERS[name]()
    size = SIZES.get(name) or tokenizer.get_vocab_size()
    chunks = data.draw(st.lists(st.lists(st.integers(0, size - 1), max_size=5), max_size=8))
    whole = read_ids([each for chunk in chunks for each in chunk], tokenizer)
    reader = TokenReader(tokenizer)
    pieces = [reader.feed(chunk) for chunk in chunks]
    assert "".join([*pieces, reader.finish()]) == whole[0]
    assert reader.text()[:2] == whole[1][:2]
    assert reader.finish() == ""


@pytest.mark.parametrize("strip", [True, False])
@pytest.mark.parametrize(
    "pieces",
    [
        ["<0x20>"],
        ["<0x20>", "<0x61>", "th"],
        ["\u2581", "\u2581the"],
        ["\u2581\u2581", "a"],
        ["<tool_call>", "\u2581the"],
        ["<0xE4>", "<0xB8>", "<0xAD>", "<0xF0>", "a"],
    ],
)
def test_spaces_at_the_start_are_the_tokenizer_s_own_rule(pieces: list[str], strip: bool) -> None:
    tokenizer = byte_fallback(strip=strip)
    vocab = tokenizer.get_vocab()
    ids = [vocab[each] for each in pieces]
    text, tokens = read_ids(ids, tokenizer)
    assert text == tokenizer.decode(ids, skip_special_tokens=False)
    assert tokens.ends[-1] == len(text)


def test_a_tiktoken_encoding_as_a_tokenizer() -> None:
    made = vocabulary()
    ids = encode("<|im_start|>Hi<|im_end|>")
    assert made.decode(ids) == "<|im_start|>Hi<|im_end|>"
    assert made.decode(ids, skip_special_tokens=True) == "Hi"
    tokens = made.get_vocab()
    assert tokens["<think>"] == ADDED_IDS["<think>"]
    assert "<thonk>" not in tokens
    listed = dict(tokens)
    assert listed.items() >= ADDED_IDS.items()
    assert len(tokens) == len(listed) > 150_000
    assert all(made.decode([token]) == text for text, token in list(listed.items())[::997])


def test_whether_an_id_is_known() -> None:
    last = FIRST_ADDED + len(ADDED_IDS) - 1
    for known in (vocabulary(), Vocabulary(hub())):
        assert known.knows(last)
        assert not known.knows(last + 1)
    assert not Vocabulary(byte_fallback(strip=True)).knows(5000)
    assert Vocabulary(Words(["a"])).knows(5000)  # It does not tell.
    # As the tokenizer does, an id without a token is read as nothing.
    assert read_ids([last + 1, 198], hub())[0] == "\n"


WORDS: list[str | bytes] = [
    "<tool_call>",
    "</tool_call>",
    "a",
    "\ufffd",
    "é中",
    b"\xe4",
    b"\xb8",
    b"\xad",
    b"\xad\xe4",
    b"a\xf0",
    b"\x9f\x8e",
    b"\x89",
    "",
]


@EXAMPLES
@given(ids=st.lists(st.integers(0, len(WORDS) - 1), max_size=24))
@example(ids=[5, 6, 8, 6, 8, 6, 8, 6, 7])
@example(ids=[5, 0])
@example(ids=[9, 10, 11, 0])
def test_a_tokenizer_that_only_decodes_is_read_exactly(ids: list[int]) -> None:
    tokenizer = Words(WORDS)
    text, tokens = read_ids(ids, tokenizer)
    assert text == tokenizer.decode(ids)
    assert (tokens.ends[-1] if ids else 0) == len(text)
    for at, each in enumerate(ids):
        if each in (0, 1):
            end = tokens.ends[at]
            assert tokens.is_token(end - len(str(WORDS[each])), end, each)


def test_a_flood_of_unfinished_characters_is_not_held_for_ever() -> None:
    calls = 0

    class Counting(Words):
        def decode(self, token_ids: Any, *, skip_special_tokens: bool = False) -> str:
            nonlocal calls
            calls += len(token_ids)
            return super().decode(token_ids)

    tokenizer = Counting(WORDS)
    read_ids([3] * 4000, tokenizer)
    assert calls < 4000 * 40


def test_a_marker_behind_a_broken_character_is_still_that_token() -> None:
    broken = ranks()[b"\xe4"]
    ids = [broken, ADDED_IDS["<tool_call>"], *encode("<function=f>\n</function>\n</tool_call>")]
    for tokenizer in (vocabulary(), hub()):
        text, tokens = read_ids(ids, tokenizer)
        assert text.startswith("\ufffd<tool_call>")
        assert tokens.is_token(1, 12, ADDED_IDS["<tool_call>"])
        turn = interpret(ids, tokenizer=tokenizer, profile="strict")
        assert [call.name for call in turn.tool_calls] == ["f"]
        assert turn.content == "\ufffd"


def test_an_id_that_the_tokenizer_lacks_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="id 999999 is not in the encoding; add the model's"):
        read_ids([999999], qwen())


def test_what_is_no_tokenizer_is_an_error_that_names_the_mend() -> None:
    with pytest.raises(
        TypeError, match=r"tokenizer object has no get_vocab\(\); pass a tokenizer of"
    ):
        Vocabulary(object())  # type: ignore[arg-type]


def test_a_vocabulary_is_made_once_for_a_tokenizer_and_again_when_it_grows() -> None:
    made = 0

    class Growing(HubTokenizer):
        size = 5

        def __len__(self) -> int:
            return self.size

        def get_vocab(self) -> dict[str, int]:
            nonlocal made
            made += 1
            return super().get_vocab()

    tokenizer = Growing()
    for _ in range(3):
        read_ids([1], tokenizer)
    assert made == 1
    tokenizer.size += 1
    read_ids([1], tokenizer)
    assert made == 2


OUTPUT = (
    "Sure.</think>\n\n<tool_call>\n<function=f>\n<parameter=a>\né中🎉\n</parameter>\n</function>\n"
    "</tool_call><|im_end|>"
)
MARKED = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "\n", "<function=f>"]
TEXTS = st.lists(st.sampled_from(MARKED) | st.text(max_size=6), max_size=12).map("".join)


@EXAMPLES
@given(text=TEXTS, cuts=st.lists(st.integers(0, 60), max_size=4), cut=st.booleans())
@example(text=OUTPUT, cuts=[3, 9, 20], cut=False)
def test_ids_in_pieces_give_the_turn_of_the_whole(text: str, cuts: list[int], cut: bool) -> None:
    ids = encode(text)
    reason = "length" if cut else "stop"
    for state in ("think_open", "think_closed"):
        whole = interpret(ids, prompt_state=state, tokenizer=vocabulary(), finish_reason=reason)
        reader = Interpreter(prompt_state=state, tokenizer=vocabulary())
        places = [0, *sorted(cuts), len(ids)]
        for start, stop in pairwise(places):
            reader.feed(ids[start:stop])
        assert reader.finish(reason) == whole


@EXAMPLES
@given(text=TEXTS)
def test_markers_that_are_tokens_read_as_from_text(text: str) -> None:
    """Where every marker was sampled as its token, ids and text give the same turn."""
    from_ids = interpret(encode(text), prompt_state="think_open", tokenizer=vocabulary())
    assert from_ids == interpret(text, prompt_state="think_open")


def test_what_ends_a_turn_is_cut_off_only_where_it_was_sampled() -> None:
    assert interpret([*encode("Done."), IM_END], tokenizer=vocabulary()).content == "Done."
    quoted = spell("Qwen ends its turns with <|im_end|>")
    assert (
        interpret(quoted, tokenizer=vocabulary()).content == "Qwen ends its turns with <|im_end|>"
    )
