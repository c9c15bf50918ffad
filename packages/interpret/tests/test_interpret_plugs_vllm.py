"""Our parsers inside the real vLLM, as its server makes and calls them."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import outcomebox.interpret.plugs.for_vllm as plug
from interpret_plug_tokens import CharacterTokenizer
from outcomebox.interpret import interpret
from outcomebox.interpret.plugs.names import plug_name

manager = pytest.importorskip("vllm.parser", reason="vLLM is not installed").ParserManager

TOKENIZER = CharacterTokenizer()
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "edit",
            "parameters": {
                "type": "object",
                "properties": {"code": {"type": "string"}, "n": {"type": "integer"}},
            },
        },
    }
]
CALL = (
    "<tool_call>\n<function=edit>\n<parameter=code>\n  x\n</parameter>\n"
    "<parameter=n>\n007\n</parameter>\n</function>\n</tool_call>"
)
DANGER = "<tool_call>\n<function=edit>\n<parameter=code>\nrm -rf /tmp/x"
TURN = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
PROMPTS = {
    "assistant_start": TURN,
    "think_open": f"{TURN}<think>\n",
    "think_closed": f"{TURN}<think>\n\n</think>\n\n",
}
OUTPUTS = [
    f"Look.</think>\n\nI edit:\n{CALL}<|im_end|>",
    f"<think>Look.</think>{CALL}\n{CALL}<|im_end|>",
    f"Maybe {CALL}? No.</think>Done.<|im_end|>",
    f"No end of thought {CALL}<|im_end|>",
    f"No end of thought {CALL}",
    f"a</think>b<think>c</think>d{CALL}<|im_end|>",
    f"Just thought, cut {DANGER}",
    f"Thought.</think>{DANGER}",
    f"Thought.</think>{DANGER}<|im_end|>",
    f"Thought.</think>{CALL}{DANGER}",
    "Use the <tool_call> tag.</think>Use the <tool_call> tag.<|im_end|>",
    "</think>Answer.<|im_end|>",
    "Answer.<|im_end|>\n",
    "Thought.</think><tool_call>\n<function=gone>\n</function>\n</tool_call><|im_end|>",
    "",
]


@pytest.fixture(autouse=True, scope="module")
def _registered() -> None:
    plug.register()


def request(**more: Any) -> Any:
    protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    messages = [{"role": "user", "content": "Hi"}]
    return protocol.ChatCompletionRequest(
        model="m", messages=messages, **{"tools": TOOLS, "tool_choice": "auto", **more}
    )


def parser(*, enable_thinking: bool = True, reasoning: bool = True, tools: bool = True) -> Any:
    name = plug_name("qwen3_xml")
    cls = manager.get_parser(
        name if tools else None, name if reasoning else None, enable_auto_tools=True
    )
    kwargs = {"enable_thinking": enable_thinking}
    return cls(TOKENIZER, request().tools, chat_template_kwargs=kwargs)


def at_once(made: Any, text: str, asked: Any) -> tuple[Any, Any, list[tuple[str, str]]]:
    reasoning, content, calls = made.parse(text, asked, enable_auto_tools=True)
    return reasoning, content, [(each.name, each.arguments) for each in calls or ()]


def streamed(
    made: Any, text: str, asked: Any, prompt: str, size: int = 1
) -> tuple[Any, Any, list[tuple[str, str]]]:
    ids = TOKENIZER.encode(text)
    calls: dict[int, tuple[str, str]] = {}
    reasoning = content = ""
    for start in range(0, max(len(ids), 1), size):
        piece = ids[start : start + size]
        delta = made.parse_delta(
            TOKENIZER.decode(piece),
            piece,
            asked,
            prompt_token_ids=TOKENIZER.encode(prompt),
            finished=start + size >= len(ids),
        )
        if delta is None:
            continue
        reasoning += delta.reasoning or ""
        content += delta.content or ""
        for each in delta.tool_calls:
            assert each.id
            assert each.index == len(calls)
            calls[each.index] = (each.function.name, each.function.arguments)
    return reasoning or None, content or None, list(calls.values())


def strict(text: str, prompt_state: Any) -> tuple[Any, Any, list[tuple[str, str]]]:
    ended = text.rstrip().endswith("<|im_end|>")
    turn = interpret(
        text,
        tools=TOOLS,
        prompt_state=prompt_state,
        finish_reason="stop" if ended else "length",
    )
    attempts = [text[slice(*each.span)] for each in turn.tool_calls if not each.executable]
    content = (turn.content or "") + "".join(attempts)
    calls = [(each.name, each.arguments_json()) for each in turn.tool_calls if each.executable]
    return turn.reasoning, content or None, calls


@pytest.mark.parametrize("text", OUTPUTS)
@pytest.mark.parametrize("prompt_state", ["think_open", "think_closed"])
def test_a_whole_output_is_read_as_strict_reads_it(text: str, prompt_state: str) -> None:
    made = parser(enable_thinking=prompt_state == "think_open")
    assert at_once(made, text, request()) == strict(text, prompt_state)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("text", OUTPUTS)
@pytest.mark.parametrize("prompt_state", PROMPTS)
def test_the_deltas_of_a_stream_join_to_the_strict_reading(
    text: str, prompt_state: str, size: int
) -> None:
    found = streamed(parser(), text, request(), PROMPTS[prompt_state], size)
    assert found == strict(text, prompt_state)


def test_an_earlier_turn_does_not_close_the_reasoning_of_this_one() -> None:
    earlier = f"<|im_start|>assistant\n<think>Hm.</think>Hello.<|im_end|>\n{TURN}"
    text = f"<think>Maybe {CALL}? No.</think>Done.<|im_end|>"
    assert streamed(parser(), text, request(), earlier) == strict(text, "assistant_start")


def test_no_call_is_sent_where_none_is_wanted() -> None:
    text = f"Look.</think>Done.{CALL}<|im_end|>"
    asked = request(tool_choice="none")
    reasoning, content, calls = streamed(parser(), text, asked, PROMPTS["think_open"])
    assert (reasoning, content, calls) == ("Look.", "Done.", [])
    assert at_once(parser(), text, asked)[2] == []


def test_a_reasoning_parser_alone_leaves_calls_in_the_content() -> None:
    text = f"Look.</think>Done.{CALL}"
    asked = request(tools=None, tool_choice=None)
    alone = parser(tools=False)
    assert streamed(alone, text, asked, PROMPTS["think_open"]) == ("Look.", f"Done.{CALL}", [])
    assert at_once(parser(tools=False), text, asked)[:2] == ("Look.", f"Done.{CALL}")


def test_a_tool_parser_alone_leaves_reasoning_in_the_content() -> None:
    text = f"<think>Maybe {CALL}? No.</think>Done.{CALL}<|im_end|>"
    content = f"<think>Maybe {CALL}? No.</think>Done."
    expected = (None, content, strict(text, "think_closed")[2])
    assert at_once(parser(reasoning=False), text, request()) == expected
    found = streamed(parser(reasoning=False), text, request(), PROMPTS["think_closed"])
    assert found == expected


def test_parsers_of_different_requests_share_nothing() -> None:
    one, two = parser(), parser()
    first = [at_once(two, OUTPUTS[0], request()), at_once(one, OUTPUTS[2], request())]
    assert first == [strict(OUTPUTS[0], "think_open"), strict(OUTPUTS[2], "think_open")]


def test_the_request_asks_for_the_token_that_ends_the_turn() -> None:
    adjusted = parser().adjust_request(request())
    assert (adjusted.skip_special_tokens, adjusted.include_stop_str_in_output) == (False, True)
    stopped = parser().adjust_request(request(stop=["###"]))
    assert not stopped.include_stop_str_in_output
    none = parser().adjust_request(request(tool_choice="none"))
    assert (none.skip_special_tokens, none.include_stop_str_in_output) == (True, False)


FOUND = """
from vllm.tool_parsers import ToolParserManager
from vllm.reasoning import ReasoningParserManager
for manager in (ToolParserManager, ReasoningParserManager):
    assert "outcomebox_qwen3_xml" in manager.list_registered(), manager
print(ToolParserManager.get_tool_parser("outcomebox_qwen3_xml").__name__)
"""


def in_a_process(program: str, *paths: str) -> None:
    """Run a program in which our parsers must be found: what is tested is what loading does."""
    done = subprocess.run(
        [sys.executable, "-c", program + FOUND],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *filter(None, sys.path)])},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "ToolParser_qwen3_xml"


def test_the_servers_flag_takes_the_file() -> None:
    in_a_process(
        "from vllm.tool_parsers import ToolParserManager\n"
        f"ToolParserManager.import_tool_parser({plug.__file__!r})\n"
    )


def test_the_entry_point_needs_no_flag(tmp_path: Path) -> None:
    info = tmp_path / "plugged-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text(
        f"[vllm.general_plugins]\noutcomebox = {plug.__name__}:register\n", "utf-8"
    )
    load = "from vllm.plugins import load_general_plugins\nload_general_plugins()\n"
    in_a_process(load, str(tmp_path))
