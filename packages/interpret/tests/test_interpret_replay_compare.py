"""Differences between two readings, classed by their cause."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.interpret import PromptState
from outcomebox.interpret.replay import CAUSES, Finding, Reading, compare, reader_named
from outcomebox.interpret.replay.pairing import pair_calls
from outcomebox.interpret.replay.values import value_cause
from replay_turns import TOOLS, call, reading, turn, xml

DRAFT = f"I would call\n{xml('note', order='7')}\nor not.\n</think>\n\n{xml('look', order='7')}"
CUT = xml("note", order="7", text="rm -rf /tmp/x")[:-50]
BARE = "<function=look>\n<parameter=order>\n7\n</parameter>\n</function>"
LOOK = call("look", {"order": "7"})
NOTE = call("note", {"order": "7"})


def found(text: str, left: Reading, right: Reading, **surroundings: Any) -> list[Finding]:
    findings = compare(turn(text, **surroundings), left, right)
    mirrored = compare(turn(text, **surroundings), right, left)
    turned = {"left": "right", "right": "left", "both": "both", None: None}
    assert sorted((each.cause, str(each.by)) for each in findings) == sorted(
        (each.cause, str(turned[each.by])) for each in mirrored
    )
    return findings


def only(text: str, left: Reading, right: Reading, **surroundings: Any) -> Finding:
    (finding,) = found(text, left, right, **surroundings)
    return finding


CASES: list[tuple[str, str, Reading, Reading, str, str | None, str | None]] = [
    # name, text, left, right, cause, by, what the span marks (or a part of it)
    (
        "an unknown tool is dropped",
        xml("nope", order="7"),
        reading(call("nope", {"order": "7"}), content=None),
        reading(content=None),
        "unknown_tool_dropped",
        "left",
        "nope",
    ),
    (
        "one bad call hides a good one",
        xml("look", order="7") + "\n<tool_call>\nnot a call\n</tool_call>",
        reading(LOOK),
        reading(content=None),
        "bad_call_hides_good",
        "left",
        "look",
    ),
    (
        "a call inside a value",
        xml("note", order="7", text=f"see {xml('look', order='7')} there"),
        reading(
            call("note", {"order": "7", "text": "see"}),
            LOOK,
        ),
        reading(call("note", {"order": "7", "text": f"see {xml('look', order='7')} there"})),
        "call_inside_value",
        "left",
        "look",
    ),
    (
        "a call without its wrapper",
        BARE,
        reading(LOOK),
        reading(content=BARE),
        "bare_call_executed",
        "left",
        "look",
    ),
    (
        "arguments that are not JSON",
        xml("look", order="7"),
        reading(LOOK),
        reading(call("look", '{"order": "7"}}')),
        "arguments_not_json",
        "right",
        "look",
    ),
    (
        "a call that the other refuses",
        xml("look", order="7"),
        reading(LOOK),
        reading(call("look", {"order": "7"}, executable=False, status="ambiguous")),
        "call_not_executable",
        "left",
        "look",
    ),
    (
        "a call left in the text",
        xml("look", order="7"),
        reading(LOOK),
        reading(content=xml("look", order="7")),
        "call_left_in_text",
        "left",
        "look",
    ),
    (
        "a call that is nowhere",
        xml("look", order="7"),
        reading(LOOK),
        reading(),
        "call_lost",
        "left",
        "look",
    ),
    (
        "text behind a call is lost",
        xml("look", order="7") + "\nI looked it up.",
        reading(LOOK, content="I looked it up."),
        reading(LOOK),
        "content_lost_after_call",
        "right",
        "I looked it up.",
    ),
    (
        "text before a call is lost",
        "First I look.\n" + xml("look", order="7"),
        reading(LOOK),
        reading(LOOK, content="First I look.\n"),
        "text_lost",
        "left",
        "First I look.",
    ),
    (
        "reasoning shown as content",
        "Hm.\n</think>\n\nHello",
        reading(reasoning="Hm.\n", content="\n\nHello"),
        reading(content="Hm.\n\n\nHello"),
        "reasoning_in_content",
        "right",
        None,
    ),
    (
        "content taken for reasoning",
        "Hello",
        reading(reasoning="Hello"),
        reading(content="Hello"),
        "content_in_reasoning",
        "left",
        None,
    ),
    (
        "reasoning that ends elsewhere",
        "a</think>b</think>c",
        reading(reasoning="a", content="bc"),
        reading(reasoning="ab", content="c"),
        "text_differs",
        None,
        None,
    ),
    (
        "reasoning that ends elsewhere, at a word",
        "a </think> b </think> c",
        reading(reasoning="a ", content=" b  c"),
        reading(reasoning="a  b ", content=" c"),
        "reasoning_ends_elsewhere",
        None,
        None,
    ),
    (
        "a special token stays",
        "Hello<|im_end|>",
        reading(content="Hello"),
        reading(content="Hello<|im_end|>"),
        "marker_in_text",
        "right",
        "<|im_end|>",
    ),
    (
        "white space is trimmed",
        "\n\nHello ",
        reading(content="Hello"),
        reading(content="\n\nHello "),
        "white_space_around_text",
        "left",
        None,
    ),
    (
        "other words",
        "Hello",
        reading(content="Hello"),
        reading(content="Goodbye"),
        "text_differs",
        None,
        None,
    ),
    (
        "a reader fails",
        xml("look", order="7"),
        reading(LOOK),
        reading(error="KeyError: 'type'"),
        "reader_failed",
        "right",
        None,
    ),
    (
        "a reader refuses the tools",
        xml("look", order="7"),
        reading(LOOK),
        reading(error="look has no type")._replace(refused_tools=True),
        "tools_refused",
        "right",
        None,
    ),
]


@pytest.mark.parametrize(
    ("text", "left", "right", "cause", "by", "marked"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_a_difference_has_the_class_of_its_cause(
    text: str, left: Reading, right: Reading, cause: str, by: str | None, marked: str | None
) -> None:
    findings = [each for each in found(text, left, right) if each.cause != "value_cut"]
    assert [(each.cause, each.by) for each in findings] == [(cause, by)]
    span = findings[0].span
    if marked is None:
        assert span is None or span[0] <= span[1]
    else:
        assert span is not None
        assert marked in text[slice(*span)]


def test_a_draft_in_the_reasoning_is_told_whoever_executes_it() -> None:
    state: PromptState = "think_open"
    one = reading(NOTE, LOOK, reasoning="I would call\n")
    other = reading(LOOK, reasoning="I would call\n")
    finding = only(DRAFT, one, other, prompt_state=state)
    assert (finding.cause, finding.by, finding.changes_call) == ("draft_executed", "left", True)
    assert finding.span is not None
    assert "note" in DRAFT[slice(*finding.span)]
    shared = only(DRAFT, one, one, prompt_state=state)
    assert (shared.cause, shared.by, shared.shared) == ("draft_executed", "both", True)
    # The call behind the reasoning is no draft, whatever the prompt.
    assert found(DRAFT, other, other, prompt_state=state) == []


def test_a_call_that_was_cut_is_told_whoever_executes_it() -> None:
    one, other = reading(call("note", {"order": "7"})), reading()
    assert only(CUT, one, other, finish_reason="length").cause == "cut_call_executed"
    assert only(CUT, one, one, finish_reason="length").by == "both"
    assert only(CUT, one, other).cause == "unclosed_call_executed"


def test_one_call_of_two_names() -> None:
    text = xml("look", order="7")
    one = reading(call("look", {"order": "7"})._replace(span=(0, len(text))))
    other = reading(call("loo", {"order": "7"})._replace(span=(0, len(text))))
    assert only(text, one, other).cause == "tool_renamed"


def test_readings_that_mean_the_same_do_not_differ() -> None:
    text = xml("look", order="7")
    left = reading(call("look", '{"order":"7","a":1}'), content=None, reasoning="")
    right = reading(call("look", '{"a": 1, "order": "7"}'), content="", reasoning=None)
    assert compare(turn(text), left, right) == []
    assert compare(turn(text), reading(error="a"), reading(error="b")) == []


def test_texts_may_be_left_out() -> None:
    one, other = reading(content="a"), reading(content="b")
    assert compare(turn("a"), one, other, texts=False) == []


def test_every_class_is_found_by_some_test_here() -> None:
    values = {
        value_cause(left, right)[0]
        for left, right in [
            ("x", " x"),
            (None, "null"),
            (True, False),
            (True, "yes"),
            (7, "7"),
            (float("inf"), "1e999"),
            ([1], "[1]"),
            ("a", "ab"),
            (None, "a"),
            ("a", "b"),
            (9223372036854775807, 9223372036854775808),
        ]
    }
    named = {case[4] for case in CASES} | values
    named |= {"draft_executed", "cut_call_executed", "unclosed_call_executed", "tool_renamed"}
    assert named | {"argument_lost", "number_form"} == set(CAUSES)


@pytest.mark.parametrize(
    ("text", "cause", "by"),
    [
        (xml("note", order="7", text="  if x:\n    y"), "white_space_stripped", "left"),
        (xml("note", order="null"), "null_for_string", "right"),
        (xml("note", order="7", notify="1"), "boolean_flipped", "left"),
        (xml("note", order="7", tags='[1,"2",null]'), "structure_as_text", "right"),
        (xml("note", order="7", notify="yes"), "boolean_or_other", "right"),
    ],
)
def test_two_profiles_differ_where_their_parsers_do(text: str, cause: str, by: str) -> None:
    left, right = reader_named("vllm-0.24"), reader_named("verl-0.9")
    each = turn(text)
    findings = compare(each, left.read(each), right.read(each))
    assert [(found.cause, found.by) for found in findings] == [(cause, by)]
    assert findings[0].changes_call


CALLS = st.lists(
    st.builds(
        lambda name, value, executable: call(name, {"a": value}, executable=executable),
        st.sampled_from("fgh"),
        st.integers(0, 2),
        st.booleans(),
    ),
    max_size=7,
)


@given(CALLS, CALLS)
@settings(max_examples=200, deadline=None)
def test_every_call_is_in_one_pair_and_the_order_is_kept(left: list[Any], right: list[Any]) -> None:
    pairs = pair_calls(left, right, [None] * len(left), [None] * len(right))
    assert [one for one, _ in pairs if one is not None] == list(range(len(left)))
    assert [other for _, other in pairs if other is not None] == list(range(len(right)))
    assert all(pair != (None, None) for pair in pairs)
    for one, other in pairs:
        if one is not None and other is not None:
            assert left[one].name == right[other].name
    if left == right:
        assert all(one == other for one, other in pairs)


def test_very_many_calls_are_paired_by_position() -> None:
    left = [call("f", {"a": index}) for index in range(300)]
    right = [call("f", {"a": -index - 1}) for index in range(301)]
    pairs = pair_calls(left, right, [None] * 300, [None] * 301)
    assert pairs == [*((index, index) for index in range(300)), (None, 300)]


TEXT = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "<function=note>",
            "<function=look>",
            "</function>",
            "<parameter=order>",
            "<parameter=text>",
            "</parameter>",
            "\n",
            " a ",
            "null",
            "1",
            "<|im_end|>",
        ]
    ),
    max_size=20,
).map("".join)


@given(
    TEXT,
    st.sampled_from(["strict", "vllm-0.24", "vllm-0.32-stream", "verl-0.9", "sglang-0.5"]),
    st.sampled_from(["strict", "vllm-0.32", "verl-0.9", "sglang-0.5-stream"]),
    st.sampled_from(["assistant_start", "think_open", "think_closed"]),
    st.sampled_from(["stop", "length"]),
)
@settings(max_examples=200, deadline=None)
def test_any_output_can_be_compared_and_spans_lie_in_it(
    text: str, left: str, right: str, state: PromptState, finish_reason: str
) -> None:
    each = turn(text, prompt_state=state, finish_reason=finish_reason, tools=TOOLS)
    one, other = reader_named(left).read(each), reader_named(right).read(each)
    for finding in compare(each, one, other):
        assert finding.cause in CAUSES
        if finding.span is not None:
            assert 0 <= finding.span[0] <= finding.span[1] <= len(text)
    executed = [
        [(c.name, c.arguments) for c in reading.calls if c.executable] for reading in (one, other)
    ]
    changes = [f for f in compare(each, one, other) if f.changes_call and not f.shared]
    assert bool(changes) == (executed[0] != executed[1])
    if left == right:
        assert all(finding.shared for finding in compare(each, one, other))
