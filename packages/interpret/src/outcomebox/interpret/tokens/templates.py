"""What writes a conversation as ids: the user's own chat template, behind one face.

A template is any function `messages -> ids`. `transformers` tokenizers have one in
`apply_chat_template`; the `renderers` library has others (see `rendered`).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from outcomebox.interpret.tokens.errors import TurnRefused
from outcomebox.interpret.tokens.marks import Marks
from outcomebox.interpret.tokens.messages import (
    Message,
    check_tools_follow,
    has_user_query,
    prepared,
)
from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer
from outcomebox.interpret.turn import Tool


class Render(Protocol):
    """A function that writes a conversation as ids."""

    def __call__(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None,
        add_generation_prompt: bool,
    ) -> Any:
        """Return the ids: a sequence, or a mapping that holds them as `input_ids`."""
        ...


class ChatTemplate:
    """A model's chat template.

    Args:
        render: Writes messages as ids.
        tokenizer: The model's tokenizer.
        format: How the model writes calls and reasoning.

    Raises:
        ValueError: An unknown format.
    """

    def __init__(
        self,
        render: Render,
        tokenizer: Tokenizer | Encoding,
        format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
    ) -> None:
        self.marks = Marks(tokenizer, format)
        self._render = render

    @classmethod
    def of_tokenizer(
        cls,
        tokenizer: Any,
        format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
        **options: Any,
    ) -> "ChatTemplate":
        """Return the template that a tokenizer of transformers carries.

        Args:
            tokenizer: It has `apply_chat_template`.
            format: How the model writes calls and reasoning.
            **options: Further arguments of the template, as `enable_thinking`.
        """

        def render(
            messages: list[dict[str, Any]],
            *,
            tools: list[dict[str, Any]] | None,
            add_generation_prompt: bool,
        ) -> Any:
            return tokenizer.apply_chat_template(
                messages,
                tools=tools,
                add_generation_prompt=add_generation_prompt,
                tokenize=True,
                **options,
            )

        return cls(render, tokenizer, format)

    def ids(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = None,
        generation: bool = False,
    ) -> list[int]:
        """Write a conversation.

        Args:
            messages: The conversation; arguments of calls may be JSON strings.
            tools: The offered tools.
            generation: Whether the prompt of the next turn stands at the end.

        Raises:
            TurnRefused: `string_arguments`, `tool_alone`, `needs_user_query` or `template_error`.
        """
        made = prepared(messages, json_words=self._writes_python_words)
        check_tools_follow(made)
        offered = None if tools is None else [dict(each) for each in tools]
        try:
            found = self._render(made, tools=offered, add_generation_prompt=generation)
        except Exception as error:
            raise self._refusal(made, error) from error
        return _flat(found)

    def bridge(
        self,
        prompt_ids: Sequence[int],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = None,
    ) -> list[int] | None:
        """Return the next prompt as a second witness writes it; None where there is none."""
        del prompt_ids, sampled_ids, new_messages, tools
        return None

    def _refusal(self, messages: Sequence[Message], error: Exception) -> TurnRefused:
        if not has_user_query(messages) and re.search("user|query", str(error), re.IGNORECASE):
            return TurnRefused(
                "needs_user_query",
                f"the template refuses a conversation in which no user asks anything ({error}); "
                "put a user's message before the first call",
            )
        return TurnRefused("template_error", f"the template raised {type(error).__name__}: {error}")

    @cached_property
    def _writes_python_words(self) -> bool:
        """Whether the template writes `True` and `None` where a model writes JSON.

        Found by rendering one call. A template that refuses the probe is left as it is.
        """
        call = {"type": "function", "function": {"name": "f", "arguments": {"on": True}}}
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
        ]
        try:
            found = self._render(messages, tools=None, add_generation_prompt=False)
        except Exception:  # noqa: BLE001 - whatever it refuses here it will refuse again, by name
            return False
        text = self.marks.text(_flat(found))
        return "True" in text and "true" not in text


def _flat(found: Any) -> list[int]:
    """Return the ids in whatever a template function hands back."""
    if isinstance(found, Mapping) or hasattr(found, "input_ids"):
        found = found["input_ids"]
    ids = list(getattr(found, "ids", found))
    if len(ids) == 1 and not isinstance(ids[0], int):
        return _flat(ids[0])  # A batch of one.
    wrong = next((each for each in ids if not isinstance(each, int)), None)
    if wrong is not None:
        raise TypeError(
            f"the template function returned {type(wrong).__name__}, not ids; let it tokenize"
        )
    return ids
