"""Which call wrote a row, and what becomes of a log that was tampered with or cannot be read."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from changelog_states import EVERYTHING, by_log, copy_of, image
from outcomebox.sandbox import Change, StateUnreadable, TerminalState, read_state
from outcomebox.sandbox.backends.sqlite_file import SqliteFile
from outcomebox.sandbox.changelog import Mark
from outcomebox.sandbox.image import SqliteImage
from outcomebox.sandbox.overlay import Overlay
from write_sequences import Write, sqlite_only

pytestmark = pytest.mark.anyio

SCHEMA = """
CREATE TABLE t(id TEXT PRIMARY KEY, v, u UNIQUE);
CREATE TABLE side(id INTEGER PRIMARY KEY, t TEXT);
CREATE TRIGGER tr AFTER UPDATE ON t BEGIN INSERT INTO side(t) VALUES (NEW.id); END;
INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2), ('c', 3, 3);
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Server:
    """A session's database, and a server that writes to it."""

    def __init__(self, backing: SqliteFile, path: Path) -> None:
        self.backing = backing
        self.path = path
        self.marks: list[Mark] = []
        self.db = self.connect()

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, timeout=0)

    async def call(self, *statements: str) -> None:
        for sql in statements:
            self.db.execute(sql)
        self.marks.append((f"tool{len(self.marks)}", await self.backing.mark()))

    async def end(self) -> TerminalState:
        self.db.close()
        return await self.backing.terminal_state(self.marks)


@asynccontextmanager
async def serving(folder: Path, *scripts: str) -> AsyncIterator[Server]:
    async with image(*(scripts or (SCHEMA,))).open() as backing:
        for name, data in backing.files.items():
            (folder / name).write_bytes(data)
        backing.settle(folder)
        yield Server(backing, Path(backing.address.format(folder=folder)))


def callers(state: TerminalState) -> dict[tuple[Any, ...], tuple[int, ...]]:
    return {(each.table, *(each.key or {}).values()): each.calls for each in state.changes}


async def test_a_change_knows_the_calls_that_wrote_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        await server.call()
        await server.call("INSERT INTO t VALUES ('d', 0, 4)")
        await server.call("UPDATE t SET v = 8 WHERE id IN ('a', 'd')")
        await server.call("BEGIN", "DELETE FROM t WHERE id = 'b'", "ROLLBACK")
        await server.call("UPDATE t SET v = 5 WHERE id = 'c'", "UPDATE t SET v = 3 WHERE id = 'c'")
        state = await server.end()
    assert state.calls == ("tool0", "tool1", "tool2", "tool3", "tool4", "tool5")
    assert callers(state) == {
        ("t", "a"): (0, 3),
        ("t", "d"): (2, 3),
        ("side", 1): (0,),
        ("side", 2): (3,),
        ("side", 3): (3,),
        ("side", 4): (5,),
        ("side", 5): (5,),
    }


