"""Outputs that broke somebody's parser in public, each with its right reading."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from outcomebox.interpret import Interpreter, Turn, interpret

_FILE = Path(__file__).parent / "cases" / "interpret.jsonl"
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in _FILE.read_text(encoding="utf-8").split("\n") if line
]


def _folded(text: str | None) -> str | None:
    """Fold white space, which is how the cases are to be compared."""
    return re.sub(r"\s+", " ", text or "").strip() or None


def _pieces(case: dict[str, Any]) -> list[str]:
    """Split as the case wants: its opener alone and the rest, or character by character."""
    text: str = case["input"]
    if case.get("chunks") == "opener|rest":
        cut = text.index("\n") + 1
        return [text[:cut], text[cut:]]
    return list(text)


def _check(case: dict[str, Any], turn: Turn) -> None:
    expected = case["expected"]
    assert _folded(turn.reasoning) == _folded(expected["reasoning"])
    assert _folded(turn.content) == _folded(expected["content"])
    run = [
        {"name": each.name, "arguments": each.arguments}
        for each in turn.tool_calls
        if each.executable
    ]
    assert run == expected["tool_calls"]
    truncated = [each.name for each in turn.tool_calls if each.status == "truncated"]
    assert truncated == ([expected["truncated_call"]] if "truncated_call" in expected else [])
    malformed = [each for each in turn.tool_calls if each.status == "malformed"]
    assert len(malformed) == expected.get("malformed", 0)


def _format(case: dict[str, Any]) -> str:
    """Return the format to read a case with; those about reasoning alone leave it open."""
    return "hermes" if case["format"] == "hermes" else "qwen3_xml"


def test_the_file_holds_every_case_about_reading() -> None:
    counts = Counter(case["format"] for case in CASES)
    assert counts == {"qwen3_xml": 26, "hermes": 12, "reasoning": 7}
    assert len({case["id"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    prompt_state = case.get("prompt_state", "think_closed")
    finish = case.get("finish", "stop")
    tools = case.get("tools")
    form = _format(case)
    turn = interpret(
        case["input"],
        tools=tools,
        format=form,
        prompt_state=prompt_state,
        finish_reason=finish,
    )
    _check(case, turn)

    streamed = Interpreter(tools=tools, format=form, prompt_state=prompt_state)
    for piece in _pieces(case):
        streamed.feed(piece)
    assert streamed.finish(finish) == turn


STATUSES = {
    "her-005": ["coerced"],
    "her-019": ["truncated"],
    "her-022": ["malformed"],
    "xml-001": ["repaired"],
    "xml-007": ["coerced"],
    "xml-010": ["coercion_failed"],
    "xml-011": ["repaired"],
    "xml-013": ["coercion_failed"],
    "xml-016": ["repaired"],
    "xml-017": ["coercion_failed"],
    "xml-030": ["truncated"],
    "xml-033": ["repaired"],
    "xml-037": ["coercion_failed"],
}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_status_of_case(case: dict[str, Any]) -> None:
    turn = interpret(
        case["input"],
        tools=case.get("tools"),
        format=_format(case),
        prompt_state=case.get("prompt_state", "think_closed"),
        finish_reason=case.get("finish", "stop"),
    )
    ordinary = ["ok"] * len(case["expected"]["tool_calls"])
    assert [each.status for each in turn.tool_calls] == STATUSES.get(case["id"], ordinary)
