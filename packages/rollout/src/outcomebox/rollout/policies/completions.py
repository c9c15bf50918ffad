"""The sampler behind an endpoint's raw completions: ids in, ids and log-probabilities out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.interpret.tokens import Tokenizer
from outcomebox.reward.chat import ChatEndpoint, ChatError, ContextTooLong, TextAnswer
from outcomebox.rollout.errors import PolicyError, policy_error
from outcomebox.rollout.policies.tokens import ContextFull, Sampled

_ASKED: Mapping[str, Any] = {
    # The log-probability of what was sampled, and of nothing else.
    "logprobs": 0,
    "return_token_ids": True,
    # A reader of the raw output needs its control tokens.
    "skip_special_tokens": False,
    "spaces_between_special_tokens": False,
}


class EndpointSampler:
    """A model behind ``<base_url>/completions`` that takes and returns token ids (vLLM).

    Args:
        endpoint: Where it is.
        tokenizer: The model's tokenizer, which has to know each id that comes back.
    """

    def __init__(self, endpoint: ChatEndpoint, tokenizer: Tokenizer) -> None:
        self.endpoint = endpoint
        self._tokenizer = tokenizer

    def describe(self) -> Mapping[str, Any]:
        """Model, address and settings; never the key."""
        return {"name": "openai", "api": "completions", **self.endpoint.describe()}

    async def check(self) -> None:
        """See that the endpoint answers.

        Raises:
            InputError: It does not.
        """
        await self.endpoint.check()

    async def sample(self, prompt_ids: Sequence[int], *, seed: int) -> Sampled:
        """Sample one turn.

        Raises:
            ContextFull: The prompt leaves no room.
            PolicyError: No usable answer after retries, or one without token ids.
        """
        try:
            answer = await self.endpoint.complete(prompt_ids, **{**_ASKED, "seed": seed})
        except ContextTooLong as error:
            raise ContextFull(str(error)) from error
        except ChatError as error:
            raise policy_error(error) from error
        return Sampled(_ids(answer), _logprobs(answer), answer.finish_reason)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.endpoint.aclose()


def _ids(answer: TextAnswer) -> tuple[int, ...]:
    if answer.ids is None:
        raise PolicyError(
            "the endpoint returned no token ids; use a server that does (vLLM 0.10.2 or later), or "
            "--policy-option api=chat"
        )
    return answer.ids


def _logprobs(answer: TextAnswer) -> tuple[float, ...] | None:
    """One for each id; an endpoint that leaves some out tells none that could be used."""
    if answer.logprobs is None or len(answer.logprobs) != len(answer.ids or ()):
        return None
    return answer.logprobs
