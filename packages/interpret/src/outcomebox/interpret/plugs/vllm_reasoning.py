"""The reasoning parser for vLLM, apart from the class that it is mixed into."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.plugs.stream import Delta
from outcomebox.interpret.plugs.vllm_objects import message, tools_of
from outcomebox.interpret.plugs.vllm_shared import SharedReading, offer
from outcomebox.interpret.plugs.whole import raw_calls
from outcomebox.interpret.tokens.prompts import prompt_state_of


class ReasoningParsing:
    """What is ours in a reasoning parser; mixed into vLLM's base class."""

    format_name: str
    engine_based_streaming = True  # so that vLLM calls `finish_streaming`

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        """Start a request. `enable_thinking=False` says that the prompt closes the reasoning."""
        cast(Any, super()).__init__(tokenizer, *args, **kwargs)
        template = kwargs.get("chat_template_kwargs") or {}
        thinking = template.get("enable_thinking", template.get("thinking", True)) is not False
        self._thinking = thinking
        self.shared = SharedReading(self.format_name, thinking=thinking)
        offer(self.shared)
        self.spellings = format_named(self.format_name).spellings

    @property
    def reasoning_start_str(self) -> str | None:
        """The marker that opens reasoning."""
        return self.spellings.get("think_open")

    @property
    def reasoning_end_str(self) -> str | None:
        """The marker that closes reasoning."""
        return self.spellings.get("think_close")

    # -- ids --------------------------------------------------------------------------------------

    def _ids(self) -> tuple[int | None, int | None]:
        vocab: dict[str, int] = cast(Any, self).vocab
        start, end = self.reasoning_start_str, self.reasoning_end_str
        return vocab.get(start or ""), vocab.get(end or "")

    def _state(self, ids: Sequence[int]) -> PromptState:
        """Return where the ids of the open turn leave the model."""
        tokenizer = cast(Any, self).model_tokenizer
        return prompt_state_of(ids, tokenizer, self.format_name)

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Say whether reasoning is over behind these ids of a prompt, or of a prompt and output."""
        over = not self._thinking or self._state(input_ids) == "think_closed"
        if over:
            self.shared.prompt_state = "think_closed"
        return over

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        """Take from the prompt whether it opened the reasoning."""
        self.shared.prompt_state = self._state(prompt_token_ids)

    def is_reasoning_end_streaming(
        self, input_ids: Sequence[int], delta_ids: Iterable[int]
    ) -> bool:
        """Say whether reasoning ends in the last ids."""
        del input_ids
        end = self._ids()[1]
        return not self._thinking or (end is not None and end in tuple(delta_ids))

    def extract_content_ids(self, input_ids: Sequence[int]) -> list[int]:
        """Return the ids behind the end of reasoning."""
        ids, end = list(input_ids), self._ids()[1]
        if not self._thinking:
            return ids
        return ids[ids.index(end) + 1 :] if end is not None and end in ids else []

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Count the ids before the end of reasoning, its markers left out."""
        if not self._thinking:
            return 0
        ids, (start, end) = list(token_ids), self._ids()
        inside = ids[: ids.index(end)] if end is not None and end in ids else ids
        return len(inside) - (start is not None and start in inside)

    # -- text -------------------------------------------------------------------------------------

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Split a whole output into reasoning and the rest, in which the calls stand."""
        turn = self.shared.read(model_output, tools_of(request.tools))
        calls = (raw_calls(model_output, turn, executable=which) for which in (False, True))
        self.shared.content = (turn.content or "") + "".join(calls) or None
        return turn.reasoning, self.shared.content

    def extract_reasoning_streaming(  # noqa: PLR0917 - vLLM's signature
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """Return what settled with the new text."""
        del previous_text, current_text, previous_token_ids, current_token_ids, delta_token_ids
        shared = self.shared
        delta = shared.stream.feed(delta_text)
        if not self.has_engine_confirmed_reasoning_end():
            return message(delta)
        if shared.paired:
            shared.waiting = delta._replace(reasoning="")
            return message(Delta(delta.reasoning))
        return message(Delta(delta.reasoning, shared.stream.rest))

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Say whether reasoning is over: it was closed, or the output has ended."""
        stream = self.shared.stream
        return stream.past_reasoning or (self.shared.paired and stream.ended)

    def finish_streaming(self) -> Any:
        """Return what is left of an output that ended within its reasoning."""
        stream = self.shared.stream
        if self.has_engine_confirmed_reasoning_end() or stream.turn:
            return None
        return message(stream.finish())
