"""A process's worker plays real episodes: the same loop and grader, rewards for verdicts alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from outcomebox.rollout import EpisodeStore
from outcomebox.rollout.tokens import token_samples
from outcomebox.sandbox import InputError
from outcomebox.sandbox.thinkingbox import load_thinkingbox
from outcomebox.train.errors import EpisodeFault
from outcomebox.train.verl.process import ProcessWorker
from outcomebox.train.verl.sampler import ServerSampler
from train_chat import QWEN, chat_without_library, make_model
from train_episodes import (
    ADD,
    LOOK,
    MOVE,
    RIGHT,
    WRONG,
    Turn,
    call,
    make_run,
    output,
    rows_of,
    spelled,
)
from train_running import Run

pytestmark = pytest.mark.anyio

TILL = Path(__file__).parents[2] / "rollout" / "tests" / "till"
"""A small dataset in the ThinkingBox form."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """verl's event loop is asyncio's."""
    return "asyncio"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder."""
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
async def run(tmp_path: Path, model: Path) -> AsyncIterator[Run]:
    """A run whose template appends."""
    run = Run(make_run(tmp_path / "run", model), chat_without_library(model))
    yield run
    await run.worker.aclose()


async def test_passed_and_failed_come_with_what_the_database_says(run: Run) -> None:
    passed = await run.play(*RIGHT)
    failed = await run.play(*WRONG)
    nothing = await run.play("I did it. <DONE>")
    found = [each.figures["outcome"] for each in (passed, failed, nothing)]
    assert found == ["passed", "failed", "failed"]
    figures = passed.figures
    assert figures["uid"] == MOVE
    assert figures["band"] == "intermediate"
    assert (figures["turns"], figures["tool_calls"], figures["tool_errors"]) == (2, 1, 0)
    assert (figures["parity_turns"], figures["parity_differences"]) == (2, 0)
    assert figures["finish_reason"] == "done"
    assert (figures["samples"], figures["restarts"]) == (1, 0)
    assert figures["seconds_sessions"] > 0
    assert passed.weights == (3, 3)
    row = rows_of(run.settings)[0]
    assert row["training"]["parity"]["differences"] == []
    assert row["training"]["untrained"] is None
    assert row["policy"]["temperature"] == 1.0
    (sample,) = token_samples(row["messages"])
    (sequence,) = passed.sequences
    assert sequence.prompt_ids + sequence.response_ids == sample.ids


async def test_the_sequence_is_what_was_sent_and_sampled(run: Run) -> None:
    played = await run.play(*RIGHT)
    first, second = run.server.asked[-2:]
    (sequence,) = played.sequences
    calls, done = (spelled(run.chat.vocabulary, each + "<|im_end|>") for each in RIGHT)
    assert list(sequence.prompt_ids) == first["prompt"]
    assert list(sequence.prompt_ids + sequence.response_ids) == second["prompt"] + list(done)
    between = len(second["prompt"]) - len(first["prompt"]) - len(calls)
    assert between > 0
    assert list(sequence.mask) == [1] * len(calls) + [0] * between + [1] * len(done)
    assert sequence.logprobs is not None
    told = output(calls).log_probs + [0.0] * between + output(done).log_probs
    assert list(sequence.logprobs) == pytest.approx(told)
    assert first["seed"] != second["seed"]
    assert all(each["max_tokens"] == run.settings.turn_tokens for each in (first, second))


async def test_the_user_speaks_in_between(run: Run) -> None:
    add = call("add_box", shelf_id="S-1", weight=7, note="new")
    played = await run.play("May I add it?", add, "Done. <DONE>", uid=ADD)
    assert played.figures["outcome"] == "passed"
    assert played.figures["user_turns"] == 1
    assert played.figures["samples"] == 1
    (sequence,) = played.sequences
    text = "Yes, go ahead."
    said = spelled(run.chat.vocabulary, text)
    places = [
        at
        for at in range(len(sequence.response_ids))
        if sequence.response_ids[at : at + len(said)] == said
    ]
    assert len(places) == 1
    assert not any(sequence.mask[places[0] : places[0] + len(said)])


