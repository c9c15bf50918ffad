"""The strict reading of reasoning: where it ends, and that nothing drafted in it is executed."""

from typing import Any

import pytest

from interpret_outputs import TOOLS, call
from outcomebox.interpret import PromptState, Turn, interpret

EDIT = call("edit", {"code": "x"})
PING = call("ping")


def read(output: str, **keywords: Any) -> Turn:
    return interpret(output, tools=TOOLS, **keywords)


def statuses(turn: Turn) -> list[tuple[str, str]]:
    return [(each.name, each.status) for each in turn.tool_calls]


REASONING: list[tuple[PromptState, str, str | None, str | None]] = [
    ("think_open", "a</think>b", "a", "b"),
    ("think_open", "a", "a", None),
    ("think_open", "</think>b", None, "b"),
    ("think_open", "\n</think>\n\nb", None, "\n\nb"),
    ("think_open", "<think>a</think>b", "a", "b"),
    ("think_open", "a<think>b</think>c", "a<think>b", "c"),
    ("think_open", "a</think>b</think>c", "a", "b</think>c"),
    ("think_open", "a</think>b<think>c</think>d", "a", "b<think>c</think>d"),
    ("assistant_start", "<think>a</think>b", "a", "b"),
    ("assistant_start", "\n<think>a</think>b", "a", "b"),
    ("assistant_start", "<think>a", "a", None),
    ("assistant_start", "b", None, "b"),
    ("assistant_start", "a</think>b", "a", "b"),
    ("assistant_start", "b<think>a</think>c", "a", "bc"),
    ("assistant_start", "<think>a</think>b</think>c", "a", "b</think>c"),
    ("assistant_start", "<think>a</think>b<think>c</think>d", "a", "b<think>c</think>d"),
    ("assistant_start", "the <think> tag", None, "the <think> tag"),
    ("assistant_start", "<think>\n\n</think>\n\nb", None, "\n\nb"),
    ("think_closed", "b", None, "b"),
    ("think_closed", "b</think>c", None, "b</think>c"),
    ("think_closed", "b<think>c</think>d", None, "b<think>c</think>d"),
    ("think_closed", "<think>a</think>b", "a", "b"),
    ("think_closed", "<think> opens", None, "<think> opens"),
]


@pytest.mark.parametrize(("prompt_state", "output", "reasoning", "content"), REASONING)
def test_reasoning_and_content(
    prompt_state: PromptState, output: str, reasoning: str | None, content: str | None
) -> None:
    turn = read(output, prompt_state=prompt_state)
    assert (turn.reasoning, turn.content) == (reasoning, content)


@pytest.mark.parametrize(
    ("prompt_state", "opener"),
    [("think_open", ""), ("assistant_start", "<think>"), ("think_closed", "<think>")],
)
@pytest.mark.parametrize(
    "draft",
    [EDIT, EDIT[:40], EDIT[:60], EDIT + EDIT[:50], "<tool_call>", '<tool_call>\n{"name": "edit"'],
)
def test_a_call_drafted_in_reasoning_is_reasoning(
    prompt_state: PromptState, opener: str, draft: str
) -> None:
    turn = read(f"{opener}hm {draft} ok</think>\n{PING}", prompt_state=prompt_state)
    assert turn.reasoning == f"hm {draft} ok"
    assert turn.content is None
    assert statuses(turn) == [("ping", "ok")]


def test_a_call_ends_reasoning_that_is_never_closed() -> None:
    turn = read(f"hm {EDIT} so", prompt_state="think_open")
    assert (turn.reasoning, turn.content) == ("hm ", " so")
    assert statuses(turn) == [("edit", "ok")]


def test_a_call_in_reasoning_that_was_cut_may_be_a_draft() -> None:
    turn = read(f"hm {EDIT} or", prompt_state="think_open", finish_reason="length")
    assert statuses(turn) == [("edit", "ambiguous")]
    cut = read(f"hm {EDIT[:50]}", prompt_state="think_open", finish_reason="length")
    assert (cut.reasoning, statuses(cut)) == ("hm ", [("edit", "truncated")])


def test_the_end_of_reasoning_inside_a_value_is_ambiguous() -> None:
    output = "hm " + call("edit", {"code": "use </think> here"})
    turn = read(output, prompt_state="think_open")
    assert (turn.reasoning, turn.content) == ("hm ", None)
    assert statuses(turn) == [("edit", "ambiguous")]
    assert turn.tool_calls[0].span == (3, len(output))


def test_markup_in_reasoning_is_neither_left_out_nor_noticed() -> None:
    markup = "<tool_call></tool_call>" + PING + "\n</tool_call>"
    turn = read(markup + "</think>b", prompt_state="think_open")
    assert turn == Turn(markup, "b")
    later = read(f"a</think>b<think>{markup}</think>c", prompt_state="think_open")
    assert later.content == f"b<think>{markup}</think>c"


def test_a_draft_that_broke_off_stays_reasoning_whatever_follows() -> None:
    draft = f"hm {EDIT[:50]} no"
    turn = read(f"{draft}</think>{EDIT}{EDIT[-26:]}", prompt_state="think_open")
    assert turn.reasoning == draft
    assert statuses(turn) == [("edit", "ambiguous")]


def test_a_draft_in_a_later_block_is_content() -> None:
    turn = read(f"a</think>b<think>{EDIT}</think>{PING}", prompt_state="think_open")
    assert turn.content == f"b<think>{EDIT}</think>"
    assert statuses(turn) == [("ping", "ok")]
    assert [each.code for each in turn.diagnostics] == ["draft_call"]


def test_reasoning_slips_are_noticed() -> None:
    turn = read("a</think>b", prompt_state="assistant_start")
    assert [each.code for each in turn.diagnostics] == ["missing_think_open"]
    turn = read("<think>a</think>b", prompt_state="think_open")
    assert [each.code for each in turn.diagnostics] == ["repeated_think_open"]
