"""Any model behind an OpenAI-compatible endpoint: vLLM, sglang, hosted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from outcomebox.reward.chat import (
    ChatAnswer,
    ChatEndpoint,
    ChatError,
    ContextTooLong,
    StructuredCall,
)
from outcomebox.rollout.errors import PolicyError, policy_error
from outcomebox.rollout.policies.api import to_api
from outcomebox.rollout.policies.options import Options, endpoint, sampling
from outcomebox.rollout.policy import Completion, EpisodeContext, Message, Policy, PolicyEpisode
from outcomebox.rollout.tokens import Standing
from outcomebox.sandbox import InputError, ToolSpec


class OpenAIPolicy:
    """A chat model; the endpoint takes its output apart, or our interpreter does.

    Args:
        endpoint: Where it is.
        parse: ``server``: tool calls are what the endpoint says they are. ``client``: the content
            is the model's raw output, which our interpreter reads (for servers that have no tool
            parser).
        thought: The field in which the model's earlier reasoning is given back; empty: it is not.
    """

    simulated = False
    format = "qwen3_xml"

    def __init__(self, endpoint: ChatEndpoint, parse: str = "server", thought: str = "") -> None:
        self.name = endpoint.model
        self.endpoint = endpoint
        self.parse = parse
        self.thought = thought

    def describe(self) -> Mapping[str, Any]:
        """Model, address and settings; never the key."""
        return {
            "name": "openai",
            "simulated": False,
            "parse": self.parse,
            **({"reasoning": self.thought} if self.thought else {}),
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
        self._standing = Standing()
        self._call_ids: set[str] = set()

    async def complete(self, messages: Sequence[Message]) -> Completion:
        policy, raw = self._policy, self._policy.parse == "client"
        try:
            answer = await policy.endpoint.chat(
                [to_api(message, raw=raw, thought=policy.thought) for message in messages],
                tools=self._tools,
                seed=self._seed,
            )
        except ContextTooLong:
            # The agent has talked itself out of room: its own end, and no failure of the endpoint.
            nothing = () if self._standing.ids else None
            return Completion(
                "",
                finish_reason="length",
                structured=None if raw else (),
                ids=nothing,
                logprobs=nothing,
                context_ids=nothing,
            )
        except ChatError as error:
            raise policy_error(error) from error
        if raw and (answer.tool_calls or answer.reasoning):
            raise PolicyError(
                "the endpoint takes the output apart itself; use --policy-option parse=server"
            )
        return Completion(
            answer.content or answer.refusal or "",
            finish_reason=answer.finish_reason,
            structured=None if raw else self._told_apart(answer.tool_calls),
            reasoning=None if raw else answer.reasoning,
            usage=answer.usage,
            raw=answer.raw,
            **self._ids(answer),
        )

    def _told_apart(self, calls: Sequence[StructuredCall]) -> tuple[StructuredCall, ...]:
        """The calls; an id that the episode has had already is left for the loop to make."""
        found = []
        for call in calls:
            found.append(replace(call, id="") if call.id in self._call_ids else call)
            self._call_ids.add(call.id)
        return tuple(found)

    def _ids(self, answer: ChatAnswer) -> dict[str, Any]:
        """The fields of a completion that hold its tokens, where the endpoint tells them."""
        if answer.ids is None:
            return {}
        found: dict[str, Any] = {"ids": answer.ids, "logprobs": answer.logprobs}
        if answer.prompt_ids is not None:
            context = self._standing.context(answer.prompt_ids)
            self._standing.sampled(answer.ids)
            found |= {"context_ids": context.ids, "restarts": context.restarts}
        return found


def openai_policy(  # noqa: PLR0917 -- options by name
    base_url: str = "",
    model: str = "",
    key_variable: str = "",
    headers: str = "",
    api: str = "",
    parse: str = "",
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
    parallel_tool_calls: str = "",
    reasoning: str = "",
    template_options: str = "",
    tokens: str = "",
    tokenizer: str = "",
    format: str = "",  # noqa: A002 -- the interpreter's word
    timeout_s: str = "",
    quiet_s: str = "",
    attempts: str = "",
    extra: str = "",
) -> Policy:
    """The policy from options given as text; address and key may come from the environment.

    Raises:
        InputError: An option is missing or is not what it should be, or two do not go together.
    """
    options = Options("policy-option", {**locals()})
    settings = sampling(options)
    streamed = options.flag("stream") or False
    kwargs = options.mapping("template_options")
    if options.one_of("api", ("chat", "completions")) == "completions":
        return _raw_completions(options, settings, kwargs, stream=streamed)
    for name in ("tokenizer", "format"):
        if options.text(name):
            raise options.wrong(name, "is only of use with api=completions")
    if kwargs:
        settings["chat_template_kwargs"] = kwargs
    parallel = options.flag("parallel_tool_calls")
    if parallel is not None:
        settings["parallel_tool_calls"] = parallel
    if options.flag("tokens"):
        settings |= {"return_token_ids": True, "logprobs": True}
    read_by = options.one_of("parse", ("server", "client")) or "server"
    thought = options.one_of("reasoning", ("none", "reasoning_content", "reasoning")) or "none"
    return OpenAIPolicy(
        endpoint(options, settings, role="policy", stream=streamed),
        read_by,
        "" if thought == "none" else thought,
    )


def _raw_completions(
    options: Options, settings: Mapping[str, Any], kwargs: dict[str, Any], *, stream: bool
) -> Policy:
    from outcomebox.rollout.policies.completions import (  # noqa: PLC0415 -- needs libraries that
        EndpointSampler,  # other policies do without
    )
    from outcomebox.rollout.policies.modelfolder import model_folder  # noqa: PLC0415 -- likewise
    from outcomebox.rollout.policies.tokens import TokenPolicy  # noqa: PLC0415 -- likewise

    for name in ("parse", "parallel_tool_calls", "reasoning"):
        if options.text(name):
            raise options.wrong(name, "is only of use with api=chat")
    if options.flag("tokens") is False:
        raise options.wrong("tokens", "api=completions always asks for them; leave it out")
    folder = options.text("tokenizer")
    if folder is None:
        raise InputError(
            "api=completions writes the prompt itself: give the model's folder with "
            "--policy-option tokenizer=PATH",
            field="policy-option tokenizer",
        )
    format = options.text("format") or OpenAIPolicy.format  # noqa: A001 -- likewise
    found = model_folder(Path(folder), format, kwargs)
    at = endpoint(options, settings, role="policy", stream=stream)
    return TokenPolicy(
        EndpointSampler(at, found.tokenizer),
        found.template,
        found.tokenizer,
        name=at.model,
        format=format,
    )
