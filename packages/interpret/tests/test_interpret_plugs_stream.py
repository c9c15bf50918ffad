"""What a server's plug sends of a stream: as early as is safe, and joined it is the turn."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_outputs import FRAGMENTS, PROMPT_STATES, TOOLS, call
from outcomebox.interpret import PromptState, interpret
from outcomebox.interpret.formats import FORMAT_NAMES, format_named
from outcomebox.interpret.plugs.stream import Delta, StrictStream
from outcomebox.interpret.plugs.whole import ended_by_itself, raw_calls

CALL = call("edit", {"code": "x", "n": "1"})
JSON_CALL = '{"name": "edit", "arguments": {"n": 1}}'


def deltas(
    chunks: list[str],
    *,
    format_name: str = "qwen3_xml",
    prompt_state: PromptState = "think_open",
    finish_reason: str | None = None,
) -> list[Delta]:
    stream = StrictStream(tools=TOOLS, format=format_name, prompt_state=prompt_state)
    return [*map(stream.feed, chunks), stream.finish(finish_reason)]


def joined(sent: list[Delta]) -> Delta:
    return Delta(
        "".join(each.reasoning for each in sent),
        "".join(each.content for each in sent),
        tuple(one for each in sent for one in each.calls),
    )


def whole(
    text: str, format_name: str, prompt_state: PromptState, finish_reason: str | None
) -> Delta:
    if finish_reason is None:
        finish_reason = "stop" if ended_by_itself(text, format_named(format_name)) else "length"
    turn = interpret(
        text,
        tools=TOOLS,
        format=format_name,
        prompt_state=prompt_state,
        finish_reason=finish_reason,
    )
    attempts = raw_calls(text, turn, executable=False)
    calls = tuple(each for each in turn.tool_calls if each.executable)
    return Delta(turn.reasoning or "", (turn.content or "") + attempts, calls)


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_what_was_sent_joined_is_the_turn_of_the_whole(
    format_name: str, data: st.DataObject
) -> None:
    form = format_named(format_name)
    marks = [each.replace("{name}", "edit") for each in form.spellings.values()]
    fragment = FRAGMENTS | st.sampled_from([*marks, *form.end_of_turn, JSON_CALL, "{", "[", ";"])
    chunks = data.draw(st.lists(fragment, max_size=16))
    if data.draw(st.booleans()):
        chunks = list("".join(chunks))
    prompt_state: Any = data.draw(PROMPT_STATES)
    finish_reason = data.draw(st.sampled_from([None, "stop", "length"]))
    sent = deltas(
        chunks, format_name=format_name, prompt_state=prompt_state, finish_reason=finish_reason
    )
    assert joined(sent) == whole("".join(chunks), format_name, prompt_state, finish_reason)


def test_reasoning_and_content_are_sent_as_they_come() -> None:
    sent = deltas(["I ", "look.", "\n</th", "ink>\n\n", "Here", ":\n", CALL[:30], CALL[30:]])
    assert [(each.reasoning, each.content) for each in sent[:6]] == [
        ("I ", ""),
        ("look.", ""),
        ("\n", ""),
        ("", ""),
        ("", "\n\nHere"),
        ("", ":\n"),
    ]
    assert not any(any(each) for each in sent[6:-1])


def test_calls_come_with_the_last_delta() -> None:
    sent = deltas(["</think>", CALL, CALL, "<|im_end|>"])
    assert [len(each.calls) for each in sent] == [0, 0, 0, 0, 2]


def test_a_call_drafted_in_reasoning_is_reasoning() -> None:
    text = f"Maybe {CALL}? No.</think>Done.<|im_end|>"
    sent = deltas(list(text))
    assert joined(sent) == Delta(f"Maybe {CALL}? No.", "Done.", ())
    assert "".join(each.reasoning for each in sent[:-1]) == "Maybe "


@pytest.mark.parametrize("end", ["<|im_end|>", "<|im_end|>\n"])
def test_an_end_of_turn_token_is_no_content(end: str) -> None:
    sent = deltas(list(f"Hello.{end}"), prompt_state="think_closed")
    assert joined(sent) == Delta("", "Hello.", ())
    assert "".join(each.content for each in sent[:-1]) == "Hello."


def test_a_mentioned_end_of_turn_token_is_content() -> None:
    sent = deltas(list("The <|im_end|> token."), prompt_state="think_closed")
    assert joined(sent).content == "The <|im_end|> token."


def test_an_output_that_does_not_say_how_it_ended_was_cut() -> None:
    unclosed = CALL.removesuffix("\n</tool_call>")
    cut = deltas([unclosed], prompt_state="think_closed")[-1]
    assert cut == Delta("", unclosed, ())
    ended = deltas([unclosed, "<|im_end|>"], prompt_state="think_closed")[-1]
    assert [each.status for each in ended.calls] == ["repaired"]


def test_white_space_without_end_is_not_kept_over_and_over() -> None:
    stream = StrictStream(tools=TOOLS, format="qwen3_xml", prompt_state="think_open")
    for _ in range(10_000):
        assert stream.feed("\n\n") == Delta()
    assert stream.feed("text") == Delta()
    assert stream.finish("stop").reasoning == "\n\n" * 10_000 + "text"
