"""What holds for every output, however hostile."""

import re
from collections import Counter
from itertools import pairwise, product
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interpret_outputs import FINISH_REASONS, MARKUP, OUTPUTS, PROMPT_STATES, TOOLS, call
from outcomebox.interpret import Interpreter, PromptState, Turn, interpret
from outcomebox.interpret.turn import EXECUTABLE

OFFERED = st.sampled_from([None, [], TOOLS])


@given(OUTPUTS, OFFERED, PROMPT_STATES, FINISH_REASONS, st.data())
@settings(max_examples=200, deadline=None)
def test_any_split_gives_the_turn_of_the_whole(
    output: str, tools: Any, prompt_state: PromptState, finish: str, data: st.DataObject
) -> None:
    whole = interpret(output, tools=tools, prompt_state=prompt_state, finish_reason=finish)
    cuts = data.draw(st.lists(st.integers(0, len(output)), max_size=8).map(sorted))
    reader = Interpreter(tools=tools, prompt_state=prompt_state)
    for start, end in pairwise([0, *cuts, len(output)]):
        reader.feed(output[start:end])
    assert reader.finish(finish) == whole


@given(OUTPUTS, PROMPT_STATES, FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_one_character_at_a_time_gives_the_turn_of_the_whole(
    output: str, prompt_state: PromptState, finish: str
) -> None:
    whole = interpret(output, tools=TOOLS, prompt_state=prompt_state, finish_reason=finish)
    reader = Interpreter(tools=TOOLS, prompt_state=prompt_state)
    for character in output:
        reader.feed(character)
    assert reader.finish(finish) == whole


@given(OUTPUTS, OFFERED, PROMPT_STATES, FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_spans_lie_in_the_output_in_order(
    output: str, tools: Any, prompt_state: PromptState, finish: str
) -> None:
    turn = interpret(output, tools=tools, prompt_state=prompt_state, finish_reason=finish)
    at = 0
    for each in turn.tool_calls:
        start, end = each.span
        assert at <= start < end <= len(output)
        assert output[start] == "<"
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


@given(OUTPUTS, OFFERED, PROMPT_STATES, FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_nothing_is_lost(output: str, tools: Any, prompt_state: PromptState, finish: str) -> None:
    turn = interpret(output, tools=tools, prompt_state=prompt_state, finish_reason=finish)
    lost = _unaccounted(output, turn)
    # Only the two markers of one reasoning block, and the end of the turn, may be gone.
    ends = [range(output.count(each) + 1) for each in ("<|im_end|>", "<|endoftext|>")]
    markup = (
        Counter("<think>" * a + "</think>" * b + "<|im_end|>" * c + "<|endoftext|>" * d)
        for a, b, c, d in product((0, 1), (0, 1), *ends)
    )
    assert lost in list(markup)


@given(MARKUP, FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_nothing_before_the_end_of_reasoning_is_executable(output: str, finish: str) -> None:
    turn = interpret(output, tools=TOOLS, prompt_state="think_open", finish_reason=finish)
    closer = output.find("</think>")
    for each in turn.tool_calls:
        assert not (each.executable and each.span[0] < closer)


_VALUES = st.lists(
    st.sampled_from(
        [
            "</parameter>",
            "</function>",
            "</tool_call>",
            "<function=ping>",
            "<parameter=x>",
            "<think>",
            " ",
            "\n",
            "a",
            "rm -rf /",
            call("ping"),
            call("edit", {"code": "q"}),
        ]
    ),
    max_size=6,
).map("".join)


# The end of something directly before the beginning of the next is that, wherever it stands.
_NEXT = re.compile(
    r"</parameter>\s*<parameter=|</(parameter|function)>(\s|</?tool_call>)*<function="
)


@given(_VALUES, _VALUES, st.sampled_from(["", call("ping") + "\n"]), FINISH_REASONS)
@settings(max_examples=200, deadline=None)
def test_no_part_of_a_value_is_executed(value: str, other: str, before: str, finish: str) -> None:
    assume(not _NEXT.search(value) and not _NEXT.search(other))
    output = before + call("edit", {"code": value, "n": "1", "opts": other})
    turn = interpret(output, tools=TOOLS, finish_reason=finish)
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
