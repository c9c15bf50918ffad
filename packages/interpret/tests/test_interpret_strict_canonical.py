"""The short way through canonical outputs gives what the machine gives."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_outputs import FINISH_REASONS, PROMPT_STATES, TOOLS, call_in, outputs
from outcomebox.interpret import Interpreter, PromptState, Toolbox, Turn, interpret
from outcomebox.interpret.formats import format_named
from outcomebox.interpret.output import Output
from outcomebox.interpret.strict import xmlturn
from outcomebox.interpret.strict.canonical import read_canonical
from outcomebox.interpret.strict.raw import RawTurn, Source
from outcomebox.interpret.strict.template import read_template

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


def _streamed(output: str, finish: str, **around: Any) -> Turn:
    """Read as a stream, which the template's pattern has no part in."""
    reader = Interpreter(**around)
    reader.feed(output)
    return reader.finish(finish)


@pytest.mark.parametrize("form", ["qwen3_xml", "glm"])
@given(data=st.data(), prompt_state=PROMPT_STATES, finish=FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_the_short_way_and_the_machine_agree(
    form: str, data: st.DataObject, prompt_state: PromptState, finish: str
) -> None:
    output = data.draw(_canonical(form) | outputs(form))
    tools = data.draw(st.sampled_from([None, TOOLS]))

    def read() -> Turn:
        return _streamed(output, finish, tools=tools, format=form, prompt_state=prompt_state)

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
        _streamed(output, "stop", **around)
        _streamed(output, "length", **around)
    assert found == [short, False]


@given(data=st.data(), prompt_state=PROMPT_STATES, finish=FINISH_REASONS)
@settings(max_examples=400, deadline=None)
def test_the_template_s_pattern_and_a_stream_agree(
    data: st.DataObject, prompt_state: PromptState, finish: str
) -> None:
    output = data.draw(_canonical("qwen3_xml") | outputs("qwen3_xml"))
    tools = data.draw(st.sampled_from([None, TOOLS]))
    turn = interpret(output, tools=tools, prompt_state=prompt_state, finish_reason=finish)
    assert turn == _streamed(output, finish, tools=tools, prompt_state=prompt_state)


@pytest.mark.parametrize(
    ("output", "prompt_state"),
    [
        ("Hi.\n", "think_closed"),
        ("Hi.<|im_end|>\n", "think_closed"),
        ("hm</think>\n\n@", "think_open"),
        ("<think>hm</think>So: @\n@<|im_end|>", "assistant_start"),
        ("@\n", "assistant_start"),
    ],
)
def test_the_template_s_pattern_takes_what_the_template_writes(
    output: str, prompt_state: PromptState
) -> None:
    written = output.replace("@", call_in("qwen3_xml", "edit", {"code": "x", "n": "7"}))
    whole = Output(
        written, None, Toolbox(TOOLS), format_named("qwen3_xml"), prompt_state, "stop", None
    )
    turn = read_template(whole)
    assert turn is not None
    assert len(turn.tool_calls) == output.count("@")
    assert read_template(whole._replace(text=written + "</think")) is None
    assert read_template(whole._replace(finish_reason="length")) is None
