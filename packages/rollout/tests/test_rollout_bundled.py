"""The bundled domains, task by task, on real sessions: the right end passes, and nothing else."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from outcomebox.rollout.stages.native import judged
from outcomebox.sandbox import (
    BUNDLED,
    NO_CHANGE,
    Call,
    Sandbox,
    Session,
    Task,
    TaskSet,
    TerminalState,
    Value,
    load_tasks,
    open_session,
    read_state,
    sandbox,
    start_domains,
    terminal_state,
)

pytestmark = pytest.mark.anyio
AT_A_TIME = 4


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module", params=BUNDLED)
def tasks(request: pytest.FixtureRequest) -> TaskSet:
    """All tasks of one bundled domain."""
    return load_tasks([request.param])


@pytest.fixture(scope="module")
async def box(tasks: TaskSet) -> AsyncIterator[Sandbox]:
    """A sandbox with that domain started."""
    async with sandbox() as box:
        await start_domains(box, list(tasks.domains.values()))
        yield box


async def replay(session: Session, calls: Sequence[Call]) -> list[str]:
    """Make some calls; returns what went wrong."""
    problems = []
    for call in calls:
        result = await session.call(call.tool, call.arguments)
        if result.is_error:
            problems.append(f"{call.tool}: {result.text}")
    return problems


async def each(tasks: TaskSet, one: Callable[[Task], Awaitable[list[str]]]) -> None:
    """Look at every task, a few at a time, and fail with all problems together."""
    problems: list[str] = []
    limit = anyio.Semaphore(AT_A_TIME)

    async def look(task: Task) -> None:
        async with limit:
            problems.extend(f"{task.uid}: {problem}" for problem in await one(task))

    async with anyio.create_task_group() as group:
        for task in tasks.tasks:
            group.start_soon(look, task)
    assert tasks.tasks
    assert not problems, "\n".join(sorted(problems))


def test_each_domain_is_as_large_and_as_varied_as_it_says(tasks: TaskSet) -> None:
    families = {task.family for task in tasks.tasks}
    assert len(tasks.tasks) >= 40
    assert len(families) >= 10
    no_change = [task for task in tasks.tasks if task.read_only]
    assert 0 < len(no_change) <= len(tasks.tasks) / 6
    assert all(NO_CHANGE in task.tags for task in no_change)
    queries = [task.query for task in tasks.tasks]
    assert len(set(queries)) == len(queries)
    goldens = [str(task.golden) for task in tasks.tasks]
    assert len(set(goldens)) == len(goldens)
    (domain,) = tasks.domains.values()
    state = tasks.image(tasks.tasks[0]).state
    assert all(info.key for info in state.tables.values())
    rows = sum(len(state.rows(table)) for table in state.tables)
    assert 200 <= rows <= 1000
    assert domain.policy


async def test_the_server_has_typed_tools_that_say_what_they_do(
    tasks: TaskSet, box: Sandbox
) -> None:
    (domain,) = tasks.domains.values()
    async with open_session(box, domain, tasks.image(tasks.tasks[0]), seed=0) as session:
        assert len(session.tools) >= 12
        assert any(tool.writes for tool in session.tools)
        assert not all(tool.writes for tool in session.tools)
        for tool in session.tools:
            assert len(tool.description) > 20, tool.name
            for name, schema in tool.input_schema.get("properties", {}).items():
                assert {"type", "anyOf", "enum", "$ref"} & schema.keys(), (tool.name, name)
        used = {call.tool for task in tasks.tasks for call in task.golden}
        assert used <= {tool.name for tool in session.tools}


async def test_golden_passes_and_foreign_writes_beside_it_fail_by_name(
    tasks: TaskSet, box: Sandbox, tmp_path: Path
) -> None:
    tried = 0

    async def one(task: Task) -> list[str]:
        nonlocal tried
        domain = tasks.domain(task)
        image = tasks.image(task)
        right, spoiled = tmp_path / f"{task.hash}.golden", tmp_path / f"{task.hash}.spoiled"
        async with open_session(box, domain, image, seed=0) as session:
            problems = [f"golden {problem}" for problem in await replay(session, task.golden)]
            shutil.copy(session.database, right)
            golden = await session.close()
        verdict = judged(task, golden, None, [])
        if verdict.outcome != "passed":
            problems += [
                f"golden: {verdict.outcome} {reason.message}" for reason in verdict.reasons
            ]
        for table in golden.tables:
            shutil.copy(right, spoiled)
            written = _foreign_write(spoiled, golden, table)
            if written is None:
                continue
            tried += 1
            key, column = written
            state = terminal_state(image.state, read_state(spoiled))
            verdict = judged(task, state, None, [])
            named = [(r.table, dict(r.key or {}), r.column) for r in verdict.reasons]
            if verdict.outcome != "failed" or named != [(table, key, column)]:
                problems.append(f"foreign write {table} {key} {column}: {verdict.outcome} {named}")
        return problems

    await each(tasks, one)
    assert tried >= 5 * len(tasks.tasks)


def _foreign_write(
    path: Path, golden: TerminalState, table: str
) -> tuple[dict[str, Value], str] | None:
    """Change one column of a row that golden left alone; None if no write there succeeds."""
    info = golden.tables[table]
    touched = {
        tuple((change.key or {}).values()) for change in golden.changes if change.table == table
    }
    where = " AND ".join(f'"{name}" = ?' for name in info.key)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = ON")
        for row in golden.terminal.rows(table):
            key = {name: row[name] for name in info.key}
            if tuple(key.values()) in touched:
                continue
            for column in info.columns:
                if column in info.key:
                    continue
                old = row[column]
                for new in (f"{old}x", "x") if isinstance(old, str | None) else (old + 1,):  # type: ignore[operator]
                    try:
                        db.execute(
                            f'UPDATE "{table}" SET "{column}" = ? WHERE {where}',
                            [new, *key.values()],
                        )
                    except sqlite3.IntegrityError:
                        continue
                    return key, column
    return None


async def test_doing_nothing_passes_exactly_where_nothing_is_due(
    tasks: TaskSet, box: Sandbox
) -> None:
    async def one(task: Task) -> list[str]:
        async with open_session(box, tasks.domain(task), tasks.image(task), seed=0) as session:
            verdict = judged(task, await session.close(), None, [])
        right = "passed" if task.read_only else "failed"
        return [] if verdict.outcome == right else [f"doing nothing: {verdict.outcome}"]

    await each(tasks, one)


async def test_every_single_write_of_golden_matters(tasks: TaskSet, box: Sandbox) -> None:
    tried = 0

    async def one(task: Task) -> list[str]:
        nonlocal tried
        domain, image = tasks.domain(task), tasks.image(task)
        async with open_session(box, domain, image, seed=0) as session:
            writes = {tool.name for tool in session.tools if tool.writes}
            await replay(session, task.golden)
            golden = await session.close()
        problems = []
        places = [i for i, call in enumerate(task.golden) if call.tool in writes]
        if not task.read_only and not places:
            problems.append("golden writes nothing")
        for place in places:
            tried += 1
            async with open_session(box, domain, image, seed=0) as session:
                await replay(session, [*task.golden[:place], *task.golden[place + 1 :]])
                state = await session.close()
            verdict = judged(task, state, None, [])
            what = f"without call {place} ({task.golden[place].tool})"
            if verdict.outcome != "failed":
                problems.append(f"{what}: {verdict.outcome}")
            differing = {change.table for change in {*_marks(golden)} ^ {*_marks(state)}}
            stray = [r for r in verdict.reasons if r.table not in differing]
            if stray or not verdict.reasons:
                problems.append(f"{what}: names {stray}, differs in {differing}")
        return problems

    await each(tasks, one)
    assert tried >= len(tasks.tasks)


class _Mark(tuple[str, str]):
    """A change that can be put into a set."""

    __slots__ = ()

    @property
    def table(self) -> str:
        """Its table."""
        return self[0]


def _marks(state: TerminalState) -> list[_Mark]:
    return [
        _Mark((change.table, repr((change.op, change.key, change.new)))) for change in state.changes
    ]
