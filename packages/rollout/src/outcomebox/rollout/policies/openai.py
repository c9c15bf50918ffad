"""Any model behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.reward.chat import ChatEndpoint, ChatError
from outcomebox.rollout.errors import PolicyError
from outcomebox.rollout.policy import Completion, EpisodeContext, Message, PolicyEpisode
from outcomebox.sandbox import InputError, ToolSpec


class OpenAIPolicy:
    """A chat model; the endpoint takes its output apart, or our interpreter does.

    Args:
        endpoint: Where it is.
        parse: ``server``: tool calls are what the endpoint says they are. ``client``: the content
            is the model's raw output, which our interpreter reads (for servers that have no tool
            parser).
    """

    simulated = False
    format = "qwen3_xml"

    def __init__(self, endpoint: ChatEndpoint, parse: str = "server") -> None:
        self.name = endpoint.model
        self.endpoint = endpoint
        self.parse = parse

    def describe(self) -> Mapping[str, Any]:
        """Model, address and settings; never the key."""
        return {
            "name": "openai",
            "simulated": False,
            "parse": self.parse,
            **self.endpoint.describe(),
        }

    async def check(self) -> None:
        """See that the endpoint answers.

        Raises:
            InputError: It does not.
        """
        await self.endpoint.check()

    def start(self, context: EpisodeContext) -> PolicyEpisode:
        """One conversation."""
        return _Chat(self, context.tools, context.seed)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.endpoint.aclose()


class _Chat:
    def __init__(self, policy: OpenAIPolicy, tools: Sequence[ToolSpec], seed: int) -> None:
        self._policy = policy
        self._tools = [tool.openai() for tool in tools]
        self._seed = seed & 0x7FFFFFFF

    async def complete(self, messages: Sequence[Message]) -> Completion:
        raw = self._policy.parse == "client"
        try:
            answer = await self._policy.endpoint.chat(
                [to_api(message, raw=raw) for message in messages],
                tools=self._tools,
                seed=self._seed,
            )
        except ChatError as error:
            raise PolicyError(str(error)) from error
        if raw:
            if answer.tool_calls or answer.reasoning:
                raise PolicyError(
                    "the endpoint takes the output apart itself; use --policy-option parse=server"
                )
            return Completion(
                answer.content or "", finish_reason=answer.finish_reason, usage=answer.usage
            )
        return Completion(
            answer.content or "",
            finish_reason=answer.finish_reason,
            structured=answer.tool_calls,
            reasoning=answer.reasoning,
            usage=answer.usage,
        )


def to_api(message: Message, *, raw: bool = False) -> Message:
    """A message of a row as the chat API takes it.

    Args:
        message: As the episode holds it.
        raw: Give assistant turns back as the text the model wrote, and tool answers as user text,
            for a server that does not know tool calls.
    """
    role = message["role"]
    if role == "tool":
        if raw:
            return {
                "role": "user",
                "content": f"<tool_response>\n{message['content']}\n</tool_response>",
            }
        return {
            "role": "tool",
            "tool_call_id": message["tool_call_id"],
            "content": message["content"],
        }
    if role != "assistant":
        return {"role": role, "content": message["content"]}
    if raw:
        return {"role": role, "content": message["raw"]}
    result: Message = {"role": role, "content": message["content"] or ""}
    if message.get("tool_calls"):
        result["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for call in message["tool_calls"]
        ]
    return result


def openai_policy(  # noqa: PLR0917 -- options by name
    base_url: str = "",
    model: str = "",
    key_variable: str = "OPENAI_API_KEY",
    parse: str = "server",
    temperature: str = "",
    top_p: str = "",
    max_tokens: str = "",
    timeout_s: str = "300",
) -> OpenAIPolicy:
    """The policy from options given as text; address and model may come from the environment.

    Raises:
        InputError: An option is missing or is not what it should be.
    """
    base_url = base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not base_url:
        raise InputError(
            "give the address: --policy-option base_url=http://127.0.0.1:8000/v1, or set the "
            "environment variable OPENAI_BASE_URL",
            field="policy-option base_url",
        )
    if not base_url.startswith(("http://", "https://")):
        raise InputError(
            "the address has to start with http:// or https://",
            field="policy-option base_url",
            value=base_url,
        )
    if not model:
        raise InputError("name the model: --policy-option model=NAME", field="policy-option model")
    if parse not in {"server", "client"}:
        raise InputError(
            "is server (the endpoint reads tool calls) or client (our interpreter does)",
            field="policy-option parse",
            value=parse,
        )
    settings: dict[str, Any] = {}
    for name, text in (("temperature", temperature), ("top_p", top_p)):
        if text:
            settings[name] = _number(name, text)
    if max_tokens:
        settings["max_tokens"] = int(_number("max_tokens", max_tokens))
    endpoint = ChatEndpoint(
        base_url=base_url,
        model=model,
        key_variable=key_variable,
        settings=settings,
        timeout_s=_number("timeout_s", timeout_s),
    )
    return OpenAIPolicy(endpoint, parse)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError("give a number", field=f"policy-option {name}", value=text) from None
