"""Every format under `strict`: its calls, its slips, and its text about markup."""

import re
from collections.abc import Iterable
from typing import Any

import pytest

from interpret_outputs import FORMATS, TOOLS, call_in
from outcomebox.interpret import PromptState, Turn, interpret
from outcomebox.interpret.formats import FORMAT_NAMES, format_named

NEW = [form for form in FORMATS if form not in ("qwen3_xml", "hermes")]


def read(form: str, output: str, **keywords: Any) -> Turn:
    keywords.setdefault("tools", TOOLS)
    return interpret(output, format=form, **keywords)


def statuses(turn: Turn) -> list[tuple[str, str]]:
    return [(each.name, each.status) for each in turn.tool_calls]


def test_the_names_of_the_formats() -> None:
    assert set(FORMAT_NAMES) == {*FORMATS, "qwen3_coder"}
    for name in FORMAT_NAMES:
        assert format_named(name).name in FORMATS


@pytest.mark.parametrize("form", FORMATS)
def test_a_call_with_text_before_it(form: str) -> None:
    written = call_in(form, "edit", {"code": "a\nb", "n": 7, "opts": {"a": [1, "2"]}})
    turn = read(form, f"So: {written}")
    assert (turn.reasoning, turn.content, turn.diagnostics) == (None, "So: ", ())
    (call,) = turn.tool_calls
    assert (call.name, call.status, call.message) == ("edit", "ok", "")
    assert call.arguments == {"code": "a\nb", "n": 7, "opts": {"a": [1, "2"]}}
    assert call.span == (4, 4 + len(written))


@pytest.mark.parametrize("form", FORMATS)
def test_calls_with_text_around_them(form: str) -> None:
    edit, ping = call_in(form, "edit", {"code": "x"}), call_in(form, "ping")
    turn = read(form, f"A\n{edit}\n{ping}\nB\n{ping}\n")
    assert statuses(turn) == [("edit", "ok"), ("ping", "ok"), ("ping", "ok")]
    assert (turn.content or "").split() == ["A", "B"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_string_for_a_number_is_coerced(form: str) -> None:
    value = "07" if form in ("qwen3_xml", "glm") else "7"
    (call,) = read(form, call_in(form, "edit", {"n": value})).tool_calls
    assert (call.arguments, call.status) == ({"n": 7}, "coerced")
    assert call.changes[0].parameter == "n"


@pytest.mark.parametrize("form", FORMATS)
def test_a_tool_that_is_not_offered_is_unknown(form: str) -> None:
    (call,) = read(form, call_in(form, "nope", {"n": 1})).tool_calls
    assert (call.name, call.status, call.executable) == ("nope", "unknown_tool", True)
    (call,) = read(form, call_in(form, "nope", {"n": 1}), tools=None).tool_calls
    assert (call.name, call.status) == ("nope", "ok")


@pytest.mark.parametrize("form", FORMATS)
def test_end_of_turn_tokens_are_no_content(form: str) -> None:
    for token in format_named(form).end_of_turn:
        assert read(form, f"Hi.{token}\n") == Turn(None, "Hi.")
        assert read(form, f"{token} is a token").content == f"{token} is a token"
        written = call_in(form, "edit", {"code": "x"}) + token
        assert statuses(read(form, written)) == [("edit", "ok")]


REASONING: list[tuple[PromptState, str, str]] = [
    ("think_open", "", "hm"),
    ("assistant_start", "{open}", "hm"),
    ("think_closed", "{open}", "hm"),
    ("assistant_start", "", "hm"),
]


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "llama3_json"])
@pytest.mark.parametrize(("prompt_state", "opener", "text"), REASONING)
def test_reasoning_with_a_drafted_call(
    form: str, prompt_state: PromptState, opener: str, text: str
) -> None:
    made = format_named(form)
    draft = call_in(form, "edit", {"code": "x"})
    closer = made.write("think_close")
    start = opener.replace("{open}", made.write("think_open"))
    output = f"{start}{text} {draft}{closer}\n\n{call_in(form, 'ping')}"
    turn = read(form, output, prompt_state=prompt_state)
    assert turn.reasoning == f"{text} {draft}"
    assert (turn.content, statuses(turn)) == (None, [("ping", "ok")])


