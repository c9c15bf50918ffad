"""The simulated policy: its stated rates, its slips, and the raw text it writes."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.interpret import interpret
from outcomebox.rollout import Completion, EpisodeContext, episode_seed, make_policy
from outcomebox.rollout.policies.simulated import SLIP_RATES, slip_chance
from outcomebox.rollout.policies.slips import Step, apply_slip, known_values, unasked_write
from outcomebox.sandbox import Task, ToolSpec
from scripted_policy import shelf_task

TOOLS = (
    ToolSpec("get_box", "Look.", {"properties": {"box_id": {"type": "string"}}}, writes=False),
    ToolSpec(
        "move_box",
        "Move.",
        {
            "properties": {"box_id": {"type": "string"}, "shelf_id": {"type": "string"}},
            "required": ["box_id", "shelf_id"],
        },
        writes=True,
    ),
)
STEPS = [
    Step("get_box", {"box_id": "B-008"}),
    Step("move_box", {"box_id": "B-008", "shelf_id": "S-2"}),
]
GOLDEN = [{"tool": step.tool, "arguments": dict(step.arguments)} for step in STEPS]


def spoken(task: Task, seed: int, **options: str) -> list[Completion]:
    """What the policy writes in an episode whose tools answer everything with a box."""
    policy = make_policy("simulated", options)
    episode = policy.start(EpisodeContext(task, TOOLS, seed, 0, task.golden))
    messages: list[dict[str, Any]] = [{"role": "user", "content": task.query}]

    async def talk() -> list[Completion]:
        turns = []
        for _ in range(20):
            turns.append(await episode.complete(messages))
            read = interpret(turns[-1].text, prompt_state="assistant_start")
            messages.append({"role": "assistant", "content": read.content})
            if (read.content or "").endswith("<DONE>"):
                break
            answer = '{"box_id": "B-008", "shelf_id": "S-1"}'
            messages.append({"role": "tool", "name": "t", "content": answer})
        return turns

    return asyncio.run(talk())


@given(st.integers(0, 2**63 - 1))
def test_an_episode_is_decided_by_its_seed_alone(seed: int) -> None:
    task = shelf_task(golden=GOLDEN, tags=["two-systems", "arithmetic"])
    assert spoken(task, seed) == spoken(task, seed)


@given(st.integers(0, 2**63 - 1))
def test_without_slips_it_makes_the_golden_calls_in_order(seed: int) -> None:
    task = shelf_task(golden=GOLDEN, tags=["long", "duplicate"])
    turns = spoken(task, seed, skill="1e9", spread="0")
    calls = [
        (call.name, call.arguments)
        for turn in turns
        for call in interpret(turn.text, prompt_state="assistant_start").tool_calls
        # A stumble is a misspelt tool or a call that was cut; the mended one follows.
        if call.executable and call.name in {"get_box", "move_box"}
    ]
    assert calls == [(step.tool, step.arguments) for step in STEPS]
    assert turns[-1].text.endswith("<DONE>")
    assert all(turn.text.startswith("<think>\n") for turn in turns)


@given(
    st.sampled_from(sorted(SLIP_RATES)),
    st.text(min_size=1),
    st.floats(0.1, 10),
    st.floats(0, 3),
)
def test_a_chance_is_one_and_grows_with_the_rate(
    skill: str, uid: str, ability: float, spread: float
) -> None:
    rate = SLIP_RATES[skill][0]
    low = slip_chance(rate / 2, uid, skill=ability, spread=spread)
    high = slip_chance(rate, uid, skill=ability, spread=spread)
    assert 0 <= low <= high <= 1


def test_without_spread_the_chance_is_the_stated_rate() -> None:
    for rate, _ in SLIP_RATES.values():
        assert slip_chance(rate, "any/uid", skill=1.0, spread=0.0) == pytest.approx(rate)


@given(st.integers(0, 1000))
def test_each_slip_is_what_its_name_says(seed: int) -> None:
    def slipped(slip: str) -> list[Step]:
        return apply_slip(slip, STEPS, {"move_box"}, random.Random(seed))

    assert slipped("skip") == STEPS[:1]
    assert slipped("end_early") == STEPS[:1]
    assert slipped("repeat") == [*STEPS, STEPS[1]]
    assert [step.kind for step in slipped("draft")] == ["call", "draft"]
    assert [step.kind for step in slipped("unasked_write")] == ["call", "call", "unasked"]
    wrong = slipped("wrong_value")
    assert wrong[0] == STEPS[0]
    differing = [k for k, v in wrong[1].arguments.items() if v != STEPS[1].arguments[k]]
    assert len(differing) == 1
    reads = apply_slip("skip", STEPS[:1], {"move_box"}, random.Random(seed))
    assert [step.kind for step in reads] == ["call", "unasked"]
    with pytest.raises(ValueError, match="no slip"):
        slipped("nonsense")


def test_an_unasked_write_takes_what_was_seen() -> None:
    messages: list[dict[str, Any]] = [
        {
            "role": "tool",
            "name": "get_box",
            "content": '{"box_id": "B-7", "in": [{"shelf_id": "S"}]}',
        },
        {"role": "tool", "name": "x", "content": "prose"},
        {"role": "tool", "name": "x", "content": '{"box_id": "no"}', "is_error": True},
    ]
    known = known_values(messages)
    assert known == {"box_id": ["B-7"], "shelf_id": ["S"]}
    step = unasked_write(TOOLS[1:], known, random.Random(0))
    assert step == Step("move_box", {"box_id": "B-7", "shelf_id": "S"})
    assert unasked_write(TOOLS[1:], {}, random.Random(0)) is None


def test_seeds_differ_by_run_task_and_repetition() -> None:
    seeds = {episode_seed(run, uid, n) for run in (0, 1) for uid in ("a", "b") for n in range(50)}
    assert len(seeds) == 200
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_it_says_that_it_is_simulated() -> None:
    described = make_policy("simulated").describe()
    assert described["simulated"] is True
    assert described["slip_rates"]["arithmetic"] == SLIP_RATES["arithmetic"][0]
