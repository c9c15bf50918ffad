"""What holds for every output, however hostile."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interpret_outputs import (
    FINISH_REASONS,
    FORMATS,
    MARKUP,
    PROMPT_STATES,
    TOOLS,
    call,
    call_in,
    markup,
    outputs,
)
from outcomebox.interpret import Interpreter, PromptState, Turn, interpret
from outcomebox.interpret.formats import format_named
from outcomebox.interpret.turn import EXECUTABLE

OFFERED = st.sampled_from([None, [], TOOLS])


EXAMPLES = 60  # a format and a test


def of_each_format(test: Callable[..., None]) -> Callable[..., None]:
    """Run a property for each format, with an output and its surroundings of that format."""

    @pytest.mark.parametrize("form", FORMATS)
    @given(data=st.data(), tools=OFFERED, prompt_state=PROMPT_STATES, finish=FINISH_REASONS)
    @settings(max_examples=EXAMPLES, deadline=None)
    def each(
        form: str, data: st.DataObject, tools: Any, prompt_state: PromptState, finish: str
    ) -> None:
        output = data.draw(outputs(form), label="output")
        around = {"tools": tools, "format": form, "prompt_state": prompt_state}
        test(output, around, finish)

    each.__name__ = test.__name__
    run: Callable[..., None] = each
    return run


@pytest.mark.parametrize("form", FORMATS)
@given(data=st.data(), tools=OFFERED, prompt_state=PROMPT_STATES, finish=FINISH_REASONS)
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_split_gives_the_turn_of_the_whole(
    form: str, data: st.DataObject, tools: Any, prompt_state: PromptState, finish: str
) -> None:
    output = data.draw(outputs(form))
    around: dict[str, Any] = {"tools": tools, "format": form, "prompt_state": prompt_state}
    whole = interpret(output, **around, finish_reason=finish)
    cuts = data.draw(st.lists(st.integers(0, len(output)), max_size=8).map(sorted))
    reader = Interpreter(**around)
    for start, end in pairwise([0, *cuts, len(output)]):
        reader.feed(output[start:end])
    assert reader.finish(finish) == whole


@of_each_format
def test_one_character_at_a_time_gives_the_turn_of_the_whole(
    output: str, around: dict[str, Any], finish: str
) -> None:
    whole = interpret(output, **around, finish_reason=finish)
    reader = Interpreter(**around)
    for character in output:
        reader.feed(character)
    assert reader.finish(finish) == whole


@of_each_format
def test_spans_lie_in_the_output_in_order(output: str, around: dict[str, Any], finish: str) -> None:
    turn = interpret(output, **around, finish_reason=finish)
    at = 0
    for each in turn.tool_calls:
        start, end = each.span
        assert at <= start < end <= len(output)
        assert each.name in output[start:end]
        assert each.executable == (each.status in EXECUTABLE)
        assert (each.status == "ok") == (not each.message)
        at = end
    for noticed in turn.diagnostics:
        start, end = noticed.span
        assert 0 <= start < end <= len(output)


_LEFT_OUT = {"cut_marker", "doubled_opener", "empty_call", "repeated_think_open", "stray_marker"}


def _unaccounted(output: str, turn: Turn) -> Counter[str]:
    """Return the characters that are in no reasoning, content, call or diagnostic."""
    taken = [each.span for each in turn.tool_calls]
    taken += [each.span for each in turn.diagnostics if each.code in _LEFT_OUT]
    covered = {i for start, end in taken for i in range(start, end)}
    outside = Counter(
        c for i, c in enumerate(output) if i not in covered and c not in " \t\r\n\f\v"
    )
    handed_out = (turn.reasoning or "") + (turn.content or "")
    inside = Counter(c for c in handed_out if c not in " \t\r\n\f\v")
    assert inside <= outside, "something was handed out twice"
    return outside - inside


@of_each_format
def test_nothing_is_lost(output: str, around: dict[str, Any], finish: str) -> None:
    lost = _unaccounted(output, interpret(output, **around, finish_reason=finish))
    # Only the two markers of one reasoning block, and the end of the turn, may be gone.
    form = format_named(around["format"])
    opener, closer = form.write("think_open"), form.write("think_close")
    ends = [range(output.count(each) + 1) for each in form.end_of_turn]
    may_be_gone = (
        opener * a + closer * b + "".join(map(str.__mul__, form.end_of_turn, counts))
        for a, b, *counts in product((0, 1), (0, 1), *ends)
    )
    assert lost in [Counter(each) for each in may_be_gone]


@of_each_format
def test_an_output_without_calls_reads_again_as_its_content(
    output: str, around: dict[str, Any], finish: str
) -> None:
    turn = interpret(output, **around, finish_reason=finish)
    if turn.tool_calls or turn.reasoning or turn.diagnostics or turn.content is None:
        return
    spelled = format_named(around["format"]).write
    if turn.content.lstrip().startswith(spelled("think_open")):
        return  # Behind a first block it is content; at the very start it opens one.
    if spelled("think_close") in output:
        around = {**around, "prompt_state": "think_closed"}
    assert interpret(turn.content, **around, finish_reason=finish) == turn


_BEGIN = [form for form in FORMATS if form != "llama3_json"]  # which has no reasoning


@pytest.mark.parametrize("form", _BEGIN)
@given(data=st.data(), finish=FINISH_REASONS)
@settings(max_examples=EXAMPLES, deadline=None)
def test_nothing_drafted_in_reasoning_is_executable(
    form: str, data: st.DataObject, finish: str
) -> None:
    output = data.draw(markup(form))
    turn = interpret(
        output, tools=TOOLS, format=form, prompt_state="think_open", finish_reason=finish
    )
    closer = output.find(format_named(form).write("think_close"))
    for each in turn.tool_calls:
        assert not (each.executable and each.span[0] < closer)


JSON_FORMATS = [form for form in FORMATS if form not in ("qwen3_xml", "glm")]


@pytest.mark.parametrize("form", JSON_FORMATS)
@given(data=st.data(), finish=FINISH_REASONS)
@settings(max_examples=EXAMPLES, deadline=None)
def test_whatever_a_string_holds_the_call_is_whole(
    form: str, data: st.DataObject, finish: str
) -> None:
    value, other = data.draw(markup(form)), data.draw(markup(form))
    output = call_in(form, "edit", {"code": value, "opts": {"a": other}})
    turn = interpret(output, tools=TOOLS, format=form, finish_reason=finish)
    found = [(each.name, each.arguments) for each in turn.tool_calls]
    assert found == [("edit", {"code": value, "opts": {"a": other}})]
    open_end = form in ("llama3_json", "mistral") and finish == "length"
    assert turn.tool_calls[0].status == ("truncated" if open_end else "ok")
    assert turn.content is None


@pytest.mark.parametrize("form", FORMATS)
@given(data=st.data(), value=st.text(), n=st.integers())
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_cut_call_is_never_executable(form: str, data: st.DataObject, value: str, n: int) -> None:
    before = "So:\n" + call_in(form, "ping") + "\n"
    output = before + call_in(form, "edit", {"code": value, "n": n})
    cut = data.draw(st.integers(len(before), len(output) - 1))
    turn = interpret(output[:cut], tools=TOOLS, format=form, finish_reason="length")
    run = [each.name for each in turn.tool_calls if each.executable]
    assert run in ([], ["ping"], ["ping", "edit"])
    if run == ["ping", "edit"]:
        # What is missing is the end of the section, or a value that the format writes as text.
        assert turn.tool_calls[1].arguments == {"code": value, "n": n}


@given(MARKUP, FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_nothing_before_the_end_of_reasoning_is_executable(output: str, finish: str) -> None:
    turn = interpret(output, tools=TOOLS, prompt_state="think_open", finish_reason=finish)
    closer = output.find("</think>")
    for each in turn.tool_calls:
        assert not (each.executable and each.span[0] < closer)


_PIECES = {
    "qwen3_xml": [
        "</parameter>",
        "</function>",
        "</tool_call>",
        "<function=ping>",
        "<parameter=x>",
        "<think>",
    ],
    "glm": [
        "</arg_value>",
        "</tool_call>",
        "<tool_call>ping\n",
        "<arg_key>x</arg_key>\n<arg_value>",
        "<arg_key>",
        "<think>",
    ],
}


def _values(form: str) -> st.SearchStrategy[str]:
    quoted = [call_in(form, "ping"), call_in(form, "edit", {"code": "q"})]
    pieces = [*_PIECES[form], *quoted, " ", "\n", "a", "rm -rf /"]
    return st.lists(st.sampled_from(pieces), max_size=6).map("".join)


_VALUES = _values("qwen3_xml")

# The end of something directly before the beginning of the next is that, wherever it stands.
_NEXT = {
    "qwen3_xml": re.compile(
        r"</parameter>\s*<parameter=|</(parameter|function)>(\s|</?tool_call>)*<function="
    ),
    "glm": re.compile(r"</arg_value>(\s|</?tool_call>)*(<arg_key>|ping\s*<|edit\s*<|<tool_call>)"),
}


@pytest.mark.parametrize("form", ["qwen3_xml", "glm"])
@given(data=st.data(), first=st.booleans(), finish=FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_no_part_of_a_value_is_executed(
    form: str, data: st.DataObject, first: bool, finish: str
) -> None:
    value, other = data.draw(_values(form)), data.draw(_values(form))
    assume(not _NEXT[form].search(value) and not _NEXT[form].search(other))
    before = "" if first else call_in(form, "ping") + "\n"
    output = before + call_in(form, "edit", {"code": value, "n": "1", "opts": other})
    turn = interpret(output, tools=TOOLS, format=form, finish_reason=finish)
    run = [(each.name, each.arguments.get("code")) for each in turn.tool_calls if each.executable]
    meant = [("ping", None), ("edit", value)] if before else [("edit", value)]
    assert run in (meant, meant[:-1], [])


_SLIPS = st.sampled_from(["", "<tool_call>\n", "\n</tool_call>", "</function>\n", "</parameter>\n"])


@given(st.lists(_VALUES, min_size=1, max_size=2), _SLIPS, st.data())
@settings(max_examples=200, deadline=None)
def test_a_cut_output_runs_no_call_that_the_whole_does_not_run(
    values: list[str], slip: str, data: st.DataObject
) -> None:
    written = [call("edit", {"code": value, "n": "1"}).replace(slip, "") for value in values]
    output = "So:\n" + "\n".join(written)
    whole = interpret(output, tools=TOOLS)
    if not all(each.executable for each in whole.tool_calls) or whole.content != "So:\n":
        return
    full = [(each.name, each.arguments) for each in whole.tool_calls]
    cut = data.draw(st.integers(0, len(output)))
    part = interpret(output[:cut], tools=TOOLS, finish_reason="length")
    run = [(each.name, each.arguments) for each in part.tool_calls if each.executable]
    assert run == full[: len(run)]


@pytest.mark.parametrize("form", FORMATS[1:])
@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_cut_output_of_any_format_runs_no_call_that_the_whole_does_not_run(
    form: str, data: st.DataObject
) -> None:
    piece = markup(form)
    edit = piece.map(lambda value: call_in(form, "edit", {"code": value, "n": 1}))
    parts = st.one_of(edit, edit, st.just(call_in(form, "ping")), piece, st.just("text"))
    output = "\n".join(data.draw(st.lists(parts, min_size=1, max_size=3)))
    whole = interpret(output, tools=TOOLS, format=form)
    if not all(each.executable for each in whole.tool_calls):
        return
    full = [(each.name, each.arguments) for each in whole.tool_calls]
    cut = data.draw(st.integers(0, len(output)))
    part = interpret(output[:cut], tools=TOOLS, format=form, finish_reason="length")
    run = [(each.name, each.arguments) for each in part.tool_calls if each.executable]
    assert run == full[: len(run)]
