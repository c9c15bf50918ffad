"""The user of a run, as a command names it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from outcomebox.rollout.policies.options import Options, endpoint, sampling
from outcomebox.rollout.users.base import User
from outcomebox.rollout.users.model import ModelUser
from outcomebox.rollout.users.scripted import ScriptedUser
from outcomebox.sandbox import InputError

_FIELD = "user-option"


def make_user(options: Mapping[str, str] | None = None) -> User:
    """The user of a run: scripted without options, else the model they name.

    Args:
        options: ``base_url``, ``model`` and more, named as those of the policy ``openai``.

    Raises:
        InputError: An option is missing, unknown, or not what it should be.
    """
    if not options:
        return ScriptedUser()
    known = inspect.signature(_model_user).parameters
    for name in options:
        if name not in known:
            raise InputError(
                f"the user has no option {name}; its options: {', '.join(known)}",
                field=_FIELD,
                value=name,
            )
    return _model_user(**options)


def _model_user(  # noqa: PLR0917 -- options by name
    base_url: str = "",
    model: str = "",
    key_variable: str = "",
    headers: str = "",
    stream: str = "",
    temperature: str = "",
    top_p: str = "",
    top_k: str = "",
    min_p: str = "",
    presence_penalty: str = "",
    frequency_penalty: str = "",
    repetition_penalty: str = "",
    stop: str = "",
    max_tokens: str = "",
    max_tokens_field: str = "",
    template_options: str = "",
    timeout_s: str = "",
    quiet_s: str = "",
    attempts: str = "",
    extra: str = "",
) -> ModelUser:
    options = Options(_FIELD, {**locals()})
    settings = sampling(options)
    kwargs = options.mapping("template_options")
    if kwargs:
        settings["chat_template_kwargs"] = kwargs
    streamed = options.flag("stream") or False
    return ModelUser(endpoint(options, settings, role="user", stream=streamed))
