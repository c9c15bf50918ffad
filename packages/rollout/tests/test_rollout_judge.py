"""Rubrics in an episode: the judge takes his time, the loop goes on, the row says what was said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from outcomebox.reward import JudgeError
from outcomebox.reward.judge import Judgement
from outcomebox.rollout import (
    EpisodeSetting,
    EpisodeStore,
    ScriptedUser,
    digest,
    make_judge,
    read_rows,
    run_all,
    seeder,
)
from outcomebox.sandbox import (
    Domain,
    InputError,
    Sandbox,
    TaskSet,
    load_domain,
    sandbox,
    start_domains,
)
from scripted_policy import END, MOVE, SHELF, Says, shelf_task

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def shelf() -> Domain:
    """The shelf domain."""
    return load_domain(SHELF)


@pytest.fixture(scope="module")
async def box(shelf: Domain) -> AsyncIterator[Sandbox]:
    """A sandbox with the shelf domain started."""
    async with sandbox() as box:
        await start_domains(box, [shelf])
        yield box


class Meeting:
    """A judge who answers once as many questions wait as are said to: nobody may block the loop."""

    def __init__(
        self, answer: bool | Exception, *, cached: bool = False, waits_for: int = 1
    ) -> None:
        self.asked: list[tuple[str, str]] = []
        self._answer = answer
        self._cached = cached
        self._waits_for = waits_for
        self._met = anyio.Event()

    def describe(self) -> Mapping[str, Any]:
        return {"name": "meeting"}

    async def check(self) -> None:
        pass

    async def answer(self, question: str, text: str) -> Judgement:
        self.asked.append((question, text))
        if len(self.asked) == self._waits_for:
            self._met.set()
        await self._met.wait()
        if isinstance(self._answer, Exception):
            raise self._answer
        vote = {"answer": "?", "cached": self._cached, "tokens": [7, 3]}
        return Judgement(self._answer, {"votes": [vote]})

    async def aclose(self) -> None:
        pass


ASKING = shelf_task(rubrics=["Was the move confirmed?"])


async def played(
    box: Sandbox, shelf: Domain, judge: Any, out: Path, attempts: int = 1
) -> list[dict[str, Any]]:
    """The rows of a run of a task with a rubric."""
    setting = EpisodeSetting(
        sandbox=box,
        policy=Says(MOVE, END),
        user=ScriptedUser(),
        seed_of=seeder(0),
        judge=judge,
    )
    tasks = TaskSet((ASKING,), {"shelf": shelf})
    with EpisodeStore(out) as store:
        await run_all(setting, tasks, store, attempts=attempts, concurrency=attempts, tries=1)
    return list(read_rows(out))


async def test_two_episodes_can_wait_for_the_judge_at_once(
    box: Sandbox, shelf: Domain, tmp_path: Path
) -> None:
    judge = Meeting(True, waits_for=2)
    with anyio.fail_after(60):
        rows = await played(box, shelf, judge, tmp_path / "rows.jsonl", attempts=2)
    assert [row["verdict"]["outcome"] for row in rows] == ["passed", "passed"]
    text = "user: Please move box B-008 to the right shelf.\n\nassistant: Done. <DONE>"
    for row in rows:
        (asked,) = row["verdict"]["details"]["judge"]
        assert asked["question"] == "Was the move confirmed?"
        assert asked["text"].startswith(text.partition("<DONE>")[0].strip())
        assert asked["answer"] is True
        assert row["judge"] == {"name": "meeting"}
        assert row["usage"]["judge"] == {"prompt": 7, "completion": 3}


async def test_a_no_fails_and_no_answer_is_no_verdict(
    box: Sandbox, shelf: Domain, tmp_path: Path
) -> None:
    (row,) = await played(box, shelf, Meeting(False), tmp_path / "no.jsonl")
    assert row["verdict"]["outcome"] == "failed"
    assert [reason["kind"] for reason in row["verdict"]["reasons"]] == ["rubric_failed"]
    for number, error in enumerate((JudgeError("mumble", {"said": "m"}), RuntimeError("down"))):
        (row,) = await played(box, shelf, Meeting(error), tmp_path / f"{number}.jsonl")
        assert row["verdict"]["outcome"] == "system_error"
        assert (row["error"]["type"], row["error"]["phase"]) == ("JudgeError", "judge")
        assert "error" in row["verdict"]["details"]["judge"][0]


async def test_a_digest_does_not_tell_a_cached_answer_from_a_fresh_one(
    box: Sandbox, shelf: Domain, tmp_path: Path
) -> None:
    digests = []
    for name, answer, cached in (("a", True, False), ("b", True, True), ("c", False, False)):
        judge = Meeting(answer, cached=cached)
        rows = await played(box, shelf, judge, tmp_path / name)
        assert ("judge" in rows[0]["usage"]) is not cached
        digests.append(digest(rows))
    assert digests[0] == digests[1] != digests[2]


async def test_a_run_without_a_judge_does_not_start_a_task_that_needs_one(
    box: Sandbox, shelf: Domain, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"asks a judge .* give --judge model"):
        await played(box, shelf, None, tmp_path / "rows.jsonl")
    assert list(read_rows(tmp_path / "rows.jsonl")) == []


@pytest.mark.parametrize(
    ("name", "options", "cache", "words"),
    [
        ("nobody", {}, None, "write one of model"),
        ("model", {}, None, "needs base_url"),
        (None, {"model": "m"}, None, "only of use with --judge model"),
        (None, {}, Path("votes.sqlite"), "only of use with --judge model"),
        (None, {}, None, "asks a judge"),
    ],
)
async def test_a_judge_that_cannot_be_made_says_what_is_wrong(
    name: str | None, options: dict[str, str], cache: Path | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        make_judge(name, options, cache, tasks=[ASKING])
    assert make_judge(None, {}, tasks=[shelf_task()]) is None
