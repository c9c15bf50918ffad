"""Work grows with the input and no faster: counted in steps, never in seconds."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from interpret_outputs import FORMATS, TOOLS, call, call_in
from outcomebox.interpret import Interpreter, interpret
from outcomebox.interpret.coercion.literals import MAX_DEPTH
from outcomebox.interpret.formats import format_named
from outcomebox.interpret.formats.base import MAX_NAME
from outcomebox.interpret.scanner import Scanner

LONGEST = MAX_NAME + len("<parameter=>")


def _lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python `work` runs."""
    count = 0

    def tracer(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return tracer

    work()  # what is loaded or cached on first use does not count
    before = sys.gettrace()
    # A collection would run other people's callbacks, and their lines would count as ours.
    gc.disable()
    sys.settrace(tracer)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


FLOODS = {
    "less-than": "<",
    "greater-than": ">",
    "both": "<>",
    "spaces": " ",
    "call openers": "<tool_call>",
    "call closers": "</tool_call>",
    "reasoning openers": "<think>",
    "reasoning blocks": "<think>x</think>",
    "unclosed calls": "<tool_call>\n<function=edit>\n<parameter=code>\n",
    "empty functions": "<function=edit>\n",
    "parameter openers": "<parameter=n>\n",
    "parameter closers": "</parameter>",
    "call ends": "</parameter></function></tool_call>",
    "half ends": "</function></tool_call>",
    "calls": call("edit", {"code": "x", "n": "1"}),
    "calls and stray ends": call("ping") + call("edit", {"n": "1"}) + "</function></tool_call>",
    "calls and blocks": call("ping") + "<think></think>",
    "unfinished names": "<function=",
    "ends of turn": "<|im_end|>",
    "JSON bodies": '<tool_call>{"name": 1}',
}


_HERMES = '<tool_call>{"name": "edit", "arguments": {"code": "'
_BARE = '{"name": "edit", "parameters": {"code": "x"}}'


def _floods_of(form: str) -> dict[str, str]:
    """Return floods of each of a format's own markers, and of what is costly in its bodies."""
    made = format_named(form)
    found = {str(kind): made.write(kind, "edit") for kind in made.spellings}
    found["calls"] = call_in(form, "edit", {"code": "x", "n": 1})
    found["texts and closers"] = f"x{made.write('call_close')}"
    if form == "hermes":
        found |= {
            "unfinished strings": _HERMES,
            "escaped strings": _HERMES + '\\\\"',
            "alternating quotes": f"{_HERMES}'<tool_call>{{'name': '",
            "Python literals": "<tool_call>{'name': 'edit', 'arguments': {'code': '",
            "nested Python": "<tool_call>{'name': {",
            "nested objects": '<tool_call>{"name": "edit", "arguments": {"a": ',
            "bad objects": '<tool_call>{"name": "edit", "arguments": {bad}}</tool_call>',
            "objects in a wrapper": '{"name": "ping", "arguments": {}}\n',
            "lists": '<tool_call>[{"name": "ping"}, ',
        }
    if form == "llama3_json":
        found |= {
            "lines": _BARE + "\n",
            "lines and text": _BARE + "\nx\n",
            "one line": _BARE + "; ",
            "nested lines": '{"name": "edit", "parameters":\n',
            "nested Python": "{'name':\n",
            "objects that are no calls": '{"a":\n',
            "broken lines": '{"name": "edit", "parameters": {"code": bad}}\n',
        }
    if form == "mistral":
        found |= {"list": '{"name": "ping", "arguments": {}}, ', "names": "edit[ARGS]{"}
    return found


FLOODS_OF_FORMATS = [
    pytest.param(form, prefix, unit, id=f"{form}: {prefix} {name}")
    for form in FORMATS[1:]
    for name, unit in _floods_of(form).items()
    for prefix in ("", call_in(form, "ping")[:-1])
    if unit
]


def _flood(unit: str, size: int) -> str:
    return unit * (size // len(unit))


@pytest.mark.parametrize("prefix", ["", "<tool_call>\n<function=edit>\n<parameter=code>\n"])
@pytest.mark.parametrize("unit", FLOODS.values(), ids=FLOODS.keys())
def test_steps_are_linear_in_a_flood(prefix: str, unit: str) -> None:
    def steps(size: int) -> int:
        output = prefix + _flood(unit, size)
        return _lines_run(lambda: interpret(output, tools=TOOLS, prompt_state="assistant_start"))

    assert steps(8_000) <= 2.2 * steps(4_000) + 2_000


@pytest.mark.parametrize(("form", "prefix", "unit"), FLOODS_OF_FORMATS)
def test_steps_are_linear_in_a_flood_of_any_format(form: str, prefix: str, unit: str) -> None:
    def steps(size: int, reason: str) -> int:
        output = prefix + _flood(unit, size)
        return _lines_run(
            lambda: interpret(
                output,
                tools=TOOLS,
                format=form,
                prompt_state="assistant_start",
                finish_reason=reason,
            )
        )

    for reason in ("stop", "length"):
        assert steps(4_000, reason) <= 2.2 * steps(2_000, reason) + 2_000


def _typed(text: str) -> Callable[[], object]:
    tree = {
        "anyOf": [
            {"type": "integer"},
            {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Tree"}},
        ]
    }
    tool = {
        "name": "f",
        "parameters": {
            "properties": {"a": {"$ref": "#/$defs/Tree"}},
            "$defs": {"Tree": tree},
        },
    }
    output = call("f", {"a": text})
    return lambda: interpret(output, tools=[tool])


VALUES: dict[str, Callable[[int], str]] = {
    "digits": lambda n: "1" * n,
    "fraction": lambda n: "0." + "1" * n,
    "brackets": lambda n: "[" * n,
    "quotes": lambda n: '["' + '\\"' * n,
    "parentheses": lambda n: "(" * n,
    "Python strings": lambda n: "[" + "'a'," * (n // 4) + "]",
    "numbers as strings": lambda n: "[" + ",".join(['"1"'] * (n // 4)) + "]",
    "misfits": lambda n: "[" + ",".join(["1.5"] * (n // 4)) + "]",
    "deep misfits": lambda n: "[" + ",".join(["[[[[[[true]]]]]]"] * (n // 16)) + "]",
    "a long key": lambda n: '{"' + "k" * n + '": [' + ",".join(['"1"'] * (n // 4)) + "]}",
}


@pytest.mark.parametrize("write", VALUES.values(), ids=VALUES.keys())
def test_steps_are_linear_in_a_value(write: Callable[[int], str]) -> None:
    small, large = write(2_000), write(4_000)
    assert _lines_run(_typed(large)) <= 2.2 * _lines_run(_typed(small)) + 2_000


def test_nested_alternatives_do_not_multiply() -> None:
    tree = {"anyOf": [{"items": {"$ref": "#/$defs/T"}}, {"type": "array", "$ref": "#/$defs/T"}]}
    tree["anyOf"].append({"type": "array", "items": {"$ref": "#/$defs/T"}})
    parameters = {"properties": {"a": {"$ref": "#/$defs/T"}}, "$defs": {"T": tree}}
    output = call("f", {"a": "[" * MAX_DEPTH + "]" * MAX_DEPTH})
    tool = {"name": "f", "parameters": parameters}
    assert _lines_run(lambda: interpret(output, tools=[tool])) < 20_000


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("unit", FLOODS.values(), ids=FLOODS.keys())
def test_a_stream_rereads_no_more_than_one_marker_a_chunk(form: str, unit: str) -> None:
    output = _flood(unit, 2_000)
    whole, single = Scanner(format_named(form)), Scanner(format_named(form))
    whole.feed(output)
    for character in output:
        single.feed(character)
    assert whole.scanned == len(output)
    assert single.scanned <= len(output) * (1 + LONGEST)
    assert single.markers == whole.markers


@pytest.mark.parametrize("form", FORMATS)
def test_what_begins_a_marker_stands_nowhere_else_in_one(form: str) -> None:
    spellings = format_named(form).spellings.values()
    initials = {each[0] for each in spellings}
    for each in spellings:
        assert initials.isdisjoint(each[1:])


def test_a_name_that_never_ends_is_let_go() -> None:
    reader = Interpreter(tools=TOOLS)
    for _ in range(4):
        reader.feed("<function=" + "a" * MAX_NAME)
    scanner = reader._scanner
    assert scanner is not None
    held = 4 * (MAX_NAME + len("<function=")) - scanner.held_at
    assert held <= LONGEST
