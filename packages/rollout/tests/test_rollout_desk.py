"""Generated tasks of the desk on real sessions: golden passes, nothing or the other fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from itertools import islice

import pytest

from outcomebox.rollout.stages.native import judged
from outcomebox.sandbox import (
    Call,
    Sandbox,
    Task,
    find_domain,
    open_session,
    sandbox,
    start_domains,
)
from outcomebox.sandbox.backends.sqlite import SQLITE
from outcomebox.sandbox.domains.desk.generating import FAMILIES, draws
from outcomebox.sandbox.domains.desk.generating.draw import Drawn

pytestmark = pytest.mark.anyio
SEEDS = (0, 1, 20260413)
EACH = 56
DESK = find_domain("desk")
BASE = SQLITE.domain_image(DESK)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox with the desk started."""
    async with sandbox() as box:
        await start_domains(box, [DESK])
        yield box


async def outcome(box: Sandbox, task: Task, calls: Sequence[Call]) -> tuple[str, list[str]]:
    """The verdict after some calls, and what the tools refused."""
    refused = []
    async with open_session(box, DESK, SQLITE.task_image(BASE, task), seed=0) as session:
        for call in calls:
            result = await session.call(call.tool, call.arguments)
            refused += [result.text] * result.is_error
        return judged(task, await session.close(), None, []).outcome, refused


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_right_end_passes_and_the_others_fail(box: Sandbox, seed: int) -> None:
    tempted = Counter[str]()
    for drawn in islice(draws(seed), EACH):
        task, wish = drawn.task, drawn.wish
        assert await outcome(box, task, task.golden) == ("passed", [])
        nothing, _ = await outcome(box, task, ())
        assert nothing == ("failed" if task.expect else "passed"), task.uid
        for calls in _less(task):
            assert await outcome(box, task, calls) == ("failed", []), (task.uid, calls)
        if wish.tempting:
            tempted[task.family] += 1
            calls = [*task.golden[: len(wish.reads)], *(act.call for act in wish.tempting)]
            assert await outcome(box, task, calls) == ("failed", []), task.uid
    assert tempted.keys() == {
        name for name, family in FAMILIES.items() if family.kind in {"conditional", "refuse"}
    }


def _less(task: Task) -> list[list[Call]]:
    """Golden with one write left out."""
    return [
        [*task.golden[:at], *task.golden[at + 1 :]]
        for at, call in enumerate(task.golden)
        if call.tool not in {"ticket", "order"}
    ]


async def test_the_other_record_fails(box: Sandbox) -> None:
    """Golden's writes to another record of the same kind are wrong ends."""
    for drawn in islice(draws(3), EACH):
        if drawn.wish.acts:
            assert (await outcome(box, drawn.task, _elsewhere(drawn)))[0] == "failed"


def _elsewhere(drawn: Drawn) -> list[Call]:
    (first, *_) = drawn.wish.acts
    (column,) = first.key
    rows = drawn.task.init[first.table].insert
    other = next(row[column] for row in rows if row[column] != first.key[column])
    return [
        call.model_copy(update={"arguments": {**call.arguments, "id": other}})
        if call == first.call
        else call
        for call in drawn.task.golden
    ]


async def test_answers_are_short_and_refusals_say_what_is_wrong(box: Sandbox) -> None:
    image = SQLITE.task_image(BASE, next(draws(0)).task)
    async with open_session(box, DESK, image, seed=0) as session:
        assert {tool.name for tool in session.tools if tool.writes} == {"edit", "close", "refund"}
        assert {tool.name for tool in session.tools} == {
            *("ticket", "order", "edit", "close", "refund")
        }
        for tool, arguments, words in (
            ("ticket", {"id": "T01"}, '{"order": "O02", "owner": "A2", "priority": "P1", "sta'),
            ("order", {"id": "O03"}, '{"owner": "A5", "status": "sent"}'),
            ("close", {"id": "T01"}, '"ok"'),
            ("close", {"id": "T01"}, "T01 is closed already"),
            ("refund", {"id": "O04"}, "O04 is refunded already"),
            ("ticket", {"id": "O02"}, "No ticket 'O02'"),
            ("order", {"id": "T01"}, "No order 'T01'"),
            ("edit", {"id": "T01"}, "give owner, priority or both"),
            ("edit", {"id": "T01", "owner": "A9"}, "There are A1, A2"),
            ("edit", {"id": "T01", "priority": "P4"}, "priority"),
            ("edit", {"id": "T01", "owner": "A5", "priority": "P3"}, '"ok"'),
        ):
            result = await session.call(tool, arguments)
            assert words in result.text
            assert result.is_error is (words[0] not in '"{')
        changes = (await session.close()).changes
        assert [change.columns for change in changes] == [("owner", "priority", "status")]