@pytest.mark.parametrize(
    ("turns", "phase", "kind"),
    [
        ((ConnectionError("the engine is gone"),), "policy", "PolicyError"),
        ((RIGHT[0], lambda _: output((), stop_reason="aborted")), "policy", "PolicyError"),
        ((call("vanish"), "Done. <DONE>"), "read", "StateUnreadable"),
        ((lambda _: output((5,), log_probs=None),), "policy", "PolicyError"),
        ((lambda _: output((5, 6), log_probs=[-1.0]),), "policy", "PolicyError"),
        ((lambda _: output((5, 6)),), "policy", "PolicyError"),
        ((lambda _: output((5, 6), routed_experts=[[1]]),), "policy", "PolicyError"),
        ((lambda _: output((99999,)),), "policy", "PolicyError"),
    ],
)
async def test_a_system_error_has_a_row_and_no_reward(
    run: Run, turns: tuple[Turn, ...], phase: str, kind: str
) -> None:
    with pytest.raises(EpisodeFault) as caught:
        await run.play(*turns)
    assert (caught.value.uid, caught.value.phase, caught.value.type) == (MOVE, phase, kind)
    assert run.last["verdict"]["outcome"] == "system_error"
    assert run.last["error"]["phase"] == phase
    assert run.last["training"]["untrained"]["phase"] == phase


async def test_the_server_that_breaks_once_is_to_blame_and_not_the_agent(
    run: Run, tmp_path: Path
) -> None:
    with pytest.raises(EpisodeFault) as caught:
        await run.play(call("once", marker=str(tmp_path / "marker"), how="die"), "Done. <DONE>")
    assert caught.value.phase == "tool"
    broken = await run.play(call("die"), "Done. <DONE>")
    assert broken.figures["outcome"] == "failed"
    assert broken.figures["finish_reason"] == "tool_crash"


async def test_a_prompt_that_begins_anew_is_trained_as_what_was_seen(tmp_path: Path) -> None:
    model = make_model(tmp_path / "qwen", QWEN.read_text(encoding="utf-8"))
    run = Run(make_run(tmp_path / "run", model), chat_without_library(model))
    add = call("add_box", shelf_id="S-1", weight=7, note="new")
    try:
        played = await run.play(
            "I should ask.\n</think>\n\nMay I add it?",
            f"Now add.\n</think>\n\n{add}",
            "It is there.\n</think>\n\nDone. <DONE>",
            uid=ADD,
        )
    finally:
        await run.worker.aclose()
    figures = played.figures
    assert (figures["outcome"], figures["samples"], figures["restarts"]) == ("passed", 2, 1)
    assert figures["parity_differences"] == 0
    first, second = played.sequences
    prompts = [tuple(each["prompt"]) for each in run.server.asked]
    assert first.prompt_ids == prompts[0]
    assert sum(first.mask) == len(first.response_ids)
    assert second.prompt_ids == prompts[1]
    assert (second.prompt_ids + second.response_ids)[: len(prompts[2])] == prompts[2]
    thought = spelled(run.chat.vocabulary, "I should ask.")
    assert thought not in {
        second.prompt_ids[at : at + len(thought)] for at in range(len(second.prompt_ids))
    }
    assert figures["response_tokens"] == len(first.response_ids) + len(second.response_ids)


async def test_many_episodes_share_one_sandbox(run: Run) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(run.play(*(RIGHT if at % 2 else WRONG), session=at % 2, draw=at))
            for at in range(8)
        ]
    outcomes = [task.result().figures["outcome"] for task in tasks]
    assert outcomes == ["failed", "passed"] * 4
    keys = {(row["uid"], row["repetition"], row["try"]) for row in rows_of(run.settings)}
    assert len(keys) == 8
    opened = await run.worker._keeper.live()
    assert len(opened.worker.setting.sandbox._kinds) == 1


async def test_a_worker_opened_again_goes_on_in_the_same_rows(run: Run) -> None:
    await run.play(*RIGHT, draw=0)
    first = run.server.asked[0]
    await run.worker.aclose()
    again = ProcessWorker(run.settings, run.chat, stride=2)
    run.worker = again
    # A step that is done once more after a resume, and one that is new.
    await run.play(*RIGHT, draw=0)
    await run.play(*RIGHT, draw=1)
    await run.play(*RIGHT, draw=1, session=1)
    keys = [(row["repetition"], row["try"]) for row in rows_of(run.settings)]
    assert keys == [(0, 0), (0, 1), (2, 0), (3, 0)]
    # The same attempt again has the same seeds, another one others.
    seeds = [each["seed"] for each in run.server.asked[::2]]
    assert seeds[0] == seeds[1] == first["seed"]
    assert len(set(seeds)) == 3