@pytest.mark.parametrize("form", [form for form in NEW if form != "llama3_json"])
def test_reasoning_that_never_ends(form: str) -> None:
    assert read(form, "hm", prompt_state="think_open") == Turn("hm", None)
    written = call_in(form, "ping")
    turn = read(form, f"hm {written}", prompt_state="think_open")
    assert (turn.reasoning, statuses(turn)) == ("hm ", [("ping", "ok")])


def test_a_model_that_always_reasons_may_leave_its_opener_out() -> None:
    for state in ("assistant_start", "think_open"):
        assert read("deepseek_r1", "hm", prompt_state=state) == Turn("hm", None)
        assert read("deepseek_r1", "hm</think>so", prompt_state=state) == Turn("hm", "so")
    turn = read("deepseek_r1", "<think>hm</think>so", prompt_state="assistant_start")
    assert turn == Turn("hm", "so")
    assert read("deepseek_r1", "so", prompt_state="think_closed") == Turn(None, "so")


def test_a_format_without_reasoning_has_none() -> None:
    for state in ("assistant_start", "think_open", "think_closed"):
        assert read("llama3_json", "<think>a</think>b", prompt_state=state).reasoning is None


@pytest.mark.parametrize("form", NEW)
def test_a_call_cut_anywhere_is_truncated(form: str) -> None:
    written = call_in(form, "edit", {"code": "x", "n": 1})
    made = format_named(form)
    closed = len(written) - len(made.write("section_close"))
    opened = len(made.write("section_open")) or len(made.write("call_open"))
    for end in range(1, len(written)):
        turn = read(form, "So: " + written[:end], finish_reason="length")
        run = [each.name for each in turn.tool_calls if each.executable]
        assert run == (["edit"] if closed <= end else [])
        if end >= opened:
            assert [each.name for each in turn.tool_calls] in (["edit"], [""])
            assert turn.content == "So: "


def _deepseek(body: str) -> str:
    write = format_named("deepseek_r1").write
    body = body.replace("SEP", write("separator"))
    call = write("call_open") + body + write("call_close")
    return write("section_open") + call + write("section_close")


def _kimi(body: str) -> str:
    write = format_named("kimi_k2").write
    body = body.replace("SEP", write("separator"))
    call = write("call_open") + body + write("call_close")
    return write("section_open") + call + write("section_close")


OTHER_FORMS = {
    "deepseek without fence": ("deepseek_r1", _deepseek('functionSEPedit{"n": 1}')),
    "deepseek 3.1": ("deepseek_r1", _deepseek('editSEP{"n": 1}')),
    "kimi with blanks": ("kimi_k2", _kimi(' functions.edit:12 SEP {"n": 1} ')),
    "kimi without prefix": ("kimi_k2", _kimi('edit:0SEP{"n": 1}')),
    "kimi without index": ("kimi_k2", _kimi('editSEP{"n": 1}')),
    "mistral list": ("mistral", '[TOOL_CALLS] [{"name": "edit", "arguments": {"n": 1}}]'),
    "mistral id": ("mistral", '[TOOL_CALLS]edit[CALL_ID]a1b2c3d4e[ARGS]{"n": 1}'),
    "mistral without marker": ("mistral", '[TOOL_CALLS]edit{"n": 1}'),
    "glm on one line": (
        "glm",
        "<tool_call>edit<arg_key>n</arg_key><arg_value>1</arg_value></tool_call>",
    ),
    "llama bare": ("llama3_json", '{"name": "edit", "parameters": {"n": 1}}'),
    "llama arguments": ("llama3_json", '{"name": "edit", "arguments": {"n": 1}}'),
    "llama type": (
        "llama3_json",
        '\n{"type": "function", "name": "edit", "parameters": {"n": 1}}',
    ),
}


