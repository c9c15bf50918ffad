"""A model's tokenizer and chat template from its folder, without the library it came from.

Templates are rendered as the makers of the models do it: Jinja in a sandbox, blocks trimmed, and
JSON that keeps its letters.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from outcomebox.interpret.replay.errors import ReplayError
from outcomebox.interpret.replay.tokenizers import load_tokenizer
from outcomebox.interpret.tokens import ChatTemplate, Tokenizer
from outcomebox.sandbox import InputError

_FIELD = "policy-option tokenizer"


class ModelFolder(NamedTuple):
    """What a prompt needs of a model.

    Attributes:
        tokenizer: Its tokenizer.
        template: Its chat template.
    """

    tokenizer: Tokenizer
    template: ChatTemplate


def model_folder(
    path: Path,
    format: str,  # noqa: A002 -- the interpreter's word
    options: dict[str, Any],
    *,
    template: Path | None = None,
) -> ModelFolder:
    """Tokenizer and template of a model.

    Args:
        path: A folder with ``tokenizer.json`` and ``chat_template.jinja`` or
            ``tokenizer_config.json``.
        format: How the model writes calls and reasoning.
        options: More variables of the template, such as ``enable_thinking``.
        template: A file with another chat template; by default the model's own.

    Raises:
        InputError: A file or a library is missing, or a file cannot be used.
    """
    try:
        tokenizer = load_tokenizer(str(path))
    except ReplayError as error:
        raise InputError(f"cannot be used: {error}", field=_FIELD, value=str(path)) from error
    text, special = _template_text(path, template)
    try:
        sandbox: Any = import_module("jinja2.sandbox")
    except ImportError:
        raise InputError("needs Jinja: pip install jinja2", field=_FIELD) from None
    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    compiled: Any = environment.from_string(text)

    def render(
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None,
        add_generation_prompt: bool,
    ) -> Any:
        written = compiled.render(
            messages=messages,
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            **{**special, **options},
        )
        encoder: Any = tokenizer
        return encoder.encode(written, add_special_tokens=False)

    try:
        return ModelFolder(tokenizer, ChatTemplate(render, tokenizer, format))
    except ValueError as error:
        raise InputError(str(error), field="policy-option format", value=format) from None


def _template_text(path: Path, template: Path | None) -> tuple[str, dict[str, str]]:
    """The chat template, and the special tokens that templates name."""
    config: dict[str, Any] = {}
    file = path / "tokenizer_config.json"
    if file.is_file():
        try:
            config = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"is not JSON: {error}", file=file) from error
    special = {}
    for name in ("bos_token", "eos_token", "pad_token", "unk_token"):
        token = config.get(name)
        special[name] = str(token.get("content", "") if isinstance(token, dict) else token or "")
    alone = template or path / "chat_template.jinja"
    if template is not None or alone.is_file():
        return alone.read_text(encoding="utf-8"), special
    text = config.get("chat_template")
    if not isinstance(text, str):
        raise InputError(
            "has no chat template; a chat_template.jinja or tokenizer_config.json with one is due",
            file=path,
            field=_FIELD,
        )
    return text, special


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)