@pytest.mark.parametrize("mode", ["DELETE", "TRUNCATE", "PERSIST", "MEMORY", "WAL", "OFF"])
async def test_marks_are_there_in_every_journal_mode(mode: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.db.execute(f"PRAGMA journal_mode = {mode}")
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        await server.call("UPDATE t SET v = 9 WHERE id = 'b'")
        # Nothing is kept locked for the server.
        server.db.execute("PRAGMA journal_mode = DELETE")
        server.db.execute("PRAGMA locking_mode = EXCLUSIVE")
        await server.call("UPDATE t SET v = 9 WHERE id = 'c'")
        state = await server.end()
    found = callers(state)
    assert [found["t", key] for key in "ab"] == [(0,), (1,)]
    assert [mark for _, mark in server.marks][:2] == [2, 4]


async def test_what_an_open_transaction_writes_is_of_the_call_that_commits(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("BEGIN IMMEDIATE", "UPDATE t SET v = 9 WHERE id = 'a'")
        await server.call("UPDATE t SET v = 9 WHERE id = 'b'")
        await server.call("COMMIT")
        await server.call("BEGIN", "UPDATE t SET v = 9 WHERE id = 'c'")
        state = await server.end()
    assert [mark for _, mark in server.marks] == [0, 0, 4, 4]
    assert callers(state) == {
        ("t", "a"): (2,),
        ("t", "b"): (2,),
        ("side", 1): (2,),
        ("side", 2): (2,),
    }


async def test_nothing_is_said_of_calls_whose_marks_are_not_known(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        await server.call("BEGIN EXCLUSIVE", "UPDATE t SET v = 9 WHERE id = 'b'")
        await server.call("COMMIT")
        await server.call("UPDATE t SET v = 9 WHERE id = 'c'")
        state = await server.end()
    assert server.marks[1] == ("tool1", None)
    found = callers(state)
    assert [found["t", key] for key in "abc"] == [(0,), (), (3,)]


async def test_a_call_that_broke_the_server_wrote_what_came_last(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        server.db.execute("DELETE FROM t WHERE id = 'b'")
        server.marks.append(("crash", None))
        assert callers(await server.end())["t", "b"] == (1,)


async def test_writes_after_the_last_answer_are_nobodys(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        server.db.execute("DELETE FROM t WHERE id = 'b'")
        assert callers(await server.end())["t", "b"] == ()


async def test_an_older_copy_put_back_is_compared_as_it_is(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        kept = server.path.read_bytes()
        await server.call("UPDATE t SET v = 9 WHERE id = 'b'")
        server.db.close()
        server.path.write_bytes(kept)
        server.db = server.connect()
        await server.call("DELETE FROM side")
        state = await server.end()
    assert set(callers(state)) == {("t", "a")}


async def test_the_log_cannot_be_cut(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        log = "_outcomebox_changes"
        for sql in (
            f"DELETE FROM {log}",
            f"UPDATE {log} SET tbl = 'side'",
            f"INSERT OR REPLACE INTO {log}(seq, tbl) VALUES (1, 'side')",
            f"UPDATE OR REPLACE {log} SET seq = 1 WHERE seq = 2",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="only triggers write here"):
                server.db.execute(sql)
        assert len((await server.end()).changes) == 2


CUT = {
    "without the trigger that guards it": (
        "DROP TRIGGER _outcomebox_guard_delete",
        "DELETE FROM _outcomebox_changes",
    ),
    "without the triggers that write it": (
        "DROP TRIGGER _outcomebox_update_t",
        "UPDATE t SET v = 7 WHERE id = 'b'",
    ),
    "with a number that is too low": (
        "INSERT INTO _outcomebox_changes(seq, tbl, k1) VALUES (0, 't', 'a')",
    ),
    "with a table that is not there": (
        "INSERT INTO _outcomebox_changes(tbl, k1) VALUES ('no such', 'a')",
    ),
    "away": ("DROP TABLE _outcomebox_changes",),
}


@pytest.mark.parametrize("statements", CUT.values(), ids=CUT.keys())
async def test_a_log_that_was_tampered_with_is_not_used(
    statements: tuple[str, ...], tmp_path: Path
) -> None:
    async with serving(tmp_path) as server:
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        for sql in statements:
            if "DROP TABLE" in sql:  # triggers write to it
                for name in ("insert", "delete", "update", "before_insert", "before_update"):
                    for table in ("t", "side"):
                        server.db.execute(f'DROP TRIGGER IF EXISTS "_outcomebox_{name}_{table}"')
            await server.call(sql)
        state = await server.end()
    assert {change.key["id"] for change in state.changes if change.table == "t" and change.key} >= {
        "a"
    }
    assert all(change.calls == () for change in state.changes)
    # Who takes a trigger of the log away has changed the schema.
    assert bool(state.schema_changes) == any("DROP" in sql for sql in statements)


async def test_objects_of_the_log_are_not_shown(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        state = (await server.end()).initial
    assert set(state.tables) == {"t", "side"}
    assert set(state.schema) == {("table", "t"), ("table", "side"), ("trigger", "tr")}
    assert ("table", "_outcomebox_changes") in state.own


async def test_a_table_named_like_the_log_is_a_change(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("CREATE TABLE _outcomebox_notes(id INTEGER PRIMARY KEY)")
        await server.call("INSERT INTO _outcomebox_notes VALUES (1)")
        state = await server.end()
    assert state.schema_changes == ("_outcomebox_notes",)
    assert [change.table for change in state.changes] == ["_outcomebox_notes"]


def spoiled(path: Path, how: str) -> None:
    if how == "gone":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "header":
        with path.open("r+b") as file:
            file.write(bytes(100))
    elif how == "short":
        path.write_bytes(path.read_bytes()[:5000])
    elif how == "other":
        path.write_bytes(b"no database" * 1000)


@pytest.mark.parametrize("how", ["gone", "empty", "header", "short", "other", "locked"])
async def test_what_cannot_be_read_is_no_state(how: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.call("UPDATE t SET v = 9 WHERE id = 'a'")
        spoiled(server.path, how)
        if how == "locked":
            holder = server.connect()
            holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StateUnreadable) as caught:
            await server.end()
    assert str(tmp_path) not in str(caught.value)


async def test_a_database_without_the_log_is_compared_in_full(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        with closing(sqlite3.connect(":memory:")) as other:
            other.executescript(SCHEMA)
            other.execute("DELETE FROM t WHERE id = 'b'")
            other.commit()
            data = other.serialize()
        server.db.close()
        server.path.write_bytes(data)
        state = await server.end()
    assert ("t", "b") in callers(state)
    assert "_outcomebox_changes" in state.schema_changes


@settings(max_examples=40, deadline=None)
@given(sqlite_only(8))
def test_every_call_that_changed_a_row_is_named(writes: list[Write]) -> None:
    start = image(*EVERYTHING)
    with copy_of(start) as path, closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = ON")
        marks: list[Mark] = []
        states = [start.state]
        for write in writes:
            with suppress(sqlite3.Error, OverflowError):
                db.execute(write.sql, write.given)
            states.append(read_state(path, like=start.state))
            with closing(sqlite3.connect(path)) as watch:
                length = watch.execute("SELECT max(seq) FROM _outcomebox_changes").fetchone()[0]
            marks.append(("tool", length or 0))
        found, used = by_log(path, start, marks)
    assert used
    assert start.log is not None
    for change in found.changes:
        if change.key is None or change.table not in start.log.logged:
            continue
        key = tuple(change.key.values())
        rows = [state.keyed[change.table].get(key) for state in states]
        wrote = {call for call in range(len(writes)) if rows[call] != rows[call + 1]}
        assert not change.calls or wrote <= set(change.calls)


def test_an_overlay_is_the_mapping_with_the_patch_applied() -> None:
    base = {1: "a", 2: "b", 3: "c"}
    overlay = Overlay(base, {2: None, 3: "C", 4: "d", 5: None})
    wanted = {1: "a", 3: "C", 4: "d"}
    assert overlay == wanted
    assert wanted == overlay
    assert len(overlay) == 3
    assert dict(overlay) == wanted
    assert [key in overlay for key in range(6)] == [False, True, False, True, True, False]
    assert overlay.get(2) is None
    with pytest.raises(KeyError):
        overlay[2]
    assert Overlay(overlay, {1: None}) == {3: "C", 4: "d"}


def test_changes_compare_without_their_calls() -> None:
    one = Change("delete", "t", {"id": 1}, {"id": 1}, None, (1,))
    assert one == Change("delete", "t", {"id": 1}, {"id": 1}, None)


def test_an_image_made_of_another_has_the_state_of_its_file() -> None:
    base = image(SCHEMA)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.deserialize(base.data)
        db.execute("UPDATE t SET v = 7 WHERE id = 'a'")
        made = SqliteImage(db.serialize(), like=base)
        assert made.state == read_state(db)
    assert made.log is not None
    assert base.log is not None
    assert (base.log.length, made.log.length) == (0, 2)
