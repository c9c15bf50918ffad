"""Smallest examples: they keep their class, nothing can be left out, and they never vary."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.interpret.replay import (
    ClassKey,
    RecordedTurn,
    Shrunk,
    compare,
    reader_named,
    shrink,
)
from replay_turns import TOOLS, turn, xml

LEFT, RIGHT = reader_named("vllm-0.24"), reader_named("verl-0.9")

LONG = (
    "<think>\nThe customer wants a note.\n"
    + xml("note", order="5", text="a first thought")
    + "\nNo, all of it.\n</think>\n\n"
    + xml("note", order="null", text="  if x:\n    y = 1\n", notify="1", tags="[1, null]")
    + "\n"
    + xml("look", order="00501")
)


def keys(each: RecordedTurn) -> set[ClassKey]:
    return {finding.key for finding in compare(each, LEFT.read(each), RIGHT.read(each))}


def least(text: str, cause: str, by: Any, **more: Any) -> Shrunk:
    each = turn(text, prompt_state="assistant_start", finish_reason="length")
    return shrink(each, ClassKey(cause, by), LEFT, RIGHT, **more)


@pytest.mark.parametrize(
    ("cause", "by", "output"),
    [
        ("white_space_stripped", "left", " "),
        ("null_for_string", "right", "null"),
        ("boolean_flipped", "left", "1"),
        ("structure_as_text", "right", "[null]"),
    ],
)
def test_a_long_turn_shrinks_to_one_call_with_the_value_at_fault(
    cause: str, by: Any, output: str
) -> None:
    found = least(LONG, cause, by)
    assert found.minimal
    assert found.turn.text == (
        f"<tool_call><function=f><parameter=a>{output}</parameter></tool_call>"
    )
    assert (found.turn.prompt_state, found.turn.finish_reason) == ("think_closed", "stop")
    assert [finding.key for finding in found.findings] == [ClassKey(cause, by)]
    (tool,) = found.turn.tools or ()
    assert tool["function"]["name"] == "f"
    # Where it stands is told, so that it can be marked.
    start, end = found.findings[0].span or (0, 0)
    assert found.turn.text[start:end] == output


def test_a_draft_shrinks_to_a_call_in_the_reasoning() -> None:
    found = least(LONG, "draft_executed", "both")
    assert found.turn.text == "<tool_call><function=f></think>"
    assert found.turn.prompt_state == "think_open"


PARTS = st.lists(
    st.sampled_from(
        [
            "I think.",
            "\n",
            "</think>",
            "<|im_end|>",
            xml("note", order="null"),
            xml("note", order=" x "),
            xml("look", order="7"),
            xml("note", order="7", notify="1"),
            xml("note", order="7")[:-20],
            "<tool_call>",
        ]
    ),
    min_size=1,
    max_size=3,
).map("".join)


@given(PARTS)
@settings(max_examples=15, deadline=None)
def test_nothing_can_be_left_out_of_a_smallest_example(text: str) -> None:
    each = turn(text, prompt_state="think_open", finish_reason="length")
    for key in sorted(keys(each), key=lambda key: key.rank):
        found = shrink(each, key, LEFT, RIGHT)
        assert key in {finding.key for finding in found.findings}
        assert {finding.key for finding in found.findings} <= keys(each)
        assert len(found.turn.text) <= len(text)
        again = shrink(each, key, LEFT, RIGHT)
        assert (found.turn.text, found.tries) == (again.turn.text, again.tries)
        assert found.turn.tools == again.turn.tools
        if not found.minimal:
            continue
        for place in range(len(found.turn.text)):
            shorter = found.turn.text[:place] + found.turn.text[place + 1 :]
            assert key not in keys(found.turn._replace(text=shorter)) or _brings_new(found, shorter)


def _brings_new(found: Shrunk, shorter: str) -> bool:
    """Whether the shorter output shows other classes, or calls that were not there before."""
    each = found.turn._replace(text=shorter)
    if not keys(each) <= {finding.key for finding in found.findings}:
        return True
    before, after = (
        {
            (call.name, name)
            for reader in (LEFT, RIGHT)
            for call in reader.read(one).calls
            for name in (None, *(call.arguments or ()))
        }
        for one in (found.turn, each)
    )
    return not after <= before


def test_the_tries_are_a_bound_and_the_best_so_far_is_kept() -> None:
    found = least(LONG, "null_for_string", "right", tries=40)
    assert found.tries <= 40
    assert not found.minimal
    assert ClassKey("null_for_string", "right") in keys(found.turn)
    assert len(found.turn.text) < len(LONG)


def test_a_turn_without_the_class_is_refused() -> None:
    with pytest.raises(ValueError, match="does not show call_lost"):
        least("Hello", "call_lost", "left")


class Letters:
    """A tokenizer whose ids are code points, and one more for a marker that is one token."""

    def get_vocab(self) -> dict[str, int]:
        return {"<tool_call>": 0x110000}

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        return "".join("<tool_call>" if i == 0x110000 else chr(i) for i in token_ids)


def test_a_class_that_only_ids_tell_is_shrunk_by_ids() -> None:
    tokenizer = Letters()
    # Under strict a marker that ordinary tokens spell is text; verl reads the decoded text.
    strict, verl = (reader_named(name, tokenizer=tokenizer) for name in ("strict", "verl-0.9"))
    ids = tuple(map(ord, "So: " + xml("look", order="7").replace("\n", "") + " it is"))
    each = turn(tokenizer.decode(list(ids)), tools=TOOLS)._replace(ids=ids)
    found = compare(each, strict.read(each), verl.read(each))
    key = next(finding.key for finding in found if finding.changes_call)
    assert key.by == "right"
    least_found = shrink(each, key, strict, verl, decode=lambda ids: tokenizer.decode(list(ids)))
    assert least_found.turn.ids is not None
    assert least_found.turn.text == tokenizer.decode(list(least_found.turn.ids))
    assert len(least_found.turn.ids) < len(ids)
