"""The model's chat template and tokenizer, without torch or transformers."""

from __future__ import annotations

from pathlib import Path

from outcomebox.interpret.tokens import ChatTemplate
from outcomebox.rollout.policies.modelfolder import model_folder
from outcomebox.sandbox import InputError
from outcomebox.train.config.model import ModelSection


def load_template(model: ModelSection, file: str) -> ChatTemplate:
    """A model's template, or the one that replaces it.

    Args:
        model: The model.
        file: The settings file, for messages.

    Raises:
        InputError: Tokenizer or template is missing, or cannot be used.
    """
    own = None if model.chat_template is None else Path(model.chat_template)
    if own is not None and not own.is_file():
        raise InputError(
            "is no file; name one that is there",
            file=file,
            field="model.chat_template",
            value=str(own),
        )
    options = {} if model.enable_thinking is None else {"enable_thinking": model.enable_thinking}
    try:
        return model_folder(Path(model.path), model.format, options, template=own).template
    except InputError as error:
        raise InputError(str(error), file=file, field="model") from None
