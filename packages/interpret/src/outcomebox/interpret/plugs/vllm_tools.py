"""The tool parser for vLLM, apart from the class that it is mixed into."""

from collections.abc import Sequence
from typing import Any, cast

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.plugs.vllm_objects import message, protocol, tools_of, whole_call
from outcomebox.interpret.plugs.vllm_shared import SharedReading, partner
from outcomebox.interpret.plugs.whole import raw_calls, reasoning_markup
from outcomebox.interpret.turn import Turn


class ToolParsing:
    """What is ours in a tool parser; mixed into vLLM's base class."""

    format_name: str
    engine_based_streaming = True  # so that vLLM calls `finish_streaming`

    def __init__(self, tokenizer: Any, tools: Any = None, *args: Any, **kwargs: Any) -> None:
        """Start a request, sharing the reading of the reasoning parser made just before."""
        cast(Any, super()).__init__(tokenizer, tools, *args, **kwargs)
        shared = partner()
        self._alone = shared is None
        self.shared = shared or SharedReading(self.format_name, thinking=False)
        self.shared.paired = True
        self.shared.tools = tools_of(tools)
        self._calls_wanted = True

    def adjust_request(self, request: Any) -> Any:
        """Ask the server to keep special tokens, and the one that ends the turn.

        It is how a reader tells an output that ended from one that was cut. A request with stop
        strings of its own does not get it, for it would get those too; its outputs count as cut.
        """
        request = cast(Any, super()).adjust_request(request)
        guided = cast(Any, self).supports_required_and_named
        choice = getattr(request, "tool_choice", None)
        if request.tools and (choice in (None, "auto") or (choice != "none" and not guided)):
            request.skip_special_tokens = False
            if not getattr(request, "stop", None):
                request.include_stop_str_in_output = True
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Return the calls and the content of a whole output, or of what follows its reasoning."""
        shared = self.shared
        if shared.turn is None or (shared.content or "") != model_output:
            shared = SharedReading(self.format_name, thinking=False)
            shared.read(model_output, tools_of(request.tools) or self.shared.tools)
        turn = cast(Turn, shared.turn)
        calls = [call for call in turn.tool_calls if call.executable]
        content = (turn.content or "") + raw_calls(shared.text, turn, executable=False)
        if shared is not self.shared:
            content = self._untold(shared.text, turn) + content
        return protocol().ExtractedToolCallInformation(
            tools_called=bool(calls),
            tool_calls=[whole_call(call) for call in calls],
            content=content or None,
        )

    def extract_tool_calls_streaming(  # noqa: PLR0917 - vLLM's signature
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Return what settled with the new text; calls come from `finish_streaming`."""
        del previous_text, current_text, previous_token_ids, current_token_ids, delta_token_ids
        self._calls_wanted = getattr(request, "tool_choice", None) != "none"
        waiting, self.shared.waiting = self.shared.waiting, None
        return message(self.shared.stream.feed(delta_text) if waiting is None else waiting)

    def finish_streaming(self) -> Any:
        """Return what is left of the output, its calls among it."""
        stream = self.shared.stream
        if stream.turn:
            return None
        delta = stream.finish()
        if self._alone and stream.turn:
            content = self._untold(stream.text, cast(Turn, stream.turn)) + delta.content
            delta = delta._replace(reasoning="", content=content)
        return message(delta if self._calls_wanted else delta._replace(calls=()))

    def _untold(self, text: str, turn: Turn) -> str:
        """Return the reasoning with its markers: content where nobody has it told apart."""
        return reasoning_markup(text, turn, format_named(self.format_name))