async def test_a_sandbox_that_broke_is_opened_anew(run: Run) -> None:
    await run.play(*RIGHT)
    kept = run.worker._keeper._task
    assert kept is not None
    kept.cancel()
    with pytest.raises(asyncio.CancelledError):
        await kept
    assert (await run.play(*RIGHT)).figures["outcome"] == "passed"


async def test_a_run_that_is_recorded_keeps_its_exchanges(tmp_path: Path, model: Path) -> None:
    run = Run(make_run(tmp_path / "run", model, spec={"record": True}), chat_without_library(model))
    try:
        played = await run.play(*RIGHT)
    finally:
        await run.worker.aclose()
    assert played.figures["outcome"] == "passed"
    assert len(list(run.settings.rows.glob("*.exchanges.jsonl"))) == 1
    assert len(list(run.settings.rows.glob("*.jsonl"))) == 2


async def test_tasks_with_servers_of_their_own(tmp_path: Path, model: Path) -> None:
    spec = {"tasks": (), "dataset": str(TILL), "servers": str(TILL / "servers.yaml")}
    uids = sorted(each.uid for each in load_thinkingbox(TILL, ["till.py:pays", "till.py:sees"]))
    settings = make_run(tmp_path / "run", model, (uids[:1], uids[1:]), spec=spec)
    run = Run(settings, chat_without_library(model))
    pay = call("pay", account="a", amount=5)
    try:
        paid = await run.play(call("balance", account="a"), pay, "Paid. <DONE>", uid=uids[0])
        kept = await run.play("Paid. <DONE>", uid=uids[0])
    finally:
        await run.worker.aclose()
    assert (paid.figures["outcome"], kept.figures["outcome"]) == ("passed", "failed")
    assert paid.figures["parity_differences"] == 0


async def test_validation_is_numbered_by_its_step(run: Run) -> None:
    look = (call("get_box", box_id="B-009"), "It is fragile. <DONE>")
    for step in (5, 10):
        played = await run.play(*look, uid=LOOK, side="test", draw=0, step=step)
        assert played.figures["outcome"] == "passed"
        assert (played.figures["side"], played.figures["band"]) == ("test", "unknown")
    assert [row["repetition"] for row in rows_of(run.settings)] == [10, 20]


async def test_what_cannot_begin_has_no_row_and_no_reward(tmp_path: Path, model: Path) -> None:
    settings = make_run(tmp_path / "run", model)
    pool = anyio.Path(settings.pool.path)
    text = await pool.read_text(encoding="utf-8")
    run = Run(settings, chat_without_library(model))
    digest = text.split("hash: ")[1][:64]
    await pool.write_text(text.replace(digest, "f" * 64), encoding="utf-8")
    with pytest.raises(EpisodeFault, match="is not the task that was probed") as caught:
        await run.play(*RIGHT)
    assert (caught.value.phase, caught.value.type) == ("start", InputError.__name__)
    await pool.write_text(text, encoding="utf-8")
    # It is tried again: a fault is not remembered.
    try:
        assert (await run.play(*RIGHT)).figures["outcome"] == "passed"
        with pytest.raises(EpisodeFault, match="more attempts than the 2"):
            await run.play(*RIGHT, session=2)
    finally:
        await run.worker.aclose()
    assert len(rows_of(settings)) == 1


async def test_a_row_that_cannot_be_written_gives_no_reward(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run.play(*RIGHT)

    def full(*_: Any) -> None:
        raise InputError("no space left", file="rows")

    monkeypatch.setattr(EpisodeStore, "append", full)
    with pytest.raises(EpisodeFault) as caught:
        await run.play(*RIGHT)
    assert caught.value.phase == "store"


async def test_a_row_that_says_other_than_was_sampled_is_not_trained_on(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = ServerSampler.sample

    async def other(self: ServerSampler, *args: Any, **more: Any) -> Any:
        found = await sample(self, *args, **more)
        self.turns[-1] = self.turns[-1]._replace(output=b"other")
        return found

    monkeypatch.setattr(ServerSampler, "sample", other)
    with pytest.raises(EpisodeFault, match="output of the row is not what the server saw") as found:
        await run.play(*RIGHT)
    assert found.value.phase == "tokens"
    # The verdict stands, for whoever looks into it.
    assert run.last["verdict"]["outcome"] == "passed"
    assert run.last["training"]["untrained"]["phase"] == "tokens"
