"""The vLLM command that reads a trained model's output as training did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outcomebox.interpret.plugs.names import plug_name
from outcomebox.rollout.turns import check_profile
from outcomebox.sandbox import InputError

MODULE = "vllm.entrypoints.openai.api_server"

_VLLM: Mapping[str, tuple[str, str]] = {
    "qwen3_xml": ("qwen3_xml", "qwen3"),
    "qwen3_coder": ("qwen3_coder", "qwen3"),
    "hermes": ("hermes", "qwen3"),
}
"""Format -> vLLM's own tool and reasoning parsers for it."""


@dataclass(frozen=True)
class Reading:
    """Who reads the model's output on the server.

    Attributes:
        tools: vLLM's name of the tool parser.
        reasoning: Of the reasoning parser.
        release: The release of vLLM whose reading it is, as ``0.32``; None where any will do.
    """

    tools: str
    reasoning: str
    release: str | None


@dataclass(frozen=True)
class Serving:
    """A server to be started.

    Attributes:
        model: Folder of the merged model.
        name: What clients call it.
        reading: Who reads its output.
        python: Python that has vLLM.
        host: Address to listen on.
        port: Port to listen on.
        context: Most tokens of a conversation; None for the model's own.
        tensor: GPUs of the server.
        chat_template: File that replaces the model's template.
        enable_thinking: Of the template; None where it is not told.
        more: Further flags of vLLM, as written.
    """

    model: Path
    name: str
    reading: Reading
    python: str
    host: str
    port: int
    context: int | None = None
    tensor: int = 1
    chat_template: str | None = None
    enable_thinking: bool | None = None
    more: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """What is called."""
        found = [
            self.python,
            "-m",
            MODULE,
            "--model",
            str(self.model),
            "--served-model-name",
            self.name,
            "--host",
            self.host,
            "--port",
            str(self.port),
            "--enable-auto-tool-choice",
            "--tool-call-parser",
            self.reading.tools,
            "--reasoning-parser",
            self.reading.reasoning,
        ]
        if self.context is not None:
            found += ["--max-model-len", str(self.context)]
        if self.tensor > 1:
            found += ["--tensor-parallel-size", str(self.tensor)]
        if self.chat_template is not None:
            found += ["--chat-template", self.chat_template]
        if self.enable_thinking is not None:
            options = json.dumps({"enable_thinking": self.enable_thinking})
            found += ["--default-chat-template-kwargs", options]
        return [*found, *self.more]


def reading_of(format: str, profile: str) -> Reading:  # noqa: A002 -- the interpreter's word
    """Who has to read on the server, so that it reads as a profile does.

    Args:
        format: How the model writes calls and reasoning.
        profile: Whose reading was trained with.

    Raises:
        InputError: No vLLM reads so.
    """
    check_profile(profile, format)
    if profile == "strict":
        return Reading(plug_name(format), plug_name(format), None)
    if not profile.startswith("vllm-"):
        raise InputError(
            "is no reading of a vLLM server; serve with the engine it names, or train with strict "
            "or vllm-0.32",
            field="model.profile",
            value=profile,
        )
    if format not in _VLLM:
        raise InputError(
            f"has no parser of vLLM's own that was compared; there are {', '.join(_VLLM)}",
            field="model.format",
            value=format,
        )
    return Reading(*_VLLM[format], profile.removeprefix("vllm-").removesuffix("-stream"))


def check_release(reading: Reading, found: str | None, python: str) -> None:
    """See that a server reads as the profile that was trained with does.

    Args:
        reading: Who has to read.
        found: The version of vLLM that is there; None where there is none.
        python: Whose it is.

    Raises:
        InputError: There is none, or it is another release.
    """
    if found is None:
        raise InputError("has no vLLM; pip install vllm there", field="--python", value=python)
    release = reading.release
    if release is not None and found != release and not found.startswith(f"{release}."):
        raise InputError(
            f"has vLLM {found}, and the model was trained with the reading of {release}; install "
            f"vllm {release}, or train with the profile of the release that serves",
            field="--python",
            value=python,
        )
