"""Orders for the checks of ``tbchecks``, and grading them in one sandbox."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from outcomebox.reward import Verdict
from outcomebox.reward.thinkingbox import Ask, CheckGrader, CheckOrder, check_grader, plain_process
from outcomebox.sandbox import sandbox

FOLDER = Path(__file__).parent / "tbchecks"
RULES = (FOLDER / "rules.py").read_text(encoding="utf-8")
BOX = "tbcheck_fixture_box"

CONTEXT: Mapping[str, Any] = {
    "response": "done",
    "session_id": "session-1",
    "messages": [
        {"T": "Text", "role": "user", "content": "Please close it."},
        {"T": "ToolCall", "name": "close", "arguments": {"id": 1}, "id": "c1"},
        {"T": "ToolResponse", "name": "close", "content": "{}", "id": "c1"},
        {"T": "Text", "role": "assistant", "content": "done"},
    ],
    "effects": {
        "desk": {
            "initial_db_state": {"tickets": [{"id": n, "status": "open"} for n in range(2000)]},
            "result_db_state": {"tickets": [{"id": n, "status": "done"} for n in range(2000)]},
            "result_db_hash": "h1",
            "golden_db_hash": "h1",
            "diff": [],
        }
    },
}
FIXTURES: Mapping[str, Mapping[str, Any]] = {
    "session_client": {
        "type": "thinkingbox.common.SessionClientFixture",
        "endpoint": "http://127.0.0.1:7111",
    },
    "answer_evaluator": {
        "type": "thinkingbox.fixtures.GeneratedAnswerEvaluator",
        "rubrics_threshold": 0.5,
    },
    "rubric_judge": {"type": "thinkingbox.common.rubrics_judge.RubricJudge", "max_workers": 4},
}


def order(function: str, *, code: str = RULES, **fields: Any) -> CheckOrder:
    """The order of a check of ``rules.py``, or of other code."""
    given: dict[str, Any] = {
        "context": CONTEXT,
        "fixtures": FIXTURES,
        "path": (str(FOLDER),),
        **fields,
    }
    bound = f"{code}\n__tb_test_fn = {function}\n"
    return CheckOrder(bound, function, "rules.py", f"rules.py:{function}", **given)


def line_of(text: str) -> int:
    """Number of the one line of ``rules.py`` that holds a text."""
    (line,) = [number for number, line in enumerate(RULES.splitlines(), 1) if text in line]
    return line


@asynccontextmanager
async def _grader(memory_mb: int = 1024) -> AsyncIterator[CheckGrader]:
    async with sandbox() as box, check_grader(box, memory_mb=memory_mb) as grader:
        yield grader


_shared: list[tuple[BlockingPortal, CheckGrader]] = []


@contextmanager
def one_grader() -> Iterator[None]:
    """One sandbox for all that is graded in this context."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_grader()) as grader,
    ):
        _shared.append((portal, grader))
        try:
            yield
        finally:
            _shared.clear()


def graded(
    orders: Sequence[CheckOrder], *, ask: Ask | None = None, deadline_s: float = 60.0
) -> list[Verdict]:
    """The verdicts of some orders, all graded at once; needs :func:`one_grader`."""
    ((portal, grader),) = _shared
    return portal.call(_all, CheckGrader(grader._opener, deadline_s=deadline_s), orders, ask)


def graded_in(memory_mb: int, orders: Sequence[CheckOrder]) -> list[Verdict]:
    """The verdicts of some orders, graded with so much memory each."""

    async def run() -> list[Verdict]:
        async with _grader(memory_mb) as grader:
            return await _all(grader, orders, None)

    return anyio.run(run)


async def _all(grader: CheckGrader, orders: Sequence[CheckOrder], ask: Ask | None) -> list[Verdict]:
    verdicts: dict[int, Verdict] = {}

    async def one(index: int) -> None:
        verdicts[index] = await grader.grade(orders[index], ask=ask)

    async with anyio.create_task_group() as group:
        for index in range(len(orders)):
            group.start_soon(one, index)
    for verdict in verdicts.values():
        assert json.loads(json.dumps(verdict.to_json(), allow_nan=False)) == verdict.to_json()
    return [verdicts[index] for index in range(len(orders))]


def graded_plain(one: CheckOrder, *, ask: Ask | None = None, **options: Any) -> Verdict:
    """The verdict of an order in a plain new process."""

    async def run() -> Verdict:
        return await CheckGrader(plain_process, **options).grade(one, ask=ask)

    return anyio.run(run)
