"""Turns to and from the objects of OpenAI's APIs."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from interpret_outputs import JSON_VALUES, MARKUP, PROMPT_STATES, TOOLS, call
from outcomebox.interpret import PromptState, ToolCall, Turn, interpret
from outcomebox.interpret.openai import (
    from_message,
    from_output_items,
    from_response,
    to_message,
    to_output_items,
    to_response,
)

OUTPUT = f"Look.</think>Now:\n{call('edit', {'code': 'x', 'n': '007'})}"


def numbered(index: int) -> str:
    return f"call_{index}"


def read(output: str = OUTPUT, **more: Any) -> Turn:
    return interpret(output, tools=TOOLS, prompt_state="think_open", **more)


def test_a_turn_as_a_message() -> None:
    assert to_message(read(), call_id=numbered) == {
        "role": "assistant",
        "content": "Now:\n",
        "reasoning": "Look.",
        "tool_calls": [
            {
                "id": "call_0",
                "type": "function",
                "function": {"name": "edit", "arguments": '{"code": "x", "n": 7}'},
            }
        ],
    }


def test_the_reasoning_has_the_name_that_the_client_reads() -> None:
    message = to_message(read("Look.</think>Hi."), reasoning_field="reasoning_content")
    assert message == {"role": "assistant", "content": "Hi.", "reasoning_content": "Look."}


def test_a_call_that_is_not_executable_is_not_sent() -> None:
    turn = read(OUTPUT[:-20], finish_reason="length")
    assert [each.status for each in turn.tool_calls] == ["truncated"]
    assert "tool_calls" not in to_message(turn)


def test_a_call_that_a_server_sends_broken_is_sent_as_it_is() -> None:
    broken = ToolCall("edit", {}, "malformed", executable=False, span=(0, 9), wire='{"code": "x')
    message = to_message(Turn(None, None, (broken,)), call_id=numbered)
    assert message["tool_calls"][0]["function"]["arguments"] == '{"code": "x'
    back = from_message(message).tool_calls[0]
    assert (back.status, back.executable, back.arguments) == ("malformed", False, {})
    assert back.wire == '{"code": "x'


@pytest.mark.parametrize(
    ("output", "finish_reason", "said"),
    [
        (OUTPUT, "stop", "tool_calls"),
        (OUTPUT, "length", "length"),
        ("</think>Hi.", "stop", "stop"),
        ("</think>Hi.", "content_filter", "content_filter"),
    ],
)
def test_a_response_says_why_it_ended(output: str, finish_reason: str, said: str) -> None:
    response = to_response(read(output), model="m", finish_reason=finish_reason)
    assert response["choices"][0]["finish_reason"] == said


def test_a_response() -> None:
    turn = read()
    response = to_response(
        turn, model="m", response_id="r", created=5, usage={"total_tokens": 3}, call_id=numbered
    )
    assert response == {
        "id": "r",
        "object": "chat.completion",
        "created": 5,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": to_message(turn, call_id=numbered),
                "finish_reason": "tool_calls",
                "logprobs": None,
            }
        ],
        "usage": {"total_tokens": 3},
    }
    fresh = [to_response(turn, model="m") for _ in range(2)]
    assert len({each["id"] for each in fresh}) == 2
    calls = [each["choices"][0]["message"]["tool_calls"][0]["id"] for each in fresh]
    assert len(set(calls)) == 2
    assert "usage" not in fresh[0]


def seen(turn: Turn) -> tuple[Any, Any, list[tuple[str, Any]]]:
    """What a client sees of a turn."""
    calls = [(each.name, each.arguments) for each in turn.tool_calls if each.executable]
    return turn.reasoning, turn.content, calls


@given(MARKUP, PROMPT_STATES)
@settings(max_examples=200, deadline=None)
def test_there_and_back_the_client_sees_the_same(output: str, state: PromptState) -> None:
    turn = interpret(output, tools=TOOLS, prompt_state=state)
    message = json.loads(json.dumps(to_message(turn)))
    assert seen(from_message(message)) == seen(turn)
    response = json.loads(json.dumps(to_response(turn, model="m")))
    assert from_response(response) == from_message(message)
    items = json.loads(json.dumps(to_output_items(turn)))
    assert seen(from_output_items(items)) == seen(turn)


@given(st.text() | JSON_VALUES.map(json.dumps))
@settings(max_examples=200, deadline=None)
def test_arguments_are_kept_to_the_letter(wire: str) -> None:
    function = {"name": "edit", "arguments": wire}
    message = {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}
    found = from_message(message).tool_calls[0]
    assert found.wire == found.arguments_json() == wire
    assert to_message(Turn(None, None, (found,)))["tool_calls"][0]["function"] == function
    assert found.executable == (found.status == "ok") == (not found.message)


@pytest.mark.parametrize("wire", ["", "[]", "null", '"x"', '{"a": NaN}', "{'a': 1}", "[" * 100_000])
def test_what_is_no_json_object_is_malformed(wire: str) -> None:
    function = {"name": "edit", "arguments": wire}
    found = from_message({"tool_calls": [{"function": function}]}).tool_calls[0]
    assert (found.status, found.executable, found.arguments) == ("malformed", False, {})


def test_none_and_an_empty_string_are_kept_apart() -> None:
    assert from_message({"content": None}) == Turn(None, None)
    assert from_message({"content": "", "reasoning_content": ""}) == Turn("", "")
    assert from_message({"content": []}) == Turn(None, None)


def test_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    assert from_message({"content": parts}).content == "ab"


def test_a_tool_that_is_not_offered_is_told() -> None:
    message = {"tool_calls": [{"function": {"name": "gone", "arguments": "{}"}}]}
    assert from_message(message).tool_calls[0].status == "ok"
    found = from_message(message, tools=TOOLS).tool_calls[0]
    assert (found.status, found.executable) == ("unknown_tool", True)


class Function(BaseModel):
    name: str
    arguments: str


class Call(BaseModel):
    id: str
    function: Function
    type: str = "function"


class Message(BaseModel):
    """As the openai package has it: fields that it does not know are kept."""

    model_config = ConfigDict(extra="allow")
    role: str
    content: str | None
    tool_calls: list[Call] | None = None


class Choice(BaseModel):
    index: int
    message: Message
    finish_reason: str


class Completion(BaseModel):
    choices: list[Choice]


def test_objects_of_a_client_are_read_like_their_dicts() -> None:
    response = to_response(read(), model="m")
    completion = Completion.model_validate(response)
    assert from_response(completion) == from_response(response)
    assert from_response(completion).reasoning == "Look."
    assert from_message(completion.choices[0].message) == from_response(response)


def test_items_of_the_server_are_passed_over() -> None:
    items = [{"type": "web_search_call", "id": "w"}, *to_output_items(read())]
    assert seen(from_output_items(items)) == seen(read())


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (None, "message: an object of OpenAI's API.* got None"),
        ({"role": "user"}, r"message\.role: 'assistant' is wanted; got 'user'"),
        ({"content": 5}, r"message\.content: a string, a list of parts"),
        ({"tool_calls": [5]}, r"message\.tool_calls\[0\]: an object"),
        ({"tool_calls": [{"type": "custom"}]}, r"tool_calls\[0\]\.type: 'function' is wanted"),
        ({"tool_calls": [{"function": {"arguments": "{}"}}]}, r"\.function\.name: a string"),
        (
            {"tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
            r"tool_calls\[0\]\.function\.arguments: a string is wanted; got \{\}",
        ),
    ],
)
def test_what_is_no_message_is_refused_by_field(message: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        from_message(message)


@pytest.mark.parametrize(
    ("response", "choice", "complaint"),
    [
        ({}, 0, r"response\.choices: a list is wanted; got None"),
        ({"choices": []}, 0, r"response\.choices has 0 entries; there is no \[0\]"),
        ({"choices": [{}]}, 1, r"has 1 entries; there is no \[1\]"),
        ({"choices": [{}]}, 0, "message: an object"),
    ],
)
def test_what_is_no_response_is_refused_by_field(
    response: Any, choice: int, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        from_response(response, choice=choice)
