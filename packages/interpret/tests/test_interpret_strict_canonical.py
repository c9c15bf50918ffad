"""The short way through canonical outputs gives what the machine gives."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_outputs import FINISH_REASONS, PROMPT_STATES, TOOLS, call_in, outputs
from outcomebox.interpret import PromptState, Turn, interpret
from outcomebox.interpret.strict import xmlturn
from outcomebox.interpret.strict.canonical import read_canonical
from outcomebox.interpret.strict.raw import RawTurn, Source

_GAPS = st.sampled_from(["", "\n", "\n\n", "so", " "])
_VALUES = st.sampled_from(["x", "", "\n", " a\n", "7", "007", "<b>", "null", "True", '{"a": 1}'])
_PARAMETERS = st.dictionaries(st.sampled_from(["code", "n", "opts", "other"]), _VALUES, max_size=3)


def _canonical(form: str) -> st.SearchStrategy[str]:
    """Return outputs as the template writes them, or nearly so."""
    calls = st.tuples(st.sampled_from(["edit", "ping", "nope"]), _PARAMETERS).map(
        lambda each: call_in(form, *each)
    )
    begin = st.sampled_from(["", "hm</think>", "<think>hm</think>", "\n<think>\n</think>\n"])
    body = st.lists(st.tuples(_GAPS, calls), max_size=3).map(
        lambda each: "".join(gap + written for gap, written in each)
    )
    end = st.sampled_from(["", "\n", "<|im_end|>", " Done."])
    slip = st.sampled_from(["", "", "", "</think>", "</tool_call>", "\n</function>"])
    return st.tuples(begin, body, end).flatmap(
        lambda parts: slip.map(lambda each: "".join(parts).replace(each, "", 1))
    )


@pytest.mark.parametrize("form", ["qwen3_xml", "glm"])
@given(data=st.data(), prompt_state=PROMPT_STATES, finish=FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_the_short_way_and_the_machine_agree(
    form: str, data: st.DataObject, prompt_state: PromptState, finish: str
) -> None:
    output = data.draw(_canonical(form) | outputs(form))
    tools = data.draw(st.sampled_from([None, TOOLS]))

    def read() -> Turn:
        return interpret(
            output, tools=tools, format=form, prompt_state=prompt_state, finish_reason=finish
        )

    short = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xmlturn, "read_canonical", lambda _: None)
        assert read() == short


SHORT: list[tuple[str, PromptState]] = [
    ("Hi.", "think_closed"),
    ("hm</think>\n\n@", "think_open"),
    ("<think>hm</think>@\n@ Done.", "assistant_start"),
    ("A @ B @", "think_closed"),
]
LONG: list[tuple[str, PromptState]] = [
    ("hm @", "think_open"),
    ("<think>hm</think>@", "think_open"),
    ("b<think>a</think>c", "assistant_start"),
    ("@</tool_call>", "think_closed"),
    ("<tool_call>@", "think_closed"),
]


@pytest.mark.parametrize(
    ("written", "prompt_state", "short"),
    [(*each, True) for each in SHORT] + [(*each, False) for each in LONG],
)
def test_the_short_way_is_taken_for_canonical_outputs_only(
    written: str, prompt_state: PromptState, short: bool
) -> None:
    found: list[bool] = []

    def noted(source: Source) -> RawTurn | None:
        turn = read_canonical(source)
        found.append(turn is not None)
        return turn

    output = written.replace("@", call_in("qwen3_xml", "edit", {"code": "x", "n": 1}))
    around: dict[str, Any] = {"tools": TOOLS, "prompt_state": prompt_state}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xmlturn, "read_canonical", noted)
        interpret(output, **around)
        interpret(output, **around, finish_reason="length")
    assert found == [short, False]
