"""Recorded turns out of every kind of row, and words about rows that cannot be used."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from outcomebox.interpret.replay import RecordedTurn, ReplayError, Source, read_recorded
from outcomebox.interpret.replay.offers import openai_tool, plain_tool
from replay_turns import TOOLS, xml

CALL = xml("look", order="7")


def write(folder: Path, *rows: Any) -> Path:
    file = folder / "rows.jsonl"
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows]
    file.write_bytes(b"".join(lines))
    return file


def read(file: Path, source: Source | None = None) -> list[RecordedTurn]:
    return list(read_recorded(file, source or Source()))


def episode(**more: Any) -> dict[str, Any]:
    return {
        "uid": "desk/one",
        "domain": "desk",
        "finish_reason": "token_limit",
        "versions": {"profile": "strict", "format": "qwen3_xml"},
        "messages": [
            {"role": "system", "content": "Help."},
            {"role": "user", "content": "Where is it?"},
            {
                "role": "assistant",
                "content": None,
                "raw": CALL,
                "prompt_state": "assistant_start",
                "finish_reason": "length",
            },
            {"role": "tool", "content": "{}"},
            {"role": "assistant", "content": "Parsed by an endpoint."},
        ],
        **more,
    }


def test_an_episode_gives_each_assistant_turn_that_has_its_raw_output(tmp_path: Path) -> None:
    source = Source(tools={"desk": TOOLS})
    file = write(tmp_path, episode())
    (turn,) = read(file, source)
    assert (turn.text, turn.prompt_state, turn.finish_reason) == (CALL, "assistant_start", "length")
    assert turn.toolbox.offered("look")
    assert turn.where == f"{file}:1:messages[2]"
    assert source.notes() == ["1 turns hold no raw output (an endpoint had parsed them): left out"]


def test_an_episodes_own_finish_reason_is_not_its_turns(tmp_path: Path) -> None:
    row = episode(tools=TOOLS)
    del row["messages"][2]["finish_reason"]
    assert [turn.finish_reason for turn in read(write(tmp_path, row))] == ["stop"]


def test_rows_as_thinkingbox_writes_them(tmp_path: Path) -> None:
    row = {
        "uid": "a.py:one",
        "messages": [{"T": "Text", "role": "assistant", "content": "Read by the harness."}],
        "raw_messages": [
            {"role": "user", "content": "Where is it?"},
            {"role": "assistant", "content": CALL},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]},
        ],
        "tools": [{"name": "look", "inputSchema": {"properties": {"order": {"type": "string"}}}}],
    }
    source = Source(prompt_state="think_open")
    (turn,) = read(write(tmp_path, row), source)
    assert turn.text == CALL
    assert turn.place == "raw_messages[1]"
    assert turn.prompt_state == "think_open"
    assert turn.toolbox.declared("look", "order") is True
    assert source.without_output == 1


def test_plain_rows_and_fields_of_ones_own(tmp_path: Path) -> None:
    rows = [
        {"output": "a", "prompt_state": "think_open", "finish": "length", "tools": TOOLS},
        {"text": "b", "format": "hermes"},
        {"answer": {"body": "c"}, "messages": [{"role": "assistant", "content": "before"}]},
    ]
    source = Source(fields={"output": "answer.body"})
    first, second, third = read(write(tmp_path, *rows), source)
    assert (first.text, first.prompt_state, first.finish_reason) == ("a", "think_open", "length")
    assert (second.text, second.format, second.tools) == ("b", "hermes", None)
    assert third.text == "c"
    assert source.without_tools == 2
    assert source.assumed_state == 2


def test_lines_end_at_lf_only_and_a_cut_last_line_is_left_out(tmp_path: Path) -> None:
    source = Source()
    separators = json.dumps({"output": "a\u2028b\u0085c"}, ensure_ascii=False).encode() + b"\n"
    file = write(tmp_path, separators, b"\n", {"output": "d"}, b'{"output": "e')
    assert [turn.text for turn in read(file, source)] == ["a\u2028b\u0085c", "d"]
    assert source.torn == 1
    assert source.bytes_read == file.stat().st_size


class Letters:
    """A tokenizer whose ids are code points."""

    def get_vocab(self) -> dict[str, int]:
        return {}

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(map(chr, token_ids))


def test_ids_are_read_where_there_is_a_tokenizer(tmp_path: Path) -> None:
    rows = [{"ids": [72, 105]}, {"output": [72, 111]}, {"output": "Hi", "ids": [72, 105]}]
    source = Source(tokenizer=Letters())
    turns = read(write(tmp_path, *rows), source)
    assert [(turn.text, turn.ids) for turn in turns] == [
        ("Hi", (72, 105)),
        ("Ho", (72, 111)),
        ("Hi", (72, 105)),
    ]
    plain = Source()
    (turn,) = read(write(tmp_path, rows[2]), plain)
    assert (turn.text, turn.ids) == ("Hi", None)
    assert "were not used" in plain.notes()[-1]


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        ({"ids": [1]}, "ids", "give --tokenizer"),
        ({"output": "a", "ids": [1, "b"]}, "ids", "list of token ids"),
        ({"output": {"a": 1}}, "output", "raw text"),
        ({"output": "a", "prompt_state": "open"}, "prompt_state", "assistant_start, think_open"),
        ({"output": "a", "finish_reason": 3}, "finish_reason", "stop or length"),
        ({"output": "a", "format": 3}, "format", "name of a format"),
        ({"output": "a", "format": "nope"}, "format", "format 'nope' is unknown"),
        ({"output": "a", "tools": "look"}, "tools", "list of OpenAI tool objects"),
        ({"output": "a", "tools": [{"type": "function"}]}, "tools", "tools[0]"),
        ({"output": "a", "tools": [TOOLS[0], TOOLS[0]]}, "tools", "offered twice"),
    ],
)
def test_what_cannot_be_used_is_told_with_file_line_and_field(
    tmp_path: Path, row: dict[str, Any], field: str, words: str
) -> None:
    file = write(tmp_path, {"output": "good"}, row)
    with pytest.raises(ReplayError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}:2: {field}: ")
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.field) == (2, field)


def test_a_field_of_a_message_is_told_with_its_place(tmp_path: Path) -> None:
    row = episode()
    row["messages"][2]["prompt_state"] = "open"
    with pytest.raises(ReplayError) as caught:
        read(write(tmp_path, row))
    assert caught.value.field == "messages[2].prompt_state"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([b"{\n"], "is not JSON"),
        ([b"[1]\n"], "is no object"),
        ([b'{"output": NaN}\n'], "NaN"),
        ([b'{"output": "\xff"}\n'], "is not JSON"),
        ([b"[" * 100_000 + b"\n"], "is not JSON"),
    ],
)
def test_lines_that_are_no_rows(tmp_path: Path, lines: list[bytes], words: str) -> None:
    with pytest.raises(ReplayError, match=r"rows\.jsonl:1") as caught:
        read(write(tmp_path, *lines))
    assert words in str(caught.value)


def test_a_checksum_is_held_against_its_line(tmp_path: Path) -> None:
    body = b'{"output":"a"}'
    sealed = body[:-1] + b',"checksum":"%08x"}\n' % zlib.crc32(body)
    assert [turn.text for turn in read(write(tmp_path, sealed))] == ["a"]
    with pytest.raises(ReplayError, match="damaged or edited"):
        read(write(tmp_path, sealed.replace(b'"a"', b'"b"')))


def test_tools_by_domain_need_the_domain(tmp_path: Path) -> None:
    source = Source(tools={"desk": TOOLS})
    with pytest.raises(ReplayError, match="domain: is missing"):
        read(write(tmp_path, {"output": "a"}), source)
    with pytest.raises(ReplayError, match="it has desk"):
        read(write(tmp_path, {"output": "a", "domain": "travel"}), source)


def test_a_file_that_is_not_there_and_a_field_that_means_nothing(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"nothing\.jsonl: cannot be read"):
        read(tmp_path / "nothing.jsonl")
    with pytest.raises(ReplayError, match="no such field"):
        Source(fields={"outptu": "a"})


def test_plain_schemas_have_one_type_for_each_parameter() -> None:
    tool = {
        "name": "f",
        "description": "Does.",
        "inputSchema": {
            "$defs": {"Id": {"type": "integer", "minimum": 1}},
            "properties": {
                "a": {"anyOf": [{"type": "null"}, {"type": "string"}], "description": "A."},
                "b": {"$ref": "#/$defs/Id"},
                "c": {"type": ["null", "number"]},
                "d": {},
                "e": {"type": "array", "items": {"type": "integer"}},
                "g": {"$ref": "#/$defs/None"},
            },
            "required": ["b"],
        },
    }
    plain = plain_tool(openai_tool(tool))
    assert plain["type"] == "function"
    assert plain["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "A."},
            "b": {"type": "integer"},
            "c": {"type": "number"},
            "d": {"type": "string"},
            "e": {"type": "array", "items": {"type": "integer"}},
            "g": {"type": "string"},
        },
        "required": ["b"],
    }
    assert openai_tool(TOOLS[0]) is TOOLS[0]
