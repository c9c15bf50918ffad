"""The package's face: types, errors, weight, and the README's examples."""

import doctest
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any, assert_type

import pytest

import outcomebox.interpret as face
from outcomebox.interpret import (
    Coercion,
    Diagnostic,
    Interpreter,
    Toolbox,
    ToolCall,
    Turn,
    interpret,
    render,
)

PACKAGE = Path(face.__file__).parent


def test_the_types_of_the_face() -> None:
    turn = interpret("Hi.")
    assert_type(turn, Turn)
    assert_type(turn.reasoning, str | None)
    assert_type(turn.content, str | None)
    assert_type(turn.tool_calls, tuple[ToolCall, ...])
    assert_type(turn.diagnostics, tuple[Diagnostic, ...])
    for call in turn.tool_calls:
        assert_type(call.arguments, dict[str, Any])
        assert_type(call.span, tuple[int, int])
        assert_type(call.changes, tuple[Coercion, ...])
    assert_type(Interpreter().finish(), Turn)
    assert_type(render(reasoning=None, content="x", tool_calls=[]), str)
    assert (PACKAGE / "py.typed").is_file()


def test_everything_public_is_documented() -> None:
    named = [getattr(face, name) for name in face.__all__]
    documented = [each for each in named if isinstance(each, type | FunctionType)]
    assert {each.__name__ for each in documented} == {
        "Coercion",
        "Diagnostic",
        "Interpreter",
        "ToolCall",
        "Toolbox",
        "Turn",
        "interpret",
        "render",
    }
    for each in documented:
        assert each.__doc__, each


def test_a_turn_is_frozen() -> None:
    turn = interpret("Hi.")
    with pytest.raises(AttributeError):
        turn.content = "Bye."  # type: ignore[misc]


@pytest.mark.parametrize("output", [b"text", None, 7, {1, 2}])
def test_only_text_and_ids_are_read(output: Any) -> None:
    with pytest.raises(
        TypeError, match=r"a str or a sequence of token ids, not (bytes|None|int|s)"
    ):
        interpret(output)


@pytest.mark.parametrize("output", [[1, 2, 3], (1,), []])
def test_ids_need_a_tokenizer(output: Any) -> None:
    with pytest.raises(TypeError, match="pass the model's tokenizer"):
        interpret(output)


UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "format": ({"format": "xml"}, "format 'xml' is unknown; use one of: deepseek_r1, glm, "),
    "profile": ({"profile": "lax"}, "profile 'lax' is unknown; use one of: sglang-0.5, sglang-0.5"),
    "format of a profile": (
        {"format": "glm", "profile": "verl-0.9"},
        "profile 'verl-0.9' has no reading of format 'glm'; it reads: hermes, qwen3_xml",
    ),
    "prompt state": (
        {"prompt_state": "open"},
        "prompt_state 'open' is unknown; use one of: assistant_start, think_open, think_closed",
    ),
    "tool without a name": ({"tools": [{"name": "a"}, {"function": {}}]}, "tools[1]: an OpenAI"),
    "tool that is none": ({"tools": ["a"]}, "tools[0]: an OpenAI tool object"),
    "tool offered twice": ({"tools": [{"name": "a"}, {"name": "a"}]}, "tools[1]: the name 'a' is"),
}


@pytest.mark.parametrize(("keywords", "says"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_errors_name_the_field_the_value_and_the_mend(keywords: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        interpret("Hi.", **keywords)


def test_a_finished_stream_takes_no_more() -> None:
    reader = Interpreter()
    reader.feed("Hi.")
    assert reader.finish() == Turn(None, "Hi.")
    with pytest.raises(RuntimeError, match="start another Interpreter"):
        reader.feed("!")
    with pytest.raises(RuntimeError, match="start another Interpreter"):
        reader.finish()


def test_a_toolbox_made_once_reads_as_its_tools() -> None:
    tools = [{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}]
    output = "<tool_call><function=f><parameter=n>7</parameter></function></tool_call>"
    toolbox = Toolbox(tools)
    assert interpret(output, tools=toolbox) == interpret(output, tools=tools)
    assert Interpreter(tools=toolbox).finish() == Turn(None, None)
    assert toolbox.offered("f")
    assert not toolbox.offered("g")


def test_nothing_fed_is_an_empty_turn() -> None:
    assert Interpreter().finish() == interpret("") == Turn(None, None)


SLOW = {"dataclasses", "inspect", "ast", "urllib.parse", "decimal", "asyncio", "logging", "email"}


def test_the_import_brings_no_heavy_module_and_nothing_of_others() -> None:
    code = (
        "import sys; before = set(sys.modules); import outcomebox.interpret; "
        "print(*sorted(set(sys.modules) - before))"
    )
    # -S: without site, whose own imports are not ours.
    root = str(PACKAGE.parent.parent)
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {root!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert not loaded & SLOW
    others = {each.partition(".")[0] for each in loaded} - sys.stdlib_module_names
    assert others == {"outcomebox"}


def test_the_readme_s_examples_run() -> None:
    readme = Path(__file__).parent.parent / "README.md"
    result = doctest.testfile(str(readme), module_relative=False, encoding="utf-8")
    assert result.attempted >= 10
    assert result.failed == 0
