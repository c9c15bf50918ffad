"""Budgets and the sampler: how long a turn may be, how it ended, and what is no agent's fault."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.rollout import PolicyError
from outcomebox.rollout.policies.tokens import ContextFull, Sampled
from outcomebox.train.verl.budget import Budget, Spending
from outcomebox.train.verl.sampler import PromptTooLong, ServerSampler
from train_episodes import output

WIDE = Budget(prompt_tokens=50, response_tokens=40, turn_tokens=10, context_tokens=80)
END = 9


class Fixed:
    """Gives outputs in order."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs = list(outputs)
        self.asked: list[dict[str, Any]] = []

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]
    ) -> Any:
        self.asked.append({"id": request_id, "prompt": prompt_ids, **sampling_params})
        # verl's servers take parameters out of what they are given.
        sampling_params.clear()
        found = self.outputs.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found


def sampler(*outputs: Any, budget: Budget = WIDE, **params: Any) -> ServerSampler:
    params = {"temperature": 0.7, "top_p": 0.9, "top_k": 20, "logprobs": True, **params}
    return ServerSampler(Fixed(*outputs), "r", params, budget, frozenset({END}))


def sample(made: ServerSampler, prompt: list[int], seed: int = 5) -> Sampled:
    return asyncio.run(made.sample(prompt, seed=seed))


def asked(made: ServerSampler) -> list[dict[str, Any]]:
    assert isinstance(made.manager, Fixed)
    return made.manager.asked


def test_verl_s_parameters_are_sent_with_seed_and_limit() -> None:
    made = sampler(output((1, END)), output((2, END)))
    first = sample(made, [3, 4])
    assert (first.ids, first.finish_reason) == ((1, END), "stop")
    assert first.logprobs == pytest.approx((-0.01, -0.02))
    sample(made, [3, 4, 1, END, 5], seed=6)
    assert asked(made)[1] == {
        "id": "r",
        "prompt": [3, 4, 1, END, 5],
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 20,
        "logprobs": True,
        "max_tokens": 10,
        "seed": 6,
    }
    assert made.describe()["temperature"] == 0.7
    assert made.restarts == 0


def test_verl_says_completed_of_a_turn_that_was_cut() -> None:
    made = sampler(output((1,) * 10), output(((1,) * 9) + (END,)))
    assert sample(made, [3]).finish_reason == "length"
    assert sample(made, [3] + [1] * 10).finish_reason == "stop"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (output((1, 2)), "after 2 of 10 tokens with id 2, which ends no turn"),
        (output((1,) * 11), "11 tokens of at most 10"),
        (output(()), "sampled nothing"),
        (output((), stop_reason="aborted"), "aborted"),
        (output((1, END), stop_reason="abort"), "aborted"),
        (output((1, END), log_probs=None), "no log-probabilities"),
        (output((1, END), log_probs=[]), "no log-probabilities"),
        (output((1, END), log_probs=[0.0]), "1 log-probabilities for 2 tokens"),
        (output((1, END), routed_experts=[[0]]), "enable_rollout_routing_replay=False"),
        (RuntimeError("No available servers"), "RuntimeError: No available servers"),
    ],
)
def test_what_cannot_be_trained_on_is_a_fault_of_the_server(given: Any, why: str) -> None:
    made = sampler(given)
    with pytest.raises(PolicyError, match=why):
        sample(made, [3])
    assert made.turns == []


def test_log_probabilities_that_were_not_asked_for_may_be_missing() -> None:
    made = sampler(output((1, END), log_probs=None), logprobs=False)
    assert sample(made, [3]).logprobs is None


def test_the_weights_of_all_turns_are_told() -> None:
    told = [
        output((END,), extra_fields={"min_global_steps": low, "max_global_steps": high})
        for low, high in ((4, 5), (None, None), (3, 4))
    ]
    told[2].num_preempted = 2
    made = sampler(*told)
    assert (made.weights.oldest, made.weights.newest) == (None, None)
    prompt = [1]
    for _ in range(3):
        prompt += sample(made, prompt).ids
    assert (made.weights.oldest, made.weights.newest, made.weights.preempted) == (3, 5, 2)


def test_a_first_prompt_is_never_cut() -> None:
    made = sampler()
    with pytest.raises(PromptTooLong, match="51 tokens and prompt_tokens is 50"):
        sample(made, [1] * 51)
    tight = sampler(budget=Budget(50, 40, 10, 50))
    with pytest.raises(PromptTooLong, match="no room for an answer in context_tokens 50"):
        sample(tight, [1] * 50)


def test_a_prompt_that_begins_anew_shares_the_episode_s_budget() -> None:
    made = sampler(*(output((1,) * length + (END,)) for length in (9, 9, 9, 7)))
    prompt = [5] * 20
    prompt += [*sample(made, prompt).ids, 6, 6]
    prompt += [*sample(made, prompt).ids]
    # 22 of 40 are spent; the template writes the past anew, and shorter.
    sample(made, [5] * 25)
    sample(made, [5] * 25 + [1] * 9 + [END])
    assert [each["max_tokens"] for each in asked(made)] == [10, 10, 10, 8]
    assert made.restarts == 1
    assert [turn.anew for turn in made.turns] == [True, False, True, False]


def test_the_context_is_full_behind_the_last_room() -> None:
    made = sampler(output((1,) * 9 + (END,)), budget=Budget(50, 40, 10, 30))
    ids = sample(made, [5] * 20).ids
    with pytest.raises(ContextFull):
        sample(made, [5] * 20 + list(ids))
    assert len(asked(made)) == 1


turns = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=12)


@settings(max_examples=400)
@given(turns, st.integers(1, 40), st.integers(1, 60), st.integers(1, 20), st.integers(41, 120))
def test_no_sequence_grows_out_of_its_budget(
    steps: list[tuple[int, bool]], first: int, response: int, turn: int, context: int
) -> None:
    budget, spending = Budget(40, response, turn, context), Spending()
    sequences: list[list[int]] = []
    standing = 0
    for number, (added, anew) in enumerate(steps):
        begins = anew or number == 0
        prompt = standing + added
        if begins:  # written anew: as long as it may be, and mostly shorter
            prompt = max(1, standing - added) if number else first
        room = budget.room(prompt, spending.prompt(prompt, anew=begins))
        if room < 1:
            break
        if begins:
            sequences.append([prompt, 0])
        spending.sampled(prompt, room)
        standing = sequences[-1][1] = prompt + room
    for start, end in sequences:
        assert 0 < end <= context
        assert end - start <= response
    assert sum(end - start for start, end in sequences) <= response
