"""vLLM's readings of XML calls, against what the real releases answered.

`vllm_xml/turns.jsonl` holds outputs, most of them damaged, and for each the answers of vLLM 0.24.0
and 0.32.0, whole and streamed one token a delta.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from outcomebox.interpret import Turn, interpret
from outcomebox.interpret.live.pieces import PieceTokenizer, split
from outcomebox.interpret.turn import Tool

_FOLDER = Path(__file__).parent / "vllm_xml"
TURNS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (_FOLDER / "turns.jsonl").read_text(encoding="utf-8").split("\n")
    if line
]
TOOLS: list[Tool] = json.loads((_FOLDER / "tools.json").read_text(encoding="utf-8"))
PROFILES = ("vllm-0.24", "vllm-0.24-stream", "vllm-0.32", "vllm-0.32-stream")
STREAMS = ("vllm-0.24-stream", "vllm-0.32-stream")

CALL = "<tool_call>\n<function=act>\n<parameter=s>\nx\n</parameter>\n</function>\n</tool_call>"


def _read(row: dict[str, Any], profile: str, *, ids: bool = True) -> Turn:
    tokenizer = PieceTokenizer()
    numbers = [tokenizer.id_of(piece) for piece in row["pieces"]]
    return interpret(
        numbers if ids else "".join(row["pieces"]),
        tokenizer=tokenizer,
        tools=TOOLS if row["offers"] else [],
        profile=profile,
        prompt_state=row["prompt_state"],
        finish_reason=row["finish_reason"],
    )


def _answer(turn: Turn) -> dict[str, Any]:
    return {
        "reasoning": turn.reasoning,
        "content": turn.content,
        "calls": [[call.name, call.wire] for call in turn.tool_calls],
    }


def test_turns_are_recorded() -> None:
    assert len(TURNS) >= 90
    assert len({row["name"] for row in TURNS}) == len(TURNS)
    assert all(set(row["answers"]) == set(PROFILES) for row in TURNS)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("row", TURNS, ids=[row["name"] for row in TURNS])
def test_answers_are_those_of_the_release(row: dict[str, Any], profile: str) -> None:
    wanted = dict(row["answers"][profile])
    wanted.pop("error", None)  # of a request that failed a client has nothing else
    assert _answer(_read(row, profile)) == wanted


@pytest.mark.parametrize("profile", PROFILES)
def test_text_without_tokens_is_cut_into_words(profile: str) -> None:
    rows = [row for row in TURNS if row["pieces"] == split("".join(row["pieces"]))]
    assert len(rows) >= 70
    for row in rows:
        assert _read(row, profile, ids=False) == _read(row, profile), row["name"]


@pytest.mark.parametrize("profile", PROFILES)
def test_releases_differ_from_each_other_where_recorded(profile: str) -> None:
    others = [other for other in PROFILES if other != profile]
    for other in others:
        assert any(row["answers"][profile] != row["answers"][other] for row in TURNS)


@pytest.mark.parametrize("profile", PROFILES)
def test_spans_are_the_calls_markup(profile: str) -> None:
    bare = "<function=g>\n</function>"
    output = f"Look.</think>\n\n{CALL}\n{bare}\n"
    turn = interpret(output, tools=TOOLS, profile=profile, prompt_state="think_open")
    assert [output[slice(*call.span)] for call in turn.tool_calls] == [CALL, bare]


@pytest.mark.parametrize("profile", PROFILES)
def test_an_open_call_spans_the_rest(profile: str) -> None:
    output = "Hi " + CALL[:-30]
    turn = interpret(output, tools=TOOLS, profile=profile, finish_reason="length")
    assert [call.span for call in turn.tool_calls] == [(3, len(output))]


@pytest.mark.parametrize("profile", ["vllm-0.24", "vllm-0.32"])
def test_spans_look_through_what_was_taken_out(profile: str) -> None:
    output = "a</think>b<tool_</think>call>" + CALL.removeprefix("<tool_call>")
    turn = interpret(output, tools=TOOLS, profile=profile, prompt_state="think_open")
    assert [output[slice(*call.span)] for call in turn.tool_calls] == [output[10:]]


@pytest.mark.parametrize("profile", PROFILES)
def test_status_says_what_a_caller_can_do(profile: str) -> None:
    known, unknown = CALL, CALL.replace("act", "other")
    calls = interpret(known + unknown, tools=TOOLS, profile=profile).tool_calls
    assert [(call.status, call.executable) for call in calls] == [
        ("ok", True),
        ("unknown_tool", True),
    ]
    assert calls[0].arguments == {"s": "x"}
    assert json.loads(calls[0].arguments_json()) == calls[0].arguments
    assert "other" in calls[1].message


@pytest.mark.parametrize("profile", STREAMS)
def test_arguments_that_are_no_json_are_malformed(profile: str) -> None:
    output = CALL.replace("\n</parameter>", "")
    (call,) = interpret(output, tools=TOOLS, profile=profile).tool_calls
    assert (call.wire, call.arguments) == ('{"s": "x', {})
    assert (call.status, call.executable) == ("malformed", False)


@pytest.mark.parametrize("profile", PROFILES)
def test_without_known_tools_values_stay_text(profile: str) -> None:
    output = CALL.replace("\nx\n", "\n5\n")
    (call,) = interpret(output, profile=profile).tool_calls
    assert (call.arguments, call.status) == ({"s": "5"}, "ok")


@pytest.mark.parametrize("profile", PROFILES)
def test_attempts_without_a_name_are_noted(profile: str) -> None:
    turn = interpret("a<tool_call></tool_call>", tools=TOOLS, profile=profile)
    assert turn.tool_calls == ()
    assert [(note.code, note.span) for note in turn.diagnostics] == [("empty_call", (1, 24))]


@pytest.mark.parametrize("profile", STREAMS)
def test_bytes_of_a_character_do_not_hide_a_marker(profile: str) -> None:
    class Bytes(PieceTokenizer):
        """Has a token for a byte that no character ends with."""

        def decode(self, token_ids: Any, skip_special_tokens: bool = False) -> str:
            return super().decode(token_ids, skip_special_tokens).replace("?", "\ufffd")

    tokenizer = Bytes()
    ids = [tokenizer.id_of(piece) for piece in ("a", "?", "</think>", "b")]
    turn = interpret(ids, tokenizer=tokenizer, profile=profile, prompt_state="think_open")
    assert (turn.reasoning, turn.content) == ("a\ufffd", "b")


@pytest.mark.parametrize("profile", STREAMS)
def test_a_tokenizer_without_markers_is_read_by_its_text(profile: str) -> None:
    class Plain(PieceTokenizer):
        """Has no token for a marker."""

        def get_vocab(self) -> dict[str, int]:
            return {piece: n for piece, n in super().get_vocab().items() if "think" not in piece}

    tokenizer = Plain()
    ids = tokenizer.encode("a</think>" + CALL)
    turn = interpret(
        ids, tokenizer=tokenizer, tools=TOOLS, profile=profile, prompt_state="think_open"
    )
    assert (turn.reasoning, [call.wire for call in turn.tool_calls]) == ("a", ['{"s": "x"}'])
