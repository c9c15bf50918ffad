"""Live parsers as readers of the parity replay, and tokenizers from files."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from outcomebox.interpret.live.base import Answer, Recorded
from outcomebox.interpret.replay import ReplayError, compare, reader_named
from outcomebox.interpret.replay.tokenizers import load_tokenizer
from replay_turns import TOOLS, turn, xml

LOOK = xml("look", order="7")


class Parser:
    """Answers with what it was made with, and keeps what it was asked."""

    name = "fake 1.2"

    def __init__(self, answer: Answer | Exception) -> None:
        self.answer = answer
        self.asked: list[Recorded] = []

    def parse(self, output: Recorded) -> Answer:
        self.asked.append(output)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def give(monkeypatch: pytest.MonkeyPatch, answer: Answer | Exception) -> tuple[Parser, list[Any]]:
    parser, made = Parser(answer), []

    def make(name: str, **options: Any) -> Parser:
        made.append((name, options))
        return parser

    monkeypatch.setattr("outcomebox.interpret.replay.livereaders.live_parser", make)
    return parser, made


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("live:fake", ("fake", {"stream": False, "where": ""})),
        ("live:fake-stream", ("fake", {"stream": True, "where": ""})),
        ("live:openai=server/v1?a=b", ("openai", {"stream": False, "where": "server/v1?a=b"})),
    ],
)
def test_a_name_says_which_parser_in_which_mode_and_where(
    monkeypatch: pytest.MonkeyPatch, name: str, asked: Any
) -> None:
    _, made = give(monkeypatch, Answer(None, None))
    assert reader_named(name).name == "live:fake 1.2"
    assert made == [asked]


def test_its_answer_is_compared_like_a_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    parser, _ = give(monkeypatch, Answer(None, "", (("look", '{"order": "7"}'), ("look", "{"))))
    each = turn(LOOK, prompt_state="think_open", finish_reason="length")
    read = reader_named("live:fake").read(each)
    assert [(call.executable, call.status) for call in read.calls] == [
        (True, "ok"),
        (False, "malformed"),
    ]
    (asked,) = parser.asked
    assert (asked.text, asked.prompt_state, asked.finish_reason) == (LOOK, "think_open", "length")
    assert asked.tools == TOOLS
    assert "".join(asked.pieces) == LOOK


def test_an_exception_of_the_parser_is_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, Answer(None, None, error="KeyError: 'type'"))
    each = turn(LOOK)
    read = reader_named("live:fake").read(each)
    (finding,) = compare(each, reader_named("strict").read(each), read)
    assert (finding.cause, finding.by) == ("reader_failed", "right")
    assert finding.right == "KeyError: 'type'"


def test_a_format_that_it_does_not_read_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, ValueError("reads no format glm"))
    with pytest.raises(ReplayError, match="reads no format glm"):
        reader_named("live:fake").read(turn(LOOK))


def test_a_profile_that_does_not_read_a_turns_format_is_a_mistake() -> None:
    with pytest.raises(ReplayError, match="has no reading of format 'mistral'"):
        reader_named("verl-0.9").read(turn(LOOK, form="mistral"))


def test_a_parser_that_is_not_installed_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(name: str, **options: Any) -> Parser:
        raise ImportError(f"install {name}")

    monkeypatch.setattr("outcomebox.interpret.replay.livereaders.live_parser", make)
    with pytest.raises(ReplayError, match="install verl"):
        reader_named("live:verl")


class Encoding:
    ids = (1, 2)


class Added:
    def __init__(self, content: str, *, special: bool) -> None:
        self.content, self.special = content, special


class Library:
    """What the tokenizers library offers, as far as it is used."""

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def from_file(cls, path: str) -> Library:
        text = Path(path).read_text()
        if not text.startswith("{"):
            raise Exception("expected an object")  # noqa: TRY002 - as the library does
        return cls(text)

    def get_vocab(self, *, with_added_tokens: bool) -> dict[str, int]:
        return {"<think>": 1} if with_added_tokens else {}

    def get_added_tokens_decoder(self) -> dict[int, Added]:
        return {1: Added("<think>", special=False), 2: Added("<|im_end|>", special=True)}

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        return f"{ids}{skip_special_tokens}"

    def encode(self, text: str, *, add_special_tokens: bool) -> Encoding:
        return Encoding()


def test_a_tokenizer_is_read_from_its_file_or_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ModuleType("tokenizers")
    library.Tokenizer = Library  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tokenizers", library)
    (tmp_path / "tokenizer.json").write_text("{}")
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        tokenizer: Any = load_tokenizer(str(path))
        assert tokenizer.get_vocab() == {"<think>": 1}
        assert tokenizer.decode([1]) == "[1]False"
        assert tokenizer.encode("a") == (1, 2)
        assert (tokenizer.all_special_ids, tokenizer.all_special_tokens) == ([2], ["<|im_end|>"])
    (tmp_path / "other.json").write_text("nothing")
    with pytest.raises(ReplayError, match=r"is no tokenizer\.json"):
        load_tokenizer(str(tmp_path / "other.json"))
    with pytest.raises(ReplayError, match="there is no such file"):
        load_tokenizer(str(tmp_path / "missing.json"))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ReplayError, match="pip install tokenizers"):
        load_tokenizer(str(tmp_path))
