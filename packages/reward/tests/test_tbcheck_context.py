"""What a check looks at: every JSON context arrives as it was, and reads as the form says."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.thinkingbox.chat import (
    Conversation,
    Message,
    ParallelToolCall,
    Text,
    ToolCall,
    ToolCallResponse,
    ToolResponse,
    get_conversation_transcript,
    message,
)
from outcomebox.reward.thinkingbox.context import TestContext
from outcomebox.reward.thinkingbox.effects import decode, effects_of, encode, is_large
from outcomebox.reward.thinkingbox.orders import CheckOrder, encode_order
from tbcheck_orders import CONTEXT, graded, one_grader, order

few = settings(max_examples=100, deadline=None)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
surrogates = st.text(st.characters(categories=["Cs", "L"]), max_size=5)
json_values = st.recursive(
    scalars | surrogates,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text() | surrogates, inner, max_size=4)
    ),
    max_leaves=12,
)
large = st.builds(
    lambda value, count: [value] * count, json_values, st.integers(0, 3).map(lambda n: n * 200)
)
effects = st.dictionaries(
    st.text(), st.dictionaries(st.text(), json_values | large, max_size=4) | json_values, max_size=3
)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down: 1, 1.0 and True are three things."""
    return json.dumps(one) == json.dumps(other)


@pytest.fixture(scope="module", autouse=True)
def _one_grader() -> Iterator[None]:
    with one_grader():
        yield


@few
@given(effects)
def test_every_json_context_arrives_as_it_was(given_effects: dict[str, Any]) -> None:
    one = CheckOrder("", "f", "a.py", "a.py:f", {"effects": given_effects, "response": "r"})
    line = encode_order(one, nonce="n", memory_bytes=None)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    order_ = json.loads(line)

    def fetch(server: str, key: str) -> Any:
        return decode(*encode(given_effects[server][key]))

    found = effects_of(order_["context"]["effects"], order_["later"], fetch)
    for server, each in given_effects.items():
        if isinstance(each, dict):
            assert list(found[server]) == list(each)
            for key in each:
                assert same(found[server][key], each[key])
    assert same(found, given_effects)


@few
@given(json_values)
def test_every_json_value_survives_its_codec(value: Any) -> None:
    assert same(decode(*encode(value)), value)


def test_what_marshal_refuses_goes_as_json() -> None:
    class Word(str):
        __slots__ = ()

    assert encode({"a": Word("b")}) == ("json", b'{"a": "b"}')
    assert decode("json", b'{"a": "b"}') == {"a": "b"}
    assert math.isnan(decode(*encode(math.nan)))
    with pytest.raises(ValueError, match="marshal or json, not 'pickle'"):
        decode("pickle", b"")


def test_large_is_many_values_or_long_text() -> None:
    assert not is_large({"a": [1] * 100})
    assert is_large({"a": [1] * 300})
    assert is_large([[["x" * 20_000]]])
    assert is_large([[1] * 100] * 3)


def test_contexts_of_every_shape_reach_a_real_check() -> None:
    odd = {
        "s": {
            "big": 10**40,
            "nan": math.nan,
            "text": "\ud800 \u2028 \x00",
            "rows": [{"n": n, "t": "\udfff", "f": 1.0, "i": 1} for n in range(1000)],
        },
        "list": [1, 2],
        "none": None,
        "empty": {},
    }
    code = """
def check(x, judge):
    s = x.effects["s"]
    assert s["big"] == 10**40
    assert s["nan"] != s["nan"]
    assert s["text"] == "\\ud800 \\u2028 \\x00"
    assert len(s["rows"]) == 1000
    assert type(s["rows"][3]["f"]) is float and type(s["rows"][3]["i"]) is int
    assert s["rows"][999] == {"n": 999, "t": "\\udfff", "f": 1.0, "i": 1}
    assert (x.effects["list"], x.effects["none"], x.effects["empty"]) == ([1, 2], None, {})
    assert list(x.effects) == ["s", "list", "none", "empty"]
"""
    (verdict,) = graded([order("check", code=code, context={"effects": odd})])
    assert verdict.outcome == "passed", verdict


# -- effects that come late --------------------------------------------------------------------

VALUES: dict[str, Any] = {"small": 1, "rows": [1, 2], "more": {"a": None}}


def late(fetched: list[str] | None = None) -> Any:
    def fetch(server: str, key: str) -> Any:
        if fetched is not None:
            fetched.append(key)
        return copy.deepcopy(VALUES[key])

    pending = [("desk", "rows"), ("desk", "more")]
    return effects_of({"desk": {**VALUES, "rows": None, "more": None}}, pending, fetch)["desk"]


def test_one_key_fetches_one_value_once() -> None:
    fetched: list[str] = []
    effects_ = late(fetched)
    assert (effects_["small"], len(effects_), "more" in effects_) == (1, 3, True)
    assert list(effects_) == list(effects_.keys()) == list(VALUES)
    assert fetched == []
    effects_["rows"].append(3)
    assert (effects_["rows"], effects_.get("rows")) == ([1, 2, 3], [1, 2, 3])
    assert fetched == ["rows"]
    with pytest.raises(KeyError):
        effects_["none"]


def _ior(one: dict[str, Any]) -> dict[str, Any]:
    one |= {"z": 1}
    return one


