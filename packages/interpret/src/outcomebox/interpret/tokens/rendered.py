"""The `renderers` library as a chat template (extra `tokens`).

The library writes a model's template in Python, token for token, and has a bridge of its own to the
next turn, which serves here as a second witness: where it answers, it must say the same.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from outcomebox.interpret.tokens.messages import Message, prepared
from outcomebox.interpret.tokens.templates import ChatTemplate
from outcomebox.interpret.tokens.tokenizers import Encoding, Tokenizer
from outcomebox.interpret.turn import Tool


class RenderersTemplate(ChatTemplate):
    """A template of the `renderers` library.

    Args:
        renderer: A renderer, as `renderers.create_renderer` or `renderer_named` returns it.
        tokenizer: The tokenizer that it was made with, or its tiktoken encoding.
        format: How the model writes calls and reasoning.
    """

    def __init__(
        self,
        renderer: Any,
        tokenizer: Tokenizer | Encoding,
        format: str = "qwen3_xml",  # noqa: A002 - the word users know it by
    ) -> None:
        def render(
            messages: list[dict[str, Any]],
            *,
            tools: list[dict[str, Any]] | None,
            add_generation_prompt: bool,
        ) -> Any:
            return renderer.render_ids(
                messages, tools=tools, add_generation_prompt=add_generation_prompt
            )

        super().__init__(render, tokenizer, format)
        self._renderer = renderer

    def bridge(
        self,
        prompt_ids: Sequence[int],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = None,
    ) -> list[int] | None:
        """Return the next prompt as the library's own bridge writes it; None where it refuses."""
        offered = None if tools is None else [dict(each) for each in tools]
        found = self._renderer.bridge_to_next_turn(
            list(prompt_ids), list(sampled_ids), prepared(new_messages), tools=offered
        )
        return None if found is None else list(found.token_ids)


def renderer_named(name: str, tokenizer: Any, **options: Any) -> Any:
    """Return a renderer of the library.

    Args:
        name: The library's name of it: `qwen3`, `qwen3.5`, `qwen3.6` ...
        tokenizer: A tokenizer of transformers, a tiktoken encoding or a `tokenizers.Tokenizer`.
        **options: Fields of its configuration, as `enable_thinking`.

    Raises:
        ImportError: The library is not installed; the message names the extra.
        ValueError: The library has no renderer of that name.
    """
    try:
        library = import_module("renderers")
    except ImportError as error:
        raise ImportError(
            f"the `renderers` library cannot be imported ({error}); install "
            "outcomebox-interpret[tokens]"
        ) from error
    configs = import_module("renderers.configs")
    known: dict[str, Any] = {}
    for each in vars(configs).values():
        fields = getattr(each, "model_fields", {})
        if isinstance(each, type) and "name" in fields:
            known[str(fields["name"].default)] = each
    if name not in known:
        raise ValueError(f"renderer {name!r} is unknown; use one of: {', '.join(sorted(known))}")
    return library.create_renderer(renderers_tokenizer(tokenizer), known[name](**options))


def renderers_tokenizer(tokenizer: Any) -> Any:
    """Return a tokenizer as the library wants it.

    A tokenizer of transformers is fit as it is. For a tiktoken encoding and for a
    `tokenizers.Tokenizer` the missing methods are added; marks that a text spells become their
    tokens, as they do where a chat template is rendered to text first.
    """
    if hasattr(tokenizer, "convert_tokens_to_ids"):
        return tokenizer
    return _ForRenderers(tokenizer)


class _ForRenderers:
    name_or_path = ""
    unk_token_id: int | None = None
    eos_token_id: int | None = None

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._of_tiktoken = hasattr(tokenizer, "decode_single_token_bytes")

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        """Return the ids of a text."""
        if self._of_tiktoken:
            return list(self._tokenizer.encode(text, allowed_special="all"))
        return list(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def decode(self, token_ids: Any, *, skip_special_tokens: bool = False) -> str:
        """Return the text of ids."""
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        if self._of_tiktoken:
            return str(self._tokenizer.decode(ids))
        return str(self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens))

    def convert_tokens_to_ids(self, tokens: str) -> int | None:
        """Return the id of a token; None where there is none."""
        if not self._of_tiktoken:
            found: int | None = self._tokenizer.token_to_id(tokens)
            return found
        try:
            return int(self._tokenizer.encode_single_token(tokens))
        except KeyError:
            return None
