"""The strict reading: what is a call, what is text, and what must not be executed."""

from typing import Any

import pytest

from interpret_outputs import TOOLS, call
from outcomebox.interpret import PromptState, Turn, interpret

EDIT = call("edit", {"code": "x"})
PING = call("ping")


def read(output: str, **keywords: Any) -> Turn:
    keywords.setdefault("tools", TOOLS)
    return interpret(output, **keywords)


def statuses(turn: Turn) -> list[tuple[str, str]]:
    return [(each.name, each.status) for each in turn.tool_calls]


WHOLE = [
    "a </parameter> b",
    "a </parameter>\n</parameter>",
    "see </function> x",
    "see </function></tool_call> x",
    "see </tool_call> x",
    "see <function=ping>",
    "see <tool_call> x",
    "<tool_call><function=ping> opens",
    "use <parameter=n> inline",
    "</think>",
    "<think>\nplan\n</think>",
    "if a<b and c>d: print('<' * 3)",
    "    x = 1\n\n    y = 2  ",
    "\n",
    "",
    "ends in <",
    EDIT,
    f"Example:\n{EDIT}\ndone",
    f"{EDIT}\n{PING}",
    f"nested: {call('edit', {'code': EDIT})}",
    "Example:\n<function=ping>\n</function>\nok",
    "Use:\n<parameter=other>\n1\n</parameter>\nlike this.",
    "Use:\n<parameter=code>\n1\n</parameter>\nlike this.",
    EDIT.replace("</function>\n", "") + " is wrong",
    "<function=edit>\n<parameter=code>\nx\n</parameter>\n</function> is one",
    call("edit", {"code": "a </parameter></function> b"}),
]


@pytest.mark.parametrize("value", WHOLE)
@pytest.mark.parametrize("around", ["{}", "Text. {}", "{} Text.", PING + "\n{}", "{}\n" + PING])
def test_a_value_with_markup_in_it_is_whole(value: str, around: str) -> None:
    turn = read(around.format(call("edit", {"code": value, "n": "1"})))
    edits = [each for each in turn.tool_calls if each.name == "edit"]
    assert [(each.arguments, each.status) for each in edits] == [({"code": value, "n": 1}, "ok")]
    assert (turn.content or "").strip() in ("", "Text.")


AMBIGUOUS = {
    "the end of a call in a value": call("edit", {"code": f"x{EDIT[-40:]} y"}),
    "an opener without closer": call("edit", {"code": "<tool_call>\n<function=ping>\n</function>"}),
    "a parameter twice": call("edit", {"code": "1"}).replace(
        "</function>", "<parameter=code>\n2\n</parameter>\n</function>"
    ),
    "no closer, but one in the text": EDIT.replace("x\n</parameter>", "x </parameter> y"),
    "an undeclared parameter at the start of a line": call(
        "edit", {"code": "a\n<parameter=other>\nb"}
    ),
    "a quoted call whose value is not closed": call(
        "edit", {"code": EDIT.replace("</parameter>\n", "") + " is wrong"}
    ),
    "a call that is never closed before the next": (
        "<tool_call>\n<function=edit>\n<parameter=code>\nx\n" + EDIT
    ),
}