@pytest.mark.parametrize(
    "use",
    [
        dict,
        lambda one: {**one},
        lambda one: one.copy(),
        copy.copy,
        copy.deepcopy,
        lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301 -- of this test's own
        json.dumps,
        lambda one: json.dumps(one, indent=1),
        repr,
        lambda one: list(one.items()),
        lambda one: list(one.values()),
        lambda one: one == VALUES,
        lambda one: one == {**VALUES},
        lambda one: one != VALUES,
        lambda one: one == (late() if isinstance(one, dict) and type(one) is not dict else VALUES),
        lambda one: one | {"z": 1},
        lambda one: {"z": 1} | one,
        _ior,
        lambda one: (one.pop("rows"), one.pop("none", 7), one),
        lambda one: (one.popitem(), one),
        lambda one: (one.setdefault("rows", 9), one.setdefault("new", 9), one),
        lambda one: (one.update({"rows": 5}), one),
        lambda one: (one.clear(), one),
        lambda one: (one.__setitem__("rows", 5), one),
        lambda one: (one.__delitem__("rows"), one),
        lambda one: isinstance(one, dict),
        lambda one: {"outer": one},
        lambda one: json.loads(json.dumps([one]))[0],
    ],
)
def test_all_else_is_as_with_a_plain_dict(use: Any) -> None:
    assert use(late()) == use(copy.deepcopy(VALUES))


# -- messages ----------------------------------------------------------------------------------


def said(role: Any, content: str, **metadata: Any) -> Text:
    return Text(role=role, content=content, metadata=metadata)


TALK: list[Message] = [
    said("system", "rules"),
    said("user", "no dummy", is_dummy=True),
    said("user", "one"),
    said("assistant", "hm", tag="think"),
    said("assistant", "two", tag="direct"),
    ToolCall(name="t", arguments={}),
    said("user", "three"),
    said("assistant", "four"),
]


def test_a_transcript_is_what_both_have_said() -> None:
    context = TestContext(messages=TALK)  # type: ignore[arg-type]
    assert context.transcript() == "User: one\n\nAssistant: two\n\nUser: three\n\nAssistant: four"
    assert context.transcript(limit=1) == "Assistant: four"
    assert context.transcript(2) == "Assistant: two\n\nUser: three\n\nAssistant: four"
    assert context.transcript(3) == context.transcript()
    assert get_conversation_transcript(TALK, 1, str.upper) == "Assistant: FOUR"
    assert TestContext().transcript() == ""
    with pytest.raises(ValueError, match="limit must not be negative"):
        context.transcript(-1)


def test_the_query_is_the_first_thing_the_user_said() -> None:
    assert TestContext(messages=TALK).query() == "one"  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no message of the user"):
        TestContext(messages=[said("assistant", "hello")]).query()


def test_messages_are_made_of_their_json() -> None:
    call = {"T": "ToolCall", "name": "t", "arguments": {"a": 1}, "id": "c1"}
    answer = {"T": "ToolResponse", "name": "t", "content": "ok", "id": "c1"}
    context = TestContext.model_validate(
        {
            "messages": [
                {"T": "Text", "role": "user", "content": "hi", "later": "a field of another day"},
                {"T": "ParallelToolCall", "tool_calls": [call, call]},
                answer,
                {"role": "assistant", "content": "no T"},
                {"tool_calls": [call]},
                {"name": "t", "arguments": {}},
                {"name": "t", "content": ""},
            ],
            "tool_calls": [{"tool_call": call, "tool_response": answer}],
            "another": 1,
        }
    )
    assert [type(each).__name__ for each in context.messages] == [
        "Text",
        "ParallelToolCall",
        "ToolResponse",
        "Text",
        "ParallelToolCall",
        "ToolCall",
        "ToolResponse",
    ]
    parallel = context.messages[1]
    assert isinstance(parallel, ParallelToolCall)
    assert [each.arguments for each in parallel.tool_calls] == [{"a": 1}] * 2
    assert context.tool_calls == [
        ToolCallResponse(
            tool_call=ToolCall(name="t", arguments={"a": 1}, id="c1"),
            tool_response=ToolResponse(name="t", content="ok", id="c1"),
        )
    ]
    assert TestContext.model_validate(context.model_dump()) == context
    assert json.loads(context.model_dump_json()) == context.model_dump()


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ValueError, match="T of a message must be one of 'Text'"):
        message({"T": "Image"})
    with pytest.raises(ValueError, match="role of a Text must be one of"):
        message({"T": "Text", "role": "robot", "content": ""})
    with pytest.raises(TypeError, match="a message is a mapping"):
        message("hello")
    with pytest.raises(TypeError, match="content of a Text must be text"):
        Text(role="user", content=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        message({"T": "ToolCall"})
    with pytest.raises(TypeError, match="Text is made of a mapping"):
        Text.model_validate([])


def test_records_copy() -> None:
    text = said("user", "one", tag="direct")
    assert (text.tag, text.is_visible) == ("direct", True)
    changed = text.model_copy(update={"content": "two"}, deep=True)
    changed.metadata["tag"] = "think"
    assert (text.content, text.tag, changed.content) == ("one", "direct", "two")
    assert not changed.is_visible
    assert Conversation().metadata == {"usage": []}
    assert Conversation(messages=[text.model_dump()]).messages == [text]  # type: ignore[list-item]
    assert ToolCall(name="t", arguments={}).id.startswith("call_")


def test_a_check_sees_the_context_of_the_orders() -> None:
    code = """
def check(x, judge):
    assert x.session_id == "session-1" and x.query() == "Please close it."
    assert x.transcript() == "User: Please close it.\\n\\nAssistant: done"
    assert [m.T for m in x.messages] == ["Text", "ToolCall", "ToolResponse", "Text"]
    assert x.tool_direct_responses == [] and x.init_result == {} and x.metadata == {"was": 1}
"""
    (verdict,) = graded([order("check", code=code, context={**CONTEXT, "metadata": {"was": 1}})])
    assert verdict.outcome == "passed", verdict
    assert verdict.details["metadata"] == {"was": 1}