@pytest.mark.parametrize(("form", "output"), OTHER_FORMS.values(), ids=OTHER_FORMS.keys())
def test_the_other_forms_that_templates_write(form: str, output: str) -> None:
    turn = read(form, output)
    assert [(each.name, each.arguments, each.status) for each in turn.tool_calls] == [
        ("edit", {"n": 1}, "ok")
    ]
    assert turn.content is None


LISTS = {
    "mistral": (
        '[TOOL_CALLS] [{"name": "edit", "arguments": {"n": 1}}, '
        '{"name": "ping", "arguments": {}}]</s>'
    ),
    "llama3_json": '{"name": "edit", "parameters": {"n": 1}}; {"name": "ping", "parameters": {}}',
    "kimi_k2": _kimi('functions.edit:0SEP{"n": 1}').replace(
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>functions.ping:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
        "<|tool_calls_section_end|>",
    ),
}


@pytest.mark.parametrize(("form", "output"), LISTS.items(), ids=LISTS.keys())
def test_several_calls_behind_one_opener(form: str, output: str) -> None:
    turn = read(form, output)
    assert statuses(turn) == [("edit", "ok"), ("ping", "ok")]
    assert (turn.content, turn.diagnostics) == (None, ())
    (start, middle), (next_start, end) = turn.tool_calls[0].span, turn.tool_calls[1].span
    assert (start, output[middle:next_start].strip()) == (0, "")
    assert output[end:] in ("", "</s>")


SLIPS = {
    "kimi outside a section": (
        "kimi_k2",
        _kimi('functions.edit:0SEP{"n": 1}')
        .replace("<|tool_calls_section_begin|>", "")
        .replace("<|tool_calls_section_end|>", ""),
        "it stands outside <|tool_calls_section_begin|>",
    ),
    "kimi without the section's end": (
        "kimi_k2",
        _kimi('functions.edit:0SEP{"n": 1}').replace("<|tool_calls_section_end|>", ""),
        "it has no <|tool_calls_section_end|>",
    ),
    "kimi without end": (
        "kimi_k2",
        _kimi('functions.edit:0SEP{"n": 1}').replace("<|tool_call_end|>", ""),
        "it has no <|tool_call_end|>",
    ),
    "deepseek without the fence's end": (
        "deepseek_r1",
        _deepseek('functionSEPedit\n```json\n{"n": 1}\n'),
        "it has no ```",
    ),
    "deepseek with a bracket missing": (
        "deepseek_r1",
        _deepseek('functionSEPedit\n```json\n{"n": 1\n```'),
        "its last } is missing",
    ),
    "mistral list without end": (
        "mistral",
        '[TOOL_CALLS] [{"name": "edit", "arguments": {"n": 1}}',
        "its list has no ]",
    ),
    "llama in Python": (
        "llama3_json",
        "{'name': 'edit', 'parameters': {'n': 1}}",
        "it is a Python literal",
    ),
    "llama with a bracket missing": (
        "llama3_json",
        '{"name": "edit", "parameters": {"n": 1}',
        "its last } is missing",
    ),
    "llama with a bracket too many": (
        "llama3_json",
        '{"name": "edit", "parameters": {"n": 1}}}',
        "a bracket too many stands behind its JSON",
    ),
    "glm without the value's end": (
        "glm",
        "<tool_call>edit\n<arg_key>n</arg_key>\n<arg_value>1\n</tool_call>",
        "parameter 'n' has no </arg_value>",
    ),
    "glm without the value's end before the next": (
        "glm",
        call_in("glm", "edit", {"code": "x", "n": 1}).replace("</arg_value>\n<", "<", 1),
        "parameter 'code' has no </arg_value>",
    ),
}


