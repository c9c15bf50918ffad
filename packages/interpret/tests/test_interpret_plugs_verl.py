"""Our parsers inside the real verl, found and called as its agent loop does it."""

import asyncio
import importlib
import json
from typing import Any

import pytest

from interpret_plug_tokens import CharacterTokenizer
from outcomebox.interpret.plugs.for_verl import PROMPT_STATE_VARIABLE, ToolParsing

pytest.importorskip("verl", reason="verl is not installed")

CALL = (
    "<tool_call>\n<function=edit>\n<parameter=code>\n  x\n</parameter>\n"
    "<parameter=n>\n007\n</parameter>\n</function>\n</tool_call>"
)
ARGUMENTS = {"code": "  x", "n": 7}


@pytest.fixture(scope="module")
def module() -> Any:
    """Imported behind our module, so that the registration has to wait for it."""
    return importlib.import_module("verl.experimental.agent_loop.tool_parser")


@pytest.fixture(scope="module")
def tools() -> list[Any]:
    schemas = importlib.import_module("verl.tools.schemas")
    properties = {"code": {"type": "string"}, "n": {"type": "integer"}}
    parameters = {"type": "object", "properties": properties, "required": ["code"]}
    function = {"name": "edit", "description": "Edits.", "parameters": parameters}
    return [schemas.OpenAIFunctionToolSchema(type="function", function=function)]


def read(
    module: Any,
    tools: list[Any],
    text: str,
    *,
    name: str = "outcomebox_qwen3_xml",
    template_end: str | None = "<think>\n",
) -> tuple[str, list[tuple[str, Any]]]:
    tokenizer = CharacterTokenizer(template_end)
    parser = module.ToolParser.get_tool_parser(name, tokenizer)
    assert isinstance(parser, ToolParsing)
    assert isinstance(parser, module.ToolParser)
    assert parser.stop_token_ids == []
    content, calls = asyncio.run(parser.extract_tool_calls(tokenizer.encode(text), tools))
    assert all(type(each) is module.FunctionCall for each in calls)
    return content, [(each.name, json.loads(each.arguments)) for each in calls]


def test_calls_are_typed_and_reasoning_stays_in_the_text(module: Any, tools: list[Any]) -> None:
    text = f"I look.</think>\n\nNow:\n{CALL}<|im_end|>"
    assert read(module, tools, text) == ("I look.</think>\n\nNow:\n", [("edit", ARGUMENTS)])


def test_a_draft_is_not_called(module: Any, tools: list[Any]) -> None:
    text = f"Maybe {CALL}? No.</think>Done.<|im_end|>"
    assert read(module, tools, text) == (text.removesuffix("<|im_end|>"), [])


def test_a_call_that_was_cut_is_not_called(module: Any, tools: list[Any]) -> None:
    text = f"I look.</think>{CALL[:70]}"
    assert read(module, tools, text) == (text, [])


@pytest.mark.parametrize(
    ("template_end", "content"),
    [("<think>\n", "a</think>b"), ("<think>\n\n</think>\n\n", "a</think>b"), (None, "a</think>b")],
)
def test_the_template_tells_where_prompts_leave_the_model(
    module: Any, tools: list[Any], template_end: str | None, content: str
) -> None:
    text = f"a</think>b{CALL}<|im_end|>"
    found = read(module, tools, text, template_end=template_end)
    assert found == (content, [("edit", ARGUMENTS)])


def test_the_environment_goes_before_the_template(
    module: Any, tools: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = f"{CALL}</think>b<|im_end|>"
    assert read(module, tools, draft)[1] == []
    monkeypatch.setenv(PROMPT_STATE_VARIABLE, "think_closed")
    assert read(module, tools, draft)[1] == [("edit", ARGUMENTS)]
    monkeypatch.setenv(PROMPT_STATE_VARIABLE, "open")
    with pytest.raises(ValueError, match=f"{PROMPT_STATE_VARIABLE}: .*'open' is unknown"):
        read(module, tools, draft)


def test_a_profile_that_does_not_read_the_format_is_refused_when_the_parser_is_made(
    module: Any,
) -> None:
    names = [each for each in module.ToolParser._registry if each.startswith("outcomebox_")]
    assert "outcomebox_qwen3_xml" in names
    refused = []
    for name in names:
        try:
            module.ToolParser.get_tool_parser(name, CharacterTokenizer())
        except ValueError as error:
            refused.append(str(error))
    assert all("has no reading of format" in each for each in refused)
    assert len(refused) < len(names)
