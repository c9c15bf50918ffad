"""Writing a turn: what is written reads back, and what cannot be carried is refused."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from interpret_outputs import (
    JSON_VALUES,
    MARKUP,
    PLAIN,
    PROMPT_STATES,
    TOOLS,
    call,
    tool_for,
    visible,
)
from outcomebox.interpret import PromptState, interpret, render

NAMES = st.text(
    alphabet=st.characters(exclude_characters="<>\n", exclude_categories=["Cs"]),
    min_size=1,
    max_size=20,
)
Calls = list[tuple[str, dict[str, Any]]]


def _carried(text: str) -> bool:
    """Say whether plain text is carried: no end-of-turn token, which plain text cannot hold."""
    return "<" not in text


@given(
    visible(PLAIN.filter(_carried)),
    visible(PLAIN.filter(_carried)),
    st.dictionaries(NAMES, st.dictionaries(NAMES, JSON_VALUES, max_size=3), max_size=3),
    PROMPT_STATES,
)
@settings(max_examples=200, deadline=None)
def test_what_is_written_reads_back(
    reasoning: str | None,
    content: str | None,
    calls: dict[str, dict[str, Any]],
    prompt_state: PromptState,
) -> None:
    tools = [tool_for(name, arguments) for name, arguments in calls.items()]
    written = list(calls.items())
    output = render(
        reasoning=reasoning,
        content=content,
        tool_calls=written,
        prompt_state=prompt_state,
        tools=tools,
    )
    turn = interpret(output, tools=tools, prompt_state=prompt_state)
    assert (turn.reasoning, turn.content, turn.diagnostics) == (reasoning, content, ())
    assert [(each.name, each.arguments) for each in turn.tool_calls] == written
    assert repr([each.arguments for each in turn.tool_calls]) == repr([a for _, a in written])
    assert {each.status for each in turn.tool_calls} <= {"ok"}


@given(
    st.none() | MARKUP,
    st.none() | MARKUP,
    st.lists(st.tuples(st.just("edit"), st.dictionaries(st.just("code"), MARKUP)), max_size=2),
    PROMPT_STATES,
)
@settings(max_examples=200, deadline=None)
def test_markup_in_a_part_reads_back_or_is_refused(
    reasoning: str | None, content: str | None, calls: Calls, prompt_state: PromptState
) -> None:
    try:
        output = render(
            reasoning=reasoning, content=content, tool_calls=calls, prompt_state=prompt_state
        )
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        event("refused")
        assert "reads back as" in refusal or "read back as" in refusal
        return
    for tools in (TOOLS, None):
        turn = interpret(output, tools=tools, prompt_state=prompt_state)
        assert (turn.reasoning, turn.content) == (reasoning or None, content or None)
        assert [(each.name, each.arguments) for each in turn.tool_calls] == calls
        assert all(each.executable for each in turn.tool_calls)


def test_the_form_is_the_template_s() -> None:
    output = render(
        reasoning="plan\n",
        content=None,
        tool_calls=[("edit", {"code": "a\nb", "n": 1, "opts": None}), ("ping", {})],
        prompt_state="think_open",
    )
    assert output == (
        "plan\n</think>\n\n"
        "<tool_call>\n<function=edit>\n"
        "<parameter=code>\na\nb\n</parameter>\n"
        "<parameter=n>\n1\n</parameter>\n"
        "<parameter=opts>\nnull\n</parameter>\n"
        "</function>\n</tool_call>\n"
        "<tool_call>\n<function=ping>\n</function>\n</tool_call>"
    )


def test_reasoning_is_opened_unless_the_prompt_did() -> None:
    def written(prompt_state: PromptState, reasoning: str | None = "r") -> str:
        return render(reasoning=reasoning, content="c", tool_calls=[], prompt_state=prompt_state)

    assert written("assistant_start") == "<think>r</think>c"
    assert written("think_closed") == "<think>r</think>c"
    assert written("think_open") == "r</think>c"
    assert written("think_open", None) == "</think>c"
    assert written("think_closed", "") == "c"


DEEP: list[Any] = []
for _ in range(60):
    DEEP = [DEEP]

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("a blank part", {"content": " \n"}, "content reads back as None"),
    ("blank reasoning", {"reasoning": "\n"}, "reasoning reads back as None"),
    ("an end in reasoning", {"reasoning": "a</think>b"}, "reasoning reads back as 'a'"),
    ("a call in content", {"content": call("ping")}, "content reads back as None"),
    ("a bare call", {"content": "\n<function=ping>\n</function>"}, "content reads back as None"),
    ("an end of turn", {"content": "bye<|im_end|>"}, "content reads back as 'bye'"),
    (
        "the end of a call",
        {"tool_calls": [("f", {"a": "</parameter></function></tool_call> x"})]},
        "call 0 ('f') reads back as ambiguous",
    ),
    ("a name", {"tool_calls": [("a>b", {})]}, "call 0 ('a>b') reads back as"),
    ("no name", {"tool_calls": [("", {})]}, "call 0 ('') reads back as malformed"),
    ("a long name", {"tool_calls": [("n" * 129, {})]}, "reads back as malformed"),
    ("a parameter's name", {"tool_calls": [("f", {"a\nb": "x"})]}, "call 0 ('f') reads back"),
    (
        "NaN",
        {"tool_calls": [("f", {"a": float("nan")})]},
        "call 'f', parameter 'a': this float cannot",
    ),
    ("infinity", {"tool_calls": [("f", {"a": [float("inf")]})]}, "cannot be written as JSON"),
    ("bytes", {"tool_calls": [("f", {"a": b"x"})]}, "cannot be written as JSON"),
    ("a tuple", {"tool_calls": [("f", {"a": (1, 2)})]}, "reads back as another value"),
    (
        "a key that is no string",
        {"tool_calls": [("f", {"a": {1: 2}})]},
        "reads back as another value",
    ),
    ("a huge integer", {"tool_calls": [("f", {"a": 10**5000})]}, "cannot be written as JSON"),
    ("a deep value", {"tool_calls": [("f", {"a": DEEP})]}, "cannot be written as JSON"),
]


@pytest.mark.parametrize(("parts", "says"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_cannot_be_carried_is_refused(parts: Mapping[str, Any], says: str) -> None:
    arguments: dict[str, Any] = {"reasoning": None, "content": None, "tool_calls": [], **parts}
    with pytest.raises(ValueError, match=re.escape(says)):
        render(**arguments)


def test_a_value_that_its_schema_types_otherwise_is_refused_where_the_tools_are_given() -> None:
    either = {"name": "f", "parameters": {"properties": {"a": {"type": ["string", "integer"]}}}}
    parts: dict[str, Any] = {"reasoning": None, "content": None, "tool_calls": [("f", {"a": "5"})]}
    assert "5" in render(**parts)
    with pytest.raises(ValueError, match="'5' reads back as 5 under the tool's schema"):
        render(**parts, tools=[either])
