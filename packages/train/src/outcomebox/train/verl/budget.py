"""How many tokens the next turn of an episode may have.

verl trains on one sequence of a prompt and a response, where the response is everything behind the
first prompt: what the model wrote, what tools answered, what the user said. Four limits hold, and
the smallest decides:

* a turn has at most ``turn_tokens``;
* the first prompt has at most ``prompt_tokens``; one that is longer is no fault of the agent's, and
  is never cut (a cut prompt is another task);
* the responses of an episode have at most ``response_tokens`` together;
* prompt and response have at most ``context_tokens`` together, the model's window.

Where nothing is left the episode ends with ``token_limit``, and the state decides.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of an episode, in tokens.

    Attributes:
        prompt_tokens: Of the first prompt.
        response_tokens: Of all that stands behind it.
        turn_tokens: Of one turn of the model.
        context_tokens: Of prompt and response together.
    """

    prompt_tokens: int
    response_tokens: int
    turn_tokens: int
    context_tokens: int

    def room(self, prompt: int, response: int) -> int:
        """Tokens that the next turn may have; 0 or less where there is no room.

        Args:
            prompt: Tokens of the whole prompt of that turn.
            response: Tokens of the episode's responses so far, what this prompt adds included.
        """
        return min(self.turn_tokens, self.response_tokens - response, self.context_tokens - prompt)


@dataclass(slots=True)
class Spending:
    """The tokens of an episode so far, as verl counts them.

    A prompt that does not go on from what stands begins another sequence, whose prompt it is; the
    responses of all of them share one budget.

    Attributes:
        first: Tokens of the present sequence's prompt; 0 before the first turn.
        closed: Response tokens of the sequences before it.
    """

    first: int = 0
    closed: int = 0
    _standing: int = 0

    def prompt(self, tokens: int, *, anew: bool) -> int:
        """Take note of a turn's prompt; returns the episode's response tokens with it.

        Args:
            tokens: Its tokens.
            anew: Whether it does not go on from what stands.
        """
        if anew:
            self.closed += self._standing - self.first
            self.first = tokens
        return self.closed + tokens - self.first

    def sampled(self, prompt: int, tokens: int) -> None:
        """Take note of what was sampled behind a prompt."""
        self._standing = prompt + tokens