@pytest.mark.parametrize(("form", "output", "says"), SLIPS.values(), ids=SLIPS.keys())
def test_one_slip_is_repaired(form: str, output: str, says: str) -> None:
    (call,) = read(form, output).tool_calls
    assert (call.name, call.status, call.arguments["n"]) == ("edit", "repaired", 1)
    assert says in call.message


@pytest.mark.parametrize("form", ["kimi_k2", "deepseek_r1"])
def test_a_call_without_arguments_is_repaired(form: str) -> None:
    output = call_in(form, "ping").replace("{}", "")
    (call,) = read(form, output).tool_calls
    assert (call.name, call.arguments, call.status) == ("ping", {}, "repaired")
    assert call.message == "it has no arguments"


BAD = {
    "deepseek_r1": _deepseek("functionSEPedit\n```json\n{bad}\n```"),
    "kimi_k2": _kimi("functions.edit:0SEP{bad}"),
    "mistral": "[TOOL_CALLS]edit[ARGS]{bad}",
    "glm": '<tool_call>\n{"name": "edit", "arguments": {}}\n</tool_call>',
    "llama3_json": '<|python_tag|>{"name": "edit", "parameters": {bad}}',
}


@pytest.mark.parametrize(("form", "bad"), BAD.items(), ids=BAD.keys())
def test_no_reading_is_malformed_and_hides_nothing(form: str, bad: str) -> None:
    ping = call_in(form, "ping")
    turn = read(form, f"So: {ping}\n{bad}\n{ping}")
    assert [each.status for each in turn.tool_calls] == ["ok", "malformed", "ok"]
    attempt = turn.tool_calls[1]
    assert attempt.name == ("" if form == "glm" else "edit")
    assert attempt.span[0] == len(f"So: {ping}\n")
    assert turn.content == "So: "


PROSE = [
    ("deepseek_r1", "The <\uff5ctool\u2581calls\u2581begin\uff5c> token opens a section."),
    ("deepseek_r1", "and <\uff5ctool\u2581call\u2581begin\uff5c> a call"),
    ("kimi_k2", "<|tool_calls_section_begin|> opens, <|tool_calls_section_end|> closes."),
    ("kimi_k2", "Write <|tool_call_begin|> and <|tool_call_argument_begin|> in it."),
    ("glm", "Use <tool_call> and </tool_call> around calls."),
    ("glm", "<arg_key> and </arg_key> hold a key, <arg_value> and </arg_value> a value."),
    ("mistral", "The [TOOL_CALLS] token, then [ARGS]."),
    ("mistral", "a [list] of [things"),
    ("llama3_json", "Use <|python_tag|> before it."),
    ("llama3_json", '{"answer": 42}'),
    ("llama3_json", '{"name": "Ann", "age": 7}'),
    ("llama3_json", 'It is {"name": "edit", "parameters": {}}'),
    ("llama3_json", 'For example:\n{"name": "nope", "parameters": {}}'),
]


@pytest.mark.parametrize(("form", "text"), PROSE)
def test_prose_about_markup_is_content(form: str, text: str) -> None:
    assert read(form, text) == Turn(None, text)
    turn = read(form, f"{text}\n{call_in(form, 'ping')}")
    assert (turn.content, statuses(turn)) == (text + "\n", [("ping", "ok")])


def test_a_bare_call_with_text_on_its_line_is_ambiguous() -> None:
    bare = '{"name": "edit", "parameters": {"n": 1}}'
    turn = read("llama3_json", f"{bare} is how to call it")
    assert (statuses(turn), turn.content) == ([("edit", "ambiguous")], " is how to call it")
    turn = read("llama3_json", f"Sure:\n{bare}\nDone.")
    assert (statuses(turn), turn.content) == ([("edit", "ok")], "Sure:\n\nDone.")


GLM_WHOLE = [
    "a </arg_value> b",
    "see </tool_call> x",
    "see <tool_call> x",
    "<arg_key> opens a key",
    "</think>",
    " padded \n",
    "",
    call_in("glm", "edit", {"code": "x"}),
    f"Example: {call_in('glm', 'ping')} done",
]