@pytest.mark.parametrize("output", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_more_than_one_reading_is_ambiguous_and_not_executable(output: str) -> None:
    turn = read(output)
    assert statuses(turn) == [("edit", "ambiguous")]
    assert not turn.tool_calls[0].executable
    assert turn.tool_calls[0].span == (0, len(output))
    assert turn.tool_calls[0].message.startswith("not executable; ")


REPAIRED = {
    "parameter not closed before the function's end": EDIT.replace("</parameter>\n", ""),
    "function not closed": EDIT.replace("</function>\n", ""),
    "wrapper not closed": EDIT.replace("\n</tool_call>", ""),
    "wrapper not opened": EDIT.replace("<tool_call>\n", ""),
    "no wrapper": EDIT.replace("<tool_call>\n", "").replace("\n</tool_call>", ""),
}


OTHER = call("edit", {"code": "y"})


@pytest.mark.parametrize("after", ["", "\nDone.", "\n" + PING, "\n" + OTHER, "<|im_end|>\n"])
@pytest.mark.parametrize("output", REPAIRED.values(), ids=REPAIRED.keys())
def test_one_slip_is_repaired(output: str, after: str) -> None:
    turn = read(output + after)
    first = turn.tool_calls[0]
    assert (first.name, first.arguments, first.status) == ("edit", {"code": "x"}, "repaired")
    assert first.message
    assert [each.status for each in turn.tool_calls[1:]] == ["ok"] * after.count("<tool_call>")
    assert turn.content == ("\nDone." if "Done" in after else None)


def test_a_parameter_not_closed_before_the_next_is_repaired() -> None:
    turn = read(call("edit", {"code": "x", "n": "1"}).replace("</parameter>\n", "", 1))
    assert turn.tool_calls[0].arguments == {"code": "x", "n": 1}
    assert statuses(turn) == [("edit", "repaired")]


END = "\n</parameter>\n</function>\n</tool_call>"


def test_stray_closers_throw_doubt_on_every_call_with_a_value_before_them() -> None:
    output = f"{PING}{EDIT}{EDIT}{PING} y{END}{EDIT}"
    assert [status for _, status in statuses(read(output))] == [
        "ok",
        "ambiguous",
        "ambiguous",
        "ambiguous",
        "ok",
    ]


def test_a_call_behind_a_stray_closer_and_a_parameter_may_stand_in_a_value() -> None:
    values = {"code": "</parameter></tool_call>", "opts": "<function=ping>\n<parameter=x>"}
    turn = read(call("edit", values) + "\n" + PING)
    assert [each.name for each in turn.tool_calls] == ["edit", "ping", "ping"]
    assert {each.status for each in turn.tool_calls} == {"ambiguous"}


def test_stray_closers_without_a_value_before_them_are_text() -> None:
    turn = read(f"{EDIT}</think>{PING} y{END}", prompt_state="think_open")
    assert (statuses(turn), turn.content) == ([("ping", "ok")], f" y{END}")


def test_stray_closers_in_reasoning_throw_doubt_on_nothing() -> None:
    output = f"{EDIT}<think>{EDIT} y{END}</think>{PING}"
    turn = read(output, prompt_state="assistant_start")
    assert statuses(turn) == [("edit", "ok"), ("ping", "ok")]


def test_a_stray_closer_inside_a_function_throws_doubt_on_the_call_before() -> None:
    value = "</parameter></function><function=ping>"
    turn = read(call("edit", {"code": value, "n": "1"}))
    assert not any(each.executable for each in turn.tool_calls)
    assert [each.name for each in turn.tool_calls] == ["edit", "ping"]


MALFORMED = {
    "JSON in the wrapper": '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>',
    "JSON in the function": '<tool_call>\n<function=edit>\n{"n": 1}\n</function>\n</tool_call>',
    "a function opener without its end": EDIT.replace("edit>", "edit"),
    "no function": EDIT.replace("<function=edit>\n", ""),
    "no name": EDIT.replace("=edit>", "=>"),
    "a parameter opener without its end": EDIT.replace("code>", "code"),
    "closed by the wrapper alone": EDIT.replace("</parameter>\n</function>\n", ""),
    "never closed": "<tool_call>\n<function=edit>\n<parameter=code>\nx",
}


@pytest.mark.parametrize("output", MALFORMED.values(), ids=MALFORMED.keys())
def test_no_reading_is_malformed_and_reported(output: str) -> None:
    turn = read(f"So: {output}")
    assert [each.status for each in turn.tool_calls] == ["malformed"]
    assert turn.tool_calls[0].span == (4, 4 + len(output))
    assert not turn.tool_calls[0].executable
    assert turn.content == "So: "


@pytest.mark.parametrize("end", range(len("<tool_call>"), len(EDIT)))
def test_a_call_cut_anywhere_is_truncated(end: int) -> None:
    turn = read("So: " + EDIT[:end], finish_reason="length")
    assert [each.status for each in turn.tool_calls] == ["truncated"]
    assert turn.tool_calls[0].name in ("", "edit")
    assert turn.content == "So: "


def test_a_call_behind_one_that_a_cut_leaves_open_may_be_quoted_in_it() -> None:
    output = EDIT.replace("</parameter>\n", "").replace("</tool_call>", PING) + " and"
    assert statuses(read(output)) == [("edit", "repaired"), ("ping", "ok")]
    assert statuses(read(output, finish_reason="length")) == [
        ("edit", "truncated"),
        ("ping", "ambiguous"),
    ]


def test_a_bare_call_needs_a_closer_behind_it_in_an_output_that_was_cut() -> None:
    bare = EDIT.removeprefix("<tool_call>\n")
    assert statuses(read(bare, finish_reason="length")) == [("edit", "repaired")]
    for cut in (bare[:-13] + " and", bare[:-13]):
        assert statuses(read(cut)) == [("edit", "repaired")]
        assert statuses(read(cut, finish_reason="length")) == [("edit", "truncated")]


def test_a_call_of_another_form_that_is_cut_is_truncated() -> None:
    turn = read('So: <tool_call>\n{"na', finish_reason="length")
    assert [each.status for each in turn.tool_calls] == ["truncated"]
    assert turn.content == "So: "


@pytest.mark.parametrize("reason", ["length", "abort", "content_filter"])
def test_every_cut_counts(reason: str) -> None:
    assert [each.status for each in read(EDIT[:-12], finish_reason=reason).tool_calls] == [
        "truncated"
    ]


def test_a_complete_call_before_a_cut_stands() -> None:
    turn = read(PING + "\n" + EDIT[:50], finish_reason="length")
    assert statuses(turn) == [("ping", "ok"), ("edit", "truncated")]


@pytest.mark.parametrize(
    ("prompt_state", "output"),
    [("think_open", "pl"), ("assistant_start", "<think>pl"), ("think_closed", "<think>pl")],
)
def test_a_marker_cut_in_the_middle_is_neither_reasoning_nor_content(
    prompt_state: PromptState, output: str
) -> None:
    turn = read(output + "</thi", prompt_state=prompt_state, finish_reason="length")
    assert (turn.reasoning, turn.content) == ("pl", None)
    assert [each.code for each in turn.diagnostics] == ["cut_marker"]
    for text in ("a <t", "a <function=b\nc", "a <function=" + "b" * 200):
        assert read(text, finish_reason="length").content == text


PROSE = [
    "Use the <tool_call> tag",
    "Use <tool_call> and </tool_call> around calls.",
    "Close it with </parameter></function></tool_call>.",
    "Write <tool_call><function=NAME> and end with </function></tool_call>.",
    "A <function=edit> opens, mid-sentence.",
    "It ends with <tool_call>",
    "<function=nope>\n</function>",
    "a < b > c <tool_call",
    "\u00a0",
]


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("before", ["", "Hm. "])
def test_prose_about_markup_is_content(text: str, before: str) -> None:
    turn = read(before + text)
    assert turn == Turn(None, before + text)


@pytest.mark.parametrize("text", PROSE[:5])
def test_a_call_after_prose_about_markup_is_a_call(text: str) -> None:
    turn = read(f"{text}\n{PING}")
    assert turn.content == text + "\n"
    assert statuses(turn) == [("ping", "ok")]


def test_markup_in_the_text_after_a_call_is_text() -> None:
    assert read(EDIT + " and </tool_call> closes").content == " and </tool_call> closes"
    turn = read(PING.replace("\n</tool_call>", " then <function=ping>\n</function> too"))
    assert turn.content == " then <function=ping>\n</function> too"
    assert statuses(turn) == [("ping", "repaired")]


LEFT_OUT = {
    "empty_call": "A <tool_call>\n</tool_call> B " + PING,
    "doubled_opener": "<tool_call>\n" + EDIT,
    "stray_marker": EDIT + "\n</tool_call>",
}


@pytest.mark.parametrize(("code", "output"), LEFT_OUT.items(), ids=LEFT_OUT.keys())
def test_empty_markup_is_left_out_and_noticed(code: str, output: str) -> None:
    turn = read(output)
    assert [each.code for each in turn.diagnostics] == [code]
    assert [each.status for each in turn.tool_calls] == ["ok"]
    assert "<" not in (turn.content or "")


def test_text_between_a_function_and_its_wrapper_s_end_is_content() -> None:
    turn = read(PING.replace("</function>", "</function>\nso"))
    assert turn.content == "\nso\n"
    assert statuses(turn) == [("ping", "repaired")]
    assert [each.code for each in turn.diagnostics] == ["stray_marker"]


def test_two_functions_in_one_wrapper_share_its_span() -> None:
    output = EDIT.replace("</function>", "</function>\n<function=ping>\n</function>")
    turn = read(output)
    assert statuses(turn) == [("edit", "ok"), ("ping", "ok")]
    (a, b), (c, d) = turn.tool_calls[0].span, turn.tool_calls[1].span
    assert (a, d) == (0, len(output))
    assert output[b:c] == "\n"


def test_text_is_kept_in_order_and_separators_are_not() -> None:
    turn = read(f"A \n{PING}\n\n{PING} B{PING}\n")
    assert turn.content == "A \n B"


def test_end_of_turn_tokens_are_no_content() -> None:
    assert read("Hi.<|im_end|>\n").content == "Hi."
    assert read("Hi.<|im_end|><|endoftext|>").content == "Hi."
    assert read("<|im_end|> is a token").content == "<|im_end|> is a token"


def test_unknown_tools_are_flagged_where_tools_are_known() -> None:
    output = call("nope", {"n": "7"})
    unknown = read(output).tool_calls[0]
    assert (unknown.status, unknown.executable) == ("unknown_tool", True)
    assert unknown.arguments == {"n": "7"}
    assert "'nope'" in unknown.message
    assert read(output, tools=[]).tool_calls[0].status == "unknown_tool"
    assert read(output, tools=None).tool_calls[0].status == "ok"


@pytest.mark.parametrize("name", ["qwen3_xml", "qwen3_coder"])
def test_both_names_of_the_format(name: str) -> None:
    assert statuses(read(PING, format=name)) == [("ping", "ok")]
