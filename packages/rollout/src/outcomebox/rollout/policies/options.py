"""Settings of a model behind an endpoint, from options given as text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from outcomebox.reward.chat import ChatEndpoint, holds_secret
from outcomebox.sandbox import InputError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_NUMBERS: Mapping[str, tuple[float, float]] = {
    "temperature": (0.0, 10.0),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "presence_penalty": (-2.0, 2.0),
    "frequency_penalty": (-2.0, 2.0),
    "repetition_penalty": (0.0, 10.0),
}
_RESERVED = frozenset(
    {"model", "messages", "prompt", "tools", "stream", "stream_options", "n", "seed"}
)


class Options:
    """Reads options, and says which one is wrong.

    Args:
        field: What the command calls them, such as ``policy-option``.
        given: The options that were given, as text; an empty one counts as not given.
    """

    def __init__(self, field: str, given: Mapping[str, str]) -> None:
        self.field = field
        self._given = {name: text for name, text in given.items() if text}

    def text(self, name: str) -> str | None:
        """An option as it stands."""
        return self._given.get(name)

    def number(self, name: str, low: float, high: float) -> float | None:
        """A number.

        Raises:
            InputError: It is none, or out of range.
        """
        text = self._given.get(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            raise self.wrong(name, "give a number") from None
        if not low <= value <= high:
            raise self.wrong(name, f"give a number from {low:g} to {high:g}")
        return value

    def whole(self, name: str, low: int, high: int) -> int | None:
        """A whole number.

        Raises:
            InputError: It is none, or out of range.
        """
        text = self._given.get(name)
        if text is None:
            return None
        try:
            value = int(text)
        except ValueError:
            raise self.wrong(name, "give a whole number") from None
        if not low <= value <= high:
            raise self.wrong(name, f"give a whole number from {low} to {high}")
        return value

    def flag(self, name: str) -> bool | None:
        """True or false.

        Raises:
            InputError: It is neither.
        """
        return {None: None, "true": True, "false": False}[self.one_of(name, ("true", "false"))]

    def one_of(self, name: str, allowed: tuple[str, ...]) -> str | None:
        """One of some words.

        Raises:
            InputError: It is none of them.
        """
        text = self._given.get(name)
        if text is not None and text not in allowed:
            raise self.wrong(name, f"write {' or '.join(allowed)}")
        return text

    def mapping(self, name: str) -> dict[str, Any]:
        """A JSON object; empty where it was not given.

        Raises:
            InputError: It is none.
        """
        text = self._given.get(name)
        if text is None:
            return {}
        try:
            value = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise self.wrong(name, f"is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise self.wrong(name, 'give a JSON object, such as {"top_k": 20}')
        return value

    def wrong(self, name: str, mend: str) -> InputError:
        """The error of an option."""
        return InputError(mend, field=f"{self.field} {name}", value=self._given.get(name))


def sampling(options: Options) -> dict[str, Any]:
    """The fields of a request that say how to sample.

    Raises:
        InputError: One of them is not what it should be.
    """
    settings: dict[str, Any] = {}
    for name, (low, high) in _NUMBERS.items():
        settings[name] = options.number(name, low, high)
    settings["top_k"] = options.whole("top_k", -1, 10**6)
    limit = options.whole("max_tokens", 1, 10**7)
    field = options.one_of("max_tokens_field", ("max_tokens", "max_completion_tokens"))
    settings[field or "max_tokens"] = limit
    settings["stop"] = _stop(options)
    extra = options.mapping("extra")
    for name in extra:
        if name in _RESERVED:
            raise options.wrong("extra", f"must not hold {name}, which is set by the run")
        if settings.get(name) is not None:
            raise options.wrong("extra", f"must not hold {name}, which is an option of its own")
    return {name: value for name, value in settings.items() if value is not None} | extra


def _stop(options: Options) -> list[str] | None:
    text = options.text("stop")
    if text is None:
        return None
    if not text.startswith("["):
        return [text]
    try:
        value = json.loads(text)
    except ValueError as error:
        raise options.wrong("stop", f"is not JSON: {error}") from None
    if not all(isinstance(each, str) and each for each in value):
        raise options.wrong("stop", 'give texts, such as ["\\n\\n", "END"]')
    found: list[str] = value
    return found


def endpoint(
    options: Options, settings: Mapping[str, Any], *, role: str, stream: bool = False
) -> ChatEndpoint:
    """The endpoint that options name; address and key may come from the environment.

    Args:
        options: ``base_url``, ``model``, ``key_variable``, ``headers``, ``timeout_s``, ``quiet_s``,
            ``attempts``.
        settings: More fields of each request.
        role: Whose requests these are.
        stream: Whether answers are streamed.

    Raises:
        InputError: One of them is missing or of no use.
    """
    field = options.field
    address = options.text("base_url") or os.environ.get("OPENAI_BASE_URL", "")
    if not address:
        raise InputError(
            f"give the address: --{field} base_url=http://127.0.0.1:8000/v1, or set the "
            "environment variable OPENAI_BASE_URL",
            field=f"{field} base_url",
        )
    if not address.startswith(("http://", "https://")):
        raise InputError(
            "the address has to start with http:// or https://",
            field=f"{field} base_url",
            value=address,
        )
    _check_address(options, address)
    model = options.text("model")
    if not model:
        raise InputError(f"name the model: --{field} model=NAME", field=f"{field} model")
    return ChatEndpoint(
        base_url=address,
        model=model,
        key_variable=_key_variable(options),
        settings=settings,
        timeout_s=options.number("timeout_s", 0.001, 86_400.0) or 300.0,
        quiet_s=options.number("quiet_s", 0.001, 86_400.0),
        attempts=options.whole("attempts", 1, 100) or 5,
        headers=_headers(options),
        stream=stream,
        role=role,
    )


def _check_address(options: Options, address: str) -> None:
    try:
        secret = holds_secret(address)
    except ValueError as error:
        # The address is not shown: it may hold a password.
        raise InputError(f"is no address: {error}", field=f"{options.field} base_url") from None
    if options.text("base_url") and secret:
        # An option is seen by ``ps`` and stands in the run's own file.
        raise InputError(
            "an option must not hold a user, a password or a query other than api-version; put "
            "this address into the environment variable OPENAI_BASE_URL and leave the option out",
            field=f"{options.field} base_url",
        )


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _key_variable(options: Options) -> str:
    name = options.text("key_variable")
    if name is None:
        return "OPENAI_API_KEY"
    if not _VARIABLE.fullmatch(name) or not os.environ.get(name):
        # The value is not shown: it may be the key itself, put in the wrong place.
        raise InputError(
            "names no environment variable that is set; give the variable's name, not the key, and "
            "export it before the run",
            field=f"{options.field} key_variable",
        )
    return name


def _headers(options: Options) -> dict[str, str]:
    headers = {}
    for part in (options.text("headers") or "").split(","):
        if not part.strip():
            continue
        name, _, variable = (each.strip() for each in part.partition("="))
        if not _HEADER.fullmatch(name) or not os.environ.get(variable):
            raise InputError(
                "give NAME=VARIABLE, with environment variables that are set: a header's value is "
                "never written on a command line",
                field=f"{options.field} headers",
            )
        headers[name] = variable
    return headers
