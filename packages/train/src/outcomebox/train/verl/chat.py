"""The model's chat template and tokenizer: the very ones that verl trains with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.interpret.tokens import ChatTemplate, Vocabulary
from outcomebox.sandbox import InputError
from outcomebox.train.settings import WorkerSettings

_GENERATION = "generation_config.json"


@dataclass(frozen=True)
class Chat:
    """How conversations become ids, and ids text.

    Attributes:
        template: Writes a conversation, the offered tools included; verl's own tokenisation, which
            refuses tools whose parameters have more than one type, is not used.
        vocabulary: The tokenizer.
        ends: Ids after which an engine ends a turn.
        format: How the model writes calls and reasoning.
    """

    template: ChatTemplate
    vocabulary: Vocabulary
    ends: frozenset[int]
    format: str


def chat_of(settings: WorkerSettings, tokenizer: Any) -> Chat:
    """Template and tokenizer of a run.

    Args:
        settings: The run's settings.
        tokenizer: verl's tokenizer of the model, one of transformers'.

    Raises:
        InputError: The template's file cannot be read, or the format is unknown.
    """
    options: dict[str, Any] = {}
    if settings.chat_template is not None:
        options["chat_template"] = _text(Path(settings.chat_template))
    if settings.enable_thinking is not None:
        options["enable_thinking"] = settings.enable_thinking
    try:
        template = ChatTemplate.of_tokenizer(tokenizer, settings.format, **options)
    except ValueError as error:
        raise InputError(str(error), field="format", value=settings.format) from None
    ends = {*template.marks.ends, *_generation_ends(Path(settings.model_path))}
    if tokenizer.eos_token_id is not None:
        ends.add(int(tokenizer.eos_token_id))
    if not ends:
        raise InputError(
            "no token of the model ends a turn; give its tokenizer an eos_token",
            file=settings.model_path,
        )
    return Chat(template, template.marks.vocabulary, frozenset(ends), settings.format)


def _generation_ends(model: Path) -> list[int]:
    """The ids that engines end a turn at besides the tokenizer's own."""
    file = model / _GENERATION
    if not file.is_file():
        return []
    try:
        told = json.loads(file.read_text(encoding="utf-8")).get("eos_token_id")
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", file=file) from error
    return [told] if isinstance(told, int) else list(told or ())


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); it has to lie on every node",
            file=file,
            field="chat_template",
        ) from error
