"""Where the parsers disagree: one row a disagreement, with what each real release answers.

`differences/rows.jsonl` holds the answers as the releases gave them; the profiles must give the
same, and `strict` what is right.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from outcomebox.interpret import Turn, interpret

_FILE = Path(__file__).parent / "differences" / "rows.jsonl"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in _FILE.read_text(encoding="utf-8").split("\n") if line
]
PROFILES = (
    "vllm-0.32",
    "vllm-0.32-stream",
    "vllm-0.24",
    "vllm-0.24-stream",
    "sglang-0.5",
    "sglang-0.5-stream",
    "verl-0.9",
)

# What is right: status of each attempt, and the arguments of those that may be executed.
STRICT: dict[str, list[tuple[str, dict[str, Any] | None]]] = {
    "indented string": [("ok", {"x": "  x  "})],
    "leading zeros, string or integer": [("ok", {"x": "00501"})],
    "null for a string": [("ok", {"x": "null"})],
    "1 for a boolean": [("coerced", {"x": True})],
    "yes for a boolean": [("coercion_failed", {"x": "yes"})],
    "True for a boolean": [("repaired", {"x": True})],
    "64-bit integer for a number": [("ok", {"x": 9223372036854775807})],
    "number beyond a double": [("coercion_failed", {"x": "1e999"})],
    "array": [("ok", {"x": [1, "2", None]})],
    "Python dict for an object": [("repaired", {"x": {"x": 1}})],
    "integer behind $ref": [("ok", {"x": 7})],
    "integer const": [("ok", {"x": 7})],
    "closing parameter tag in a value": [("ok", {"x": "a </parameter> b"})],
    "closing function tag in a value": [("ok", {"x": "see </function> x"})],
    "function tag in a value": [("ok", {"x": "see <function=g>"})],
    "parameter never closed": [("repaired", {"x": "a"})],
    "next parameter without closer": [("repaired", {"x": "a", "y": "b"})],
    "call cut by the token limit": [("truncated", None)],
    "no wrapper": [("repaired", {"x": "a"})],
    "text after a call": [("ok", {"x": "a"})],
    "tag named in a sentence": [],
    "draft call in thinking": [],
    "several thinking blocks": [],
    "hermes: closing tag in a JSON string": [("ok", {"x": "see </tool_call> there"})],
    "hermes: no newlines": [("ok", {"x": "1"})],
    "hermes: one bad call of two": [("malformed", None), ("ok", {"x": "1"})],
    "hermes: unknown tool": [("unknown_tool", {"x": "1"})],
}


def _read(row: dict[str, Any], profile: str) -> Turn:
    return interpret(
        row["text"],
        tools=row["tools"],
        format=row["format"],
        profile=profile,
        prompt_state=row["prompt_state"],
        finish_reason=row["finish_reason"],
    )


def test_every_disagreement_has_its_row() -> None:
    assert len(ROWS) == 27
    assert {row["name"] for row in ROWS} == set(STRICT)
    for row in ROWS:
        # A row in which all agree shows nothing.
        seen = [_answer(row, profile) for profile in PROFILES]
        turn = _read(row, "strict")
        ours = (turn.reasoning, turn.content, [[c.name, c.arguments] for c in turn.tool_calls])
        assert any(each != ours for each in seen), row["name"]


def _answer(row: dict[str, Any], profile: str) -> tuple[Any, ...]:
    answer = row["answers"][profile]
    return answer["reasoning"], answer["content"], answer["calls"]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_the_profile_answers_as_the_release(row: dict[str, Any], profile: str) -> None:
    turn = _read(row, profile)
    calls = [[call.name, call.wire] for call in turn.tool_calls]
    assert (turn.reasoning, turn.content, calls) == _answer(row, profile)


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_strict_is_right(row: dict[str, Any]) -> None:
    turn = _read(row, "strict")
    found = [(each.status, each.arguments if each.executable else None) for each in turn.tool_calls]
    assert found == STRICT[row["name"]]
    assert [each.name for each in turn.tool_calls if not each.name] in ([], [""])
