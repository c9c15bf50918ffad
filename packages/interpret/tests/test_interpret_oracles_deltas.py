"""How outputs arrive at live parsers: tokens, deltas, and what a client joins."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.interpret.live import live_parser
from outcomebox.interpret.live.base import Answer, LiveParser, Recorded, parser_for
from outcomebox.interpret.live.deltas import Delta, Joined, deltas, prompt_ids, served_text
from outcomebox.interpret.live.pieces import (
    MARKERS,
    SPECIAL,
    PieceTokenizer,
    recorded,
    split,
)
from outcomebox.interpret.live.record import answers
from outcomebox.interpret.live.sglang import make as make_sglang
from outcomebox.interpret.live.verl import make as make_verl
from outcomebox.interpret.live.vllm import make as make_vllm

texts = st.lists(st.sampled_from([*MARKERS, *SPECIAL, "a", " b", "\n", "<", "é", "\u2028"])).map(
    "".join
)


@given(texts)
def test_pieces_lose_nothing(text: str) -> None:
    tokenizer = PieceTokenizer()
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert "".join(split(text)) == text
    assert [tokenizer.get_vocab()[piece] for piece in split(text)] == ids


def test_markers_are_tokens_and_special_tokens_may_be_skipped() -> None:
    tokenizer = PieceTokenizer()
    ids = tokenizer.encode("<think>a</think><|im_end|>")
    assert [tokenizer.decode(number) for number in ids] == [
        "<think>",
        "a",
        "</think>",
        "<|im_end|>",
    ]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "<think>a</think>"


def test_an_output_that_stopped_ends_in_a_delta_without_text() -> None:
    with_end = recorded("a<|im_end|>")
    assert served_text(with_end) == "a"
    end = with_end.tokenizer.get_vocab()["<|im_end|>"]
    a = with_end.tokenizer.get_vocab()["a"]
    told = [Delta("a", (a,), finished=False), Delta("", (end,), finished=True)]
    assert list(deltas(with_end)) == told
    assert list(deltas(recorded("a"))) == told


def test_an_output_that_was_cut_ends_with_its_last_token() -> None:
    cut = recorded("a<|im_end|>", finish_reason="length")
    assert served_text(cut) == "a<|im_end|>"
    assert [(delta.text, delta.finished) for delta in deltas(cut)] == [
        ("a", False),
        ("<|im_end|>", True),
    ]


def test_a_spelled_end_of_turn_stops_nothing() -> None:
    spelled = recorded(["a", "<|im", "_end|>"])
    assert served_text(spelled) == "a<|im_end|>"
    assert [delta.text for delta in deltas(spelled)] == ["a", "<|im", "_end|>", ""]


def test_prompts_fit_their_state() -> None:
    def tokens(output: Recorded) -> str:
        return PieceTokenizer().decode(prompt_ids(output))

    assert tokens(recorded("", prompt_state="assistant_start")) == "<|im_start|>"
    assert tokens(recorded("", prompt_state="think_open")) == "<|im_start|><think>"
    assert tokens(recorded("", prompt_state="think_closed")) == "<|im_start|><think></think>"


def test_a_tokenizer_without_an_end_of_turn_is_said_so() -> None:
    class Bare:
        def get_vocab(self) -> dict[str, int]:
            return {"a": 0}

        def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
            del skip_special_tokens
            return "a" * len(token_ids)

    with pytest.raises(ValueError, match="no end of turn"):
        list(deltas(recorded([0], tokenizer=Bare())))


def test_ids_keep_a_split_character_with_the_token_that_ends_it() -> None:
    class Bytes:
        def get_vocab(self) -> dict[str, int]:
            return {"<|im_end|>": 300}

        def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
            del skip_special_tokens
            return bytes(token_ids).decode(errors="replace")

    output = recorded(list("aé".encode()), tokenizer=Bytes())
    assert (output.text, output.pieces) == ("aé", ("a", "", "é"))


def test_deltas_are_joined_by_index() -> None:
    joined = Joined()
    joined.text("a", None)
    joined.text(None, "")
    joined.call(1, "g", None)
    joined.call(0, "f", '{"x"')
    joined.call(0, None, ": 1}")
    assert joined.answer() == Answer("a", None, (("f", '{"x": 1}'), ("g", "")))
    assert joined.answer("E: x").error == "E: x"


def test_outputs_are_texts_or_ids() -> None:
    with pytest.raises(TypeError, match="pass the model's tokenizer"):
        recorded([1, 2])
    assert recorded([]).ids == ()


@pytest.mark.parametrize(
    ("make", "stream", "where", "message"),
    [
        (make_verl, True, "", "whole outputs only"),
        (make_verl, False, "http://x", "leave out"),
        (make_vllm, False, "http://x", "leave out"),
        (make_sglang, True, "http://x", "leave out"),
    ],
)
def test_modes_that_a_parser_lacks(make: object, stream: bool, where: str, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=message):
        make(stream=stream, where=where)


@pytest.mark.parametrize("make", [make_vllm, make_verl, make_sglang])
def test_a_release_that_is_not_installed_is_said_so(make: object) -> None:
    assert callable(make)
    with pytest.raises(ImportError, match="install"):
        make(stream=False, where="")


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="live parser 'other' is unknown"):
        live_parser("other")
    with pytest.raises(ValueError, match="it reads: hermes"):
        parser_for({"hermes": "hermes"}, "glm")


def test_the_recorder_takes_pieces_or_text() -> None:
    class Echo:
        name = "echo"

        def parse(self, output: Recorded) -> Answer:
            return Answer(output.prompt_state, output.text, ((output.format, str(output.tools)),))

    parser: LiveParser = Echo()
    rows = [{"pieces": ["a", "b"], "prompt_state": "think_open"}, {"text": "ab", "tools": []}]
    assert list(answers(parser, rows)) == [
        {"reasoning": "think_open", "content": "ab", "calls": [["qwen3_xml", "None"]]},
        {"reasoning": "think_closed", "content": "ab", "calls": [["qwen3_xml", "[]"]]},
    ]


def test_answers_of_the_corpus_are_plain() -> None:
    folder = Path(__file__).parent / "oracle"
    parsers = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["parsers"]
    assert parsers["vllm-0.32-stream"] == "vllm 0.32.0 stream"
