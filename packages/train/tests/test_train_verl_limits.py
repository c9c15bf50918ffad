"""Caps and budgets of real episodes: what is cut ends the episode, and the state decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outcomebox.train.errors import EpisodeFault
from train_chat import chat_without_library, make_model
from train_episodes import RIGHT, call, make_run, spelled
from train_running import Run

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """verl's event loop is asyncio's."""
    return "asyncio"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder."""
    return make_model(tmp_path_factory.mktemp("model"))


async def test_a_turn_cut_at_its_cap_ends_the_episode_and_the_state_decides(
    tmp_path: Path, model: Path
) -> None:
    chat = chat_without_library(model)
    cap = len(spelled(chat.vocabulary, RIGHT[0])) + 1
    run = Run(make_run(tmp_path / "run", model, turn_tokens=cap), chat)
    try:
        cut = await run.play(RIGHT[0], "x" * 2 * cap)
        late = await run.play("y" * 40 + RIGHT[0])
    finally:
        await run.worker.aclose()
    assert (cut.figures["outcome"], late.figures["outcome"]) == ("passed", "failed")
    assert cut.figures["finish_reason"] == late.figures["finish_reason"] == "token_limit"
    assert late.figures["tool_calls"] == 0
    (sequence,) = late.sequences
    assert len(sequence.response_ids) == sum(sequence.mask) == cap
    assert sequence.response_ids[-1] not in chat.ends


@pytest.mark.parametrize("limit", ["response_tokens", "context_tokens"])
async def test_where_the_budget_is_spent_the_episode_ends(
    tmp_path: Path, model: Path, limit: str
) -> None:
    chat = chat_without_library(model)
    look = call("get_box", box_id="B-008")
    wide = Run(make_run(tmp_path / "wide", model), chat)
    try:
        played = await wide.play(look, look, *RIGHT)
        prompts = [len(each["prompt"]) for each in wide.server.asked]
        turn = len(spelled(chat.vocabulary, look)) + 1
        # Room for two looks and what they answer, and 5 tokens of the third turn.
        spent = prompts[2] + 5 - (prompts[0] if limit == "response_tokens" else 0)
        told: dict[str, Any] = {limit: spent}
        narrow = Run(make_run(tmp_path / "narrow", model, **told), chat)
        try:
            short = await narrow.play(look, look, *RIGHT)
            asked_for = [each["max_tokens"] for each in narrow.server.asked]
            # The second turn's answer does not fit: the third is not asked for.
            told = {limit: spent - 5}
            full = Run(make_run(tmp_path / "full", model, **told), chat)
            try:
                ended = await full.play(look, look, *RIGHT)
            finally:
                await full.worker.aclose()
        finally:
            await narrow.worker.aclose()
    finally:
        await wide.worker.aclose()
    assert played.figures["outcome"] == "passed"
    assert short.figures["finish_reason"] == ended.figures["finish_reason"] == "token_limit"
    assert (short.figures["outcome"], ended.figures["outcome"]) == ("failed", "failed")
    assert asked_for[-1] == 5
    assert short.figures["response_tokens"] == prompts[2] + 5 - prompts[0]
    assert len(full.server.asked) == 2
    # What follows the last turn that was sampled is nothing to train on.
    assert ended.sequences[0].mask[-1] == 1
    assert ended.figures["response_tokens"] == prompts[1] + turn - prompts[0]


async def test_a_first_prompt_that_does_not_fit_is_no_failure(tmp_path: Path, model: Path) -> None:
    run = Run(make_run(tmp_path / "run", model, prompt_tokens=50), chat_without_library(model))
    try:
        with pytest.raises(EpisodeFault, match="prompt_tokens is 50; raise it"):
            await run.play(*RIGHT)
    finally:
        await run.worker.aclose()
    assert run.server.asked == []
    assert run.last["error"]["type"] == "PromptTooLong"


async def test_fewer_turns_than_the_task_would_allow(tmp_path: Path, model: Path) -> None:
    run = Run(make_run(tmp_path / "run", model, max_turns=1), chat_without_library(model))
    try:
        played = await run.play(*RIGHT)
    finally:
        await run.worker.aclose()
    assert played.figures["finish_reason"] == "agent_limit"
    assert (played.figures["turns"], played.figures["outcome"]) == (1, "passed")
