"""sglang's parsers, as its OpenAI server composes and feeds them."""

import json
from copy import deepcopy
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
from outcomebox.interpret.live.deltas import Joined, deltas, served_text

TOOL_PARSERS = {"qwen3_xml": "qwen3_coder", "qwen3_coder": "qwen3_coder", "hermes": "hermes"}
"""Format -> what `--tool-call-parser` is for it; `--reasoning-parser` is always `qwen3`."""


class Sglang:
    """The parsers of the installed sglang.

    Where no tools are offered, the server reads no calls and decodes without special tokens.

    Raises:
        ImportError: sglang is not installed.

    Attributes:
        release: The installed release.
        name: The name and release.
    """

    def __init__(self, *, stream: bool = False) -> None:
        try:
            calls: Any = import_module("sglang.srt.function_call.function_call_parser")
            reasoning: Any = import_module("sglang.srt.parser.reasoning_parser")
            protocol: Any = import_module("sglang.srt.entrypoints.openai.protocol")
            utils: Any = import_module("sglang.srt.function_call.utils")
        except ModuleNotFoundError as error:
            raise ImportError(
                f"live parser 'sglang' runs the installed sglang, which lacks {error.name!r}; "
                "install sglang 0.5 here"
            ) from error
        self._calls = calls.FunctionCallParser
        self._reasoning = reasoning.ReasoningParser
        self._tool = protocol.Tool
        self._normalize = utils.normalize_json_schema_types
        self._stream = stream
        self.release = installed("sglang")
        self.name = f"sglang {self.release}" + (" stream" if stream else "")

    def parse(self, output: Recorded) -> Answer:
        """Read one output as `/v1/chat/completions` does.

        Raises:
            ValueError: The format is none of `TOOL_PARSERS`.
        """
        wanted = parser_for(TOOL_PARSERS, output.format)
        try:
            tools = self._tools(output)
            reasoning = self._reasoning(
                "qwen3",
                stream_reasoning=self._stream,
                force_reasoning=output.prompt_state != "think_closed",
                tool_call_parser_active=bool(tools),
            )
            calls = self._calls(tools, wanted) if tools else None
        except Exception as error:  # noqa: BLE001 - the server answers any with an error
            return Answer(None, None, error=failed(error))
        special = () if tools else frozenset(getattr(output.tokenizer, "all_special_tokens", ()))
        if self._stream:
            return _streamed(output, reasoning, calls, special)
        return _whole(output, reasoning, calls, special)

    def _tools(self, output: Recorded) -> list[Any]:
        """Return the tools as the server holds them: it writes types of databases anew, in place.

        It also refuses what JSON Schema does not allow, before anything is generated.
        """
        tools = [self._tool.model_validate(tool) for tool in deepcopy(output.openai_tools())]
        for tool in tools:
            if tool.function.parameters is not None:
                self._normalize(tool.function.parameters)
        return tools


def _whole(output: Recorded, reasoning: Any, parser: Any, special: Any) -> Answer:
    text: str | None = served_text(output)
    if special:
        kept = [piece for piece in output.pieces if piece not in special]
        text = "".join(kept)
    try:
        thoughts, text = reasoning.parse_non_stream(text)
    except Exception as error:  # noqa: BLE001 - the server answers any with status 500
        return Answer(None, None, error=failed(error))
    calls: tuple[tuple[str, str], ...] = ()
    if parser is not None and parser.has_tool_call(text):
        try:
            text, found = parser.parse_non_stream(text)
            calls = tuple((call.name, call.parameters) for call in found)
        except Exception:  # noqa: BLE001 - the server logs any and sends the text as content
            calls = ()
    return Answer(thoughts or None, text or "", calls)


def _streamed(output: Recorded, reasoning: Any, parser: Any, special: Any) -> Answer:
    joined = Joined()
    # An abort ends the stream without the parsers' last words.
    flushes = output.finish_reason != "abort"
    try:
        for delta in deltas(output):
            text = "" if delta.text in special else delta.text
            thoughts, text = reasoning.parse_stream_chunk(text)
            if delta.finished and flushes:
                last_thoughts, last_text = reasoning.parse_stream_end()
                thoughts = (thoughts or "") + (last_thoughts or "")
                text = (text or "") + (last_text or "")
            joined.text(thoughts, None if parser is not None else text)
            if parser is None:
                continue
            text, calls = parser.parse_stream_chunk(text)
            if delta.finished and flushes:
                last_text, last_calls = parser.parse_stream_end()
                text, calls = (text or "") + last_text, [*calls, *last_calls]
            joined.text(None, text)
            for call in calls:
                joined.call(call.tool_index, call.name, call.parameters)
            if delta.finished:
                _remaining(parser.detector, joined)
    except Exception as error:  # noqa: BLE001 - the server ends the stream with an error
        return joined.answer(failed(error))
    return joined.answer()


def _remaining(detector: Any, joined: Joined) -> None:
    """Send what is left of the last call's arguments, as the server does when a stream ends."""
    parsed = getattr(detector, "prev_tool_call_arr", None)
    sent = getattr(detector, "streamed_args_for_tool", None)
    if not parsed or not sent or len(parsed) > len(sent):
        return
    last = len(parsed) - 1
    arguments = parsed[last].get("arguments", {})
    wire = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if wire.startswith(sent[last]) and len(wire) > len(sent[last]):
        joined.call(last, None, wire[len(sent[last]) :])


def make(*, stream: bool, where: str) -> LiveParser:
    """Make the live parser; `where` is not needed.

    Raises:
        ValueError: `where` was given.
    """
    if where:
        raise ValueError(f"live parser 'sglang' is the installed one; leave out {where!r}")
    return Sglang(stream=stream)
