"""Writing a turn: what is written reads back, and what cannot be carried is refused."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from interpret_outputs import (
    FORMATS,
    JSON_VALUES,
    PLAIN,
    PROMPT_STATES,
    TOOLS,
    call,
    markup,
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


PLAIN_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,19}", fullmatch=True)
"""Names that every format carries: those that servers allow."""


@pytest.mark.parametrize("form", FORMATS)
@given(
    visible(PLAIN),
    visible(PLAIN),
    st.data(),
    PROMPT_STATES,
)
@settings(max_examples=100, deadline=None)
def test_what_is_written_reads_back(
    form: str,
    reasoning: str | None,
    content: str | None,
    data: st.DataObject,
    prompt_state: PromptState,
) -> None:
    names = NAMES if form == "qwen3_xml" else PLAIN_NAMES
    keys = PLAIN_NAMES if form == "glm" else NAMES
    values = st.dictionaries(keys, JSON_VALUES, max_size=3)
    calls = data.draw(st.dictionaries(names, values, max_size=3))
    if form == "llama3_json":
        reasoning = None
    tools = [tool_for(name, arguments) for name, arguments in calls.items()]
    written = list(calls.items())
    output = render(
        reasoning=reasoning,
        content=content,
        tool_calls=written,
        format=form,
        prompt_state=prompt_state,
        tools=tools,
    )
    turn = interpret(output, tools=tools, format=form, prompt_state=prompt_state)
    assert (turn.reasoning, turn.content, turn.diagnostics) == (reasoning, content, ())
    assert [(each.name, each.arguments) for each in turn.tool_calls] == written
    assert repr([each.arguments for each in turn.tool_calls]) == repr([a for _, a in written])
    assert {each.status for each in turn.tool_calls} <= {"ok"}


@pytest.mark.parametrize("form", FORMATS)
@given(st.data(), PROMPT_STATES)
@settings(max_examples=100, deadline=None)
def test_markup_in_a_part_reads_back_or_is_refused(
    form: str, data: st.DataObject, prompt_state: PromptState
) -> None:
    text = markup(form)
    values = st.dictionaries(st.just("code"), text)
    reasoning, content = data.draw(st.none() | text), data.draw(st.none() | text)
    calls = data.draw(st.lists(st.tuples(st.just("edit"), values), max_size=2))
    refusal = ""
    try:
        output = render(
            reasoning=reasoning,
            content=content,
            tool_calls=calls,
            format=form,
            prompt_state=prompt_state,
        )
    except ValueError as error:
        refusal = str(error)
    if refusal:
        event("refused")
        assert re.search(r"reads? back as|cannot be written: format 'llama3_json'", refusal)
        return
    for tools in (TOOLS, None):
        turn = interpret(output, tools=tools, format=form, prompt_state=prompt_state)
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


_CALLS: Calls = [("edit", {"code": "a", "n": 1}), ("ping", {})]
TEMPLATES = {
    "hermes": (
        '<think>r</think>c<tool_call>\n{"name": "edit", "arguments": {"code": "a", "n": 1}}\n'
        '</tool_call>\n<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
    ),
    "deepseek_r1": (
        "<think>r</think>c<\uff5ctool\u2581calls\u2581begin\uff5c>"
        "<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>edit\n```json\n"
        '{"code": "a", "n": 1}\n```<\uff5ctool\u2581call\u2581end\uff5c>\n'
        "<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>ping\n```json\n"
        "{}\n```<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>"
    ),
    "glm": (
        "<think>r</think>c<tool_call>edit\n<arg_key>code</arg_key>\n<arg_value>a</arg_value>\n"
        "<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</tool_call>\n<tool_call>ping\n</tool_call>"
    ),
    "kimi_k2": (
        "<think>r</think>c<|tool_calls_section_begin|><|tool_call_begin|>functions.edit:0"
        '<|tool_call_argument_begin|>{"code": "a", "n": 1}<|tool_call_end|><|tool_call_begin|>'
        "functions.ping:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "mistral": (
        '[THINK]r[/THINK]c[TOOL_CALLS]edit[ARGS]{"code": "a", "n": 1}[TOOL_CALLS]ping[ARGS]{}'
    ),
}


@pytest.mark.parametrize(("form", "output"), TEMPLATES.items(), ids=TEMPLATES.keys())
def test_each_form_is_its_template_s(form: str, output: str) -> None:
    assert render(reasoning="r", content="c", tool_calls=_CALLS, format=form) == output


def test_llama_calls_stand_bare_or_behind_text() -> None:
    calls = (
        '{"name": "edit", "parameters": {"code": "a", "n": 1}}; {"name": "ping", "parameters": {}}'
    )
    parts: dict[str, Any] = {"reasoning": None, "tool_calls": _CALLS, "format": "llama3_json"}
    assert render(content=None, **parts) == calls
    assert render(content="c", **parts) == f"c<|python_tag|>{calls}"
    with pytest.raises(ValueError, match="format 'llama3_json' has no marks for it"):
        render(reasoning="r", content="c", tool_calls=[], format="llama3_json")


def test_a_model_that_always_reasons_closes_what_it_did_not_open() -> None:
    parts: dict[str, Any] = {"reasoning": None, "content": "c", "tool_calls": []}
    assert render(**parts, format="deepseek_r1", prompt_state="assistant_start") == (
        "<think></think>c"
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
    ("a name with blanks", {"tool_calls": [("a b", {})], "format": "glm"}, "content reads back"),
    (
        "a name with brackets",
        {"tool_calls": [("a{b", {})], "format": "mistral"},
        "call 0 ('a{b') reads back as malformed 'a'",
    ),
    ("a key that is no string", {"tool_calls": [("f", {1: 2})], "format": "hermes"}, "a string"),
    ("a set", {"tool_calls": [("f", {"a": {1}})], "format": "hermes"}, "cannot be written as JSON"),
    ("an unknown format", {"format": "xml"}, "format 'xml' is unknown"),
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
