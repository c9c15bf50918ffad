"""The settings of a judge model, as options of a command give them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from outcomebox.sandbox.errors import InputError

RUBRIC_PROTOCOLS = ("json_schema", "text")
"""How the form of an answer is asked for; the answers that are read are the same."""

_FIELD = "judge-option"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """A judge model and how it is asked.

    Attributes:
        base_url: Such as ``http://127.0.0.1:8000/v1``.
        model: The name the server knows the model by.
        key_variable: Environment variable that holds the key.
        protocol: ``json_schema`` holds the model to the answer's form where the server can;
            ``text`` only asks for it. For checks in the ThinkingBox form: ``legacy`` or
            ``motivation``.
        votes: Votes a question; odd.
        temperature: None leaves it to the server.
        seed: Of the first vote, counted up from vote to vote; None leaves it to the server.
        tries: Times a vote is asked for until it is readable.
        max_tokens: Most tokens of a reply; None leaves it to the server.
        timeout_s: Seconds a request may take.
        attempts: Times a request is sent while the endpoint is busy or down.
        concurrency: Requests at a time, of a whole run.
    """

    base_url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    protocol: str = "json_schema"
    votes: int = 1
    temperature: float | None = 0.0
    seed: int | None = 0
    tries: int = 3
    max_tokens: int | None = None
    timeout_s: float = 120.0
    attempts: int = 5
    concurrency: int = 8

    def request(self) -> dict[str, Any]:
        """The settings that are sent with each request."""
        sent = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {name: value for name, value in sent.items() if value is not None}


OPTIONS = tuple(each.name for each in fields(JudgeSettings))


def judge_settings(
    options: Mapping[str, Any], *, protocols: Sequence[str] = RUBRIC_PROTOCOLS
) -> JudgeSettings:
    """The settings that options give; the first of ``protocols`` is the default.

    No message repeats a value that could be a key given in the wrong place.

    Raises:
        InputError: An option is missing, unknown or of no use.
    """
    for name in options:
        if name not in OPTIONS:
            raise InputError(
                f"the judge has no option {name}; its options: {', '.join(OPTIONS)}", field=_FIELD
            )
    given = {name: str(value) for name, value in options.items()}
    for name in ("base_url", "model"):
        if not given.get(name):
            raise InputError(f"needs {name}; give --{_FIELD} {name}=...", field="judge")
    _check_address(given["base_url"])
    protocol = given.get("protocol", protocols[0])
    if protocol not in protocols:
        raise _wrong("protocol", f"write one of {', '.join(protocols)}", protocol)
    votes = _whole(given, "votes", 1, 1, 99)
    if votes % 2 == 0:
        raise _wrong("votes", "a majority needs an odd number of votes", votes)
    return JudgeSettings(
        base_url=given["base_url"],
        model=given["model"],
        key_variable=_key_variable(given),
        protocol=protocol,
        votes=votes,
        temperature=_optional_number(given, "temperature", 0.0, 0.0, 10.0),
        seed=None if given.get("seed") == "none" else _whole(given, "seed", 0, 0, 2**31 - 1),
        tries=_whole(given, "tries", 3, 1, 20),
        max_tokens=_whole(given, "max_tokens", 1, 1, 10**7) if "max_tokens" in given else None,
        timeout_s=_number(given, "timeout_s", 120.0, 0.001, 86_400.0),
        attempts=_whole(given, "attempts", 5, 1, 100),
        concurrency=_whole(given, "concurrency", 8, 1, 10_000),
    )


def _check_address(text: str) -> None:
    try:
        parts = urlsplit(text)
        secret = bool(parts.username or parts.password or parts.query)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        secret, good = False, False
    if secret:
        raise InputError(
            "the address must hold no user, password or query, because rows and settings are "
            "shared; put the key into an environment variable and name it with key_variable",
            field=f"{_FIELD} base_url",
        )
    if not good:
        raise InputError(
            "the address has to be like http://127.0.0.1:8000/v1", field=f"{_FIELD} base_url"
        )


def _key_variable(given: Mapping[str, str]) -> str:
    name = given.get("key_variable")
    if name is None:
        return "OPENAI_API_KEY"
    if not _VARIABLE.fullmatch(name) or not os.environ.get(name):
        raise InputError(
            "names no environment variable that is set; give the variable's name, not the key, and "
            "export it before the run",
            field=f"{_FIELD} key_variable",
        )
    return name


def _optional_number(
    given: Mapping[str, str], name: str, default: float, low: float, high: float
) -> float | None:
    return None if given.get(name) == "none" else _number(given, name, default, low, high)


def _number(given: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    if name not in given:
        return default
    try:
        value = float(given[name])
    except ValueError:
        raise _wrong(name, "give a number", given[name]) from None
    if not low <= value <= high:
        raise _wrong(name, f"give a number from {low:g} to {high:g}", given[name])
    return value


def _whole(given: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    if name not in given:
        return default
    try:
        value = int(given[name])
    except ValueError:
        raise _wrong(name, "give a whole number", given[name]) from None
    if not low <= value <= high:
        raise _wrong(name, f"give a whole number from {low} to {high}", given[name])
    return value


def _wrong(name: str, mend: str, value: object) -> InputError:
    return InputError(mend, field=f"{_FIELD} {name}", value=value)