@pytest.mark.parametrize("value", GLM_WHOLE)
@pytest.mark.parametrize("around", ["@", "Text. @", "@ Text.", f"{call_in('glm', 'ping')}\n@"])
def test_a_glm_value_with_markup_in_it_is_whole(value: str, around: str) -> None:
    written = call_in("glm", "edit", {"code": value, "n": 1})
    turn = read("glm", around.replace("@", written))
    edits = [each for each in turn.tool_calls if each.name == "edit"]
    assert [(each.arguments, each.status) for each in edits] == [({"code": value, "n": 1}, "ok")]


GLM_AMBIGUOUS = {
    "the end of a call in a value": call_in("glm", "edit", {"code": "x</arg_value></tool_call> y"}),
    "a parameter twice": call_in("glm", "edit", {"code": "1"}).replace(
        "\n</tool_call>", "<arg_key>code</arg_key><arg_value>2</arg_value></tool_call>"
    ),
}


@pytest.mark.parametrize("output", GLM_AMBIGUOUS.values(), ids=GLM_AMBIGUOUS.keys())
def test_more_than_one_reading_of_a_glm_call_is_ambiguous(output: str) -> None:
    turn = read("glm", output)
    assert statuses(turn) == [("edit", "ambiguous")]
    assert turn.tool_calls[0].span == (0, len(output))


def test_text_outside_a_glm_call_s_parameters_is_malformed() -> None:
    output = call_in("glm", "edit", {"code": "x"}).replace("edit\n", "edit\nso\n")
    assert [each.status for each in read("glm", output).tool_calls] in (["malformed"], [])
    assert not any(each.executable for each in read("glm", output).tool_calls)


class Letters:
    """A tokenizer whose tokens are single characters, and some markers."""

    def __init__(self, markers: Iterable[str], text: str) -> None:
        self._texts = [*markers, *sorted(set(text))]
        self._vocab = {text: i for i, text in enumerate(self._texts)}
        self._markers = [text for text in self._texts if len(text) > 1]

    def get_vocab(self) -> dict[str, int]:
        return self._vocab

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(self._texts[i] for i in token_ids)

    def encode(self, text: str, *, spelled: bool) -> list[int]:
        """Return the ids of a text, its markers as their tokens or letter by letter."""
        if spelled:
            return [self._vocab[letter] for letter in text]
        pattern = "|".join(map(re.escape, self._markers))
        return [self._vocab[each] for each in re.findall(f"{pattern}|.", text, re.DOTALL)]


@pytest.mark.parametrize("form", [*NEW, "hermes"])
def test_markers_that_are_tokens_are_markup_as_those_tokens_only(form: str) -> None:
    made = format_named(form)
    written = call_in(form, "edit", {"code": "x", "n": 1})
    tokenizer = Letters(made.spellings.values(), written + "".join(made.spellings.values()))
    ids = tokenizer.encode(written, spelled=False)
    turn = interpret(ids, tools=TOOLS, format=form, tokenizer=tokenizer)
    assert turn == read(form, written)
    assert statuses(turn) == [("edit", "ok")]
    ids = tokenizer.encode(written, spelled=True)
    turn = interpret(ids, tools=TOOLS, format=form, tokenizer=tokenizer)
    assert turn == Turn(None, written)


def test_a_closer_that_ordinary_tokens_spell_in_a_glm_value_is_text() -> None:
    made = format_named("glm")
    value = "x</arg_value></tool_call> y"
    written = call_in("glm", "edit", {"code": value})
    tokenizer = Letters(made.spellings.values(), written)
    before, after = written.split(value)
    ids = [
        *tokenizer.encode(before, spelled=False),
        *tokenizer.encode(value, spelled=True),
        *tokenizer.encode(after, spelled=False),
    ]
    (call,) = interpret(ids, tools=TOOLS, format="glm", tokenizer=tokenizer).tool_calls
    assert (call.arguments, call.status) == ({"code": value}, "ok")
