"""Tool parsers for verl's agent loops, called `outcomebox_FORMAT` or `outcomebox_FORMAT@PROFILE`.

Where this package is installed beside verl, its entry point in `verl.plugins` loads this module in
every process; else name it in `VERL_USE_EXTERNAL_MODULES`. Then the names can be used:

    actor_rollout_ref.rollout.multi_turn.format=outcomebox_qwen3_xml

With a profile, rollouts are read as that server reads: `outcomebox_qwen3_xml@vllm-0.32`.

verl's registry is filled when verl imports its tool parsers, not sooner: most of its processes
never do, and it takes seconds.
"""

import asyncio
import importlib
import os
from collections.abc import Sequence
from typing import Any, cast

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.interpreter import Interpreter, interpret
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.plugs.imported import when_imported
from outcomebox.interpret.plugs.names import plug_names
from outcomebox.interpret.plugs.whole import ended_by_itself, raw_calls, reasoning_markup
from outcomebox.interpret.tokens.text import read_ids
from outcomebox.interpret.tokens.vocabulary import vocabulary_of

PROMPT_STATE_VARIABLE = "OUTCOMEBOX_PROMPT_STATE"
"""Names where prompts leave the model; by default the tokenizer's chat template is asked."""

_THEIR_MODULE = "verl.experimental.agent_loop.tool_parser"


class ToolParsing:
    """What is ours in a tool parser; mixed into verl's base class."""

    format_name: str
    profile_name: str

    def __init__(self, tokenizer: Any) -> None:
        """Take the policy's tokenizer.

        Raises:
            ValueError: The profile does not read the format, or the prompt state is unknown.
        """
        cast(Any, super()).__init__(tokenizer)
        self.prompt_state = _prompt_state(tokenizer)
        Interpreter(
            format=self.format_name, profile=self.profile_name, prompt_state=self.prompt_state
        )
        # Made once, not for every response.
        self._vocabulary = vocabulary_of(tokenizer)

    async def extract_tool_calls(
        self, responses_ids: list[int], tools: Sequence[Any] | None = None
    ) -> tuple[str, list[Any]]:
        """Return the text of a response without its calls, and the calls.

        A response without an end-of-turn token was cut. Under `strict`, reasoning stays in the text
        as it does with verl's own parsers, and so does, at the text's end, the markup of attempts
        that are not executable. Under a server's profile, text and calls are those that the
        server's client gets, a call whose arguments are no JSON included: verl answers it.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self._read, list(responses_ids), list(tools or ()))

    def _read(self, ids: list[int], tools: list[Any]) -> tuple[str, list[Any]]:
        form = format_named(self.format_name)
        text, _ = read_ids(ids, self._vocabulary)
        turn = interpret(
            ids,
            tools=[each if isinstance(each, dict) else _dumped(each) for each in tools],
            format=self.format_name,
            profile=self.profile_name,
            prompt_state=self.prompt_state,
            finish_reason="stop" if ended_by_itself(text, form) else "length",
            tokenizer=self._vocabulary,
        )
        content, found = turn.content or "", turn.tool_calls
        if self.profile_name == "strict":
            attempts = raw_calls(text, turn, executable=False)
            content = reasoning_markup(text, turn, form) + content + attempts
            found = tuple(call for call in found if call.executable)
        function_call = importlib.import_module(_THEIR_MODULE).FunctionCall
        calls = [function_call(name=call.name, arguments=call.arguments_json()) for call in found]
        return content, calls


def register(module: Any) -> None:
    """Add a parser for every format and profile to the registry of verl's module."""
    for name, (format_name, profile_name) in plug_names().items():
        members = {
            "format_name": format_name,
            "profile_name": profile_name,
            "__module__": __name__,
        }
        built = type("OutcomeboxToolParser", (ToolParsing, module.ToolParser), members)
        module.ToolParser.register(name)(built)


def _prompt_state(tokenizer: Any) -> PromptState:
    """Return where prompts leave the model, asked of the environment, else of the template."""
    given = os.environ.get(PROMPT_STATE_VARIABLE)
    if given:
        try:
            Interpreter(prompt_state=cast(PromptState, given))
        except ValueError as error:
            raise ValueError(f"environment variable {PROMPT_STATE_VARIABLE}: {error}") from None
        return cast(PromptState, given)
    if not getattr(tokenizer, "chat_template", None):
        return "assistant_start"
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "?"}], add_generation_prompt=True, tokenize=False
    ).rstrip()
    if prompt.endswith("<think>"):
        return "think_open"
    return "think_closed" if prompt.endswith("</think>") else "assistant_start"


def _dumped(tool: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = tool.model_dump(exclude_none=True)
    return dumped


when_imported(_THEIR_MODULE, register)
