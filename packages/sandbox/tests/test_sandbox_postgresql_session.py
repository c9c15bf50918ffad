"""Sessions on PostgreSQL: what they leave is what was committed, all of it and nothing else."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
from psycopg import sql

from outcomebox.sandbox import (
    Change,
    ServerDied,
    StateUnreadable,
    TerminalState,
    ToolDeadline,
    ToolResult,
)
from postgresql_server import needed, shared, vault, vault_box, vault_session

pytestmark = [needed, pytest.mark.anyio]

SEED_KEYS = {(1,), (2,), (9007199254740993,)}
LONG_KEY = (
    "INSERT INTO events SELECT string_agg(md5(n::text), ''), 1 FROM generate_series(1, 999) n"
)
ODD = 'back room.Odd "name"'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def run(*statements: str) -> tuple[TerminalState, ToolResult]:
    """What one call with these statements leaves, told by the log and by a comparison alike."""
    states = []
    for full in (False, True):
        domain = vault(full=full)
        async with vault_box(domain) as box, vault_session(box, domain) as session:
            result = await session.call("write", {"statements": list(statements)})
            states.append(await session.close())
    by_log, by_comparison = states
    assert by_log.changes == by_comparison.changes
    assert by_log.schema_changes == by_comparison.schema_changes
    assert _rows(by_log) == _rows(by_comparison)
    return by_log, result


def _rows(state: TerminalState) -> dict[str, dict[Any, Any]]:
    return {name: dict(rows) for name, rows in state.terminal.keyed.items()}


def told(changes: Sequence[Change]) -> list[tuple[str, str, tuple[Any, ...], tuple[str, ...]]]:
    return [
        (each.op, each.table, tuple((each.key or {}).values()), each.columns) for each in changes
    ]


async def test_the_initial_state_holds_values_of_every_kind() -> None:
    state = shared().domain_image(vault()).state
    info = state.tables["items"]
    assert info.key == ("item_id",)
    assert "twice" not in info.columns
    assert info.defaults == {
        "label": "new",
        "sealed": 0,
        "price": "7.50",
        "day": "2026-01-05",
        "detail": '{"a": [1, 2]}',
        "marks": "{}",
        "feeling": "calm",
    }
    assert info.computed == {"item_id", "made_at"}
    assert state.row("items", {"item_id": 1}) == {
        "item_id": 1,
        "label": "one",
        "sealed": 0,
        "price": "7.50",
        "weight": 0.1,
        "made_at": "2026-01-05T10:00:00Z",
        "due": None,
        "day": "2026-01-05",
        "detail": '{"a": [1, 2]}',
        "code": "6f1c1a1e-0000-4000-8000-000000000000",
        "raw": b"\x00\xff",
        "marks": "{}",
        "feeling": "calm",
    }
    assert state.row("items", {"item_id": 2})["weight"] == "NaN"  # type: ignore[index]
    third = state.row("items", {"item_id": 9007199254740993}) or {}
    assert (third["weight"], third["raw"]) == (-math.inf, b"")
    assert state.tables["events"].references == {"item_id": ("items", "item_id")}
    assert state.tables["parents"].references == {"next": ("parents", "id")}
    assert set(state.tables) == {ODD, "audit", "children", "events", "items", "parents"}
    assert state.keyed["events"].keys() == {("north", 1), ("south", 1)}


async def test_changes_are_told_by_key_with_the_call_that_made_them() -> None:
    async with vault_box() as box, vault_session(box) as session:
        calls: list[list[str]] = [
            ["UPDATE items SET label = 'uno', sealed = true WHERE item_id = 1"],
            ["INSERT INTO items (label) VALUES ('x')", "DELETE FROM items WHERE item_id = 2"],
            ["no such statement"],
            ["UPDATE items SET price = 8 WHERE item_id = 1"],
        ]
        results = [await session.call("write", {"statements": each}) for each in calls]
        state = await session.close()
    assert [result.is_error for result in results] == [False, False, True, False]
    assert state.calls == ("write",) * 4
    assert told(state.changes) == [
        ("update", "items", (1,), ("label", "sealed", "price")),
        ("delete", "items", (2,), ()),
        ("insert", "items", (100,), ()),
    ]
    assert [each.calls for each in state.changes] == [(0, 3), (1,), (1,)]
    new = state.changes[0].new or {}
    assert (new["sealed"], new["price"]) == (1, "8.00")
    assert state.terminal.row("items", {"item_id": 2}) is None
    assert state.schema_changes == ()


async def test_what_was_undone_is_no_change() -> None:
    state, result = await run(
        "UPDATE items SET label = 'x'",
        "UPDATE items SET label = 'one' WHERE item_id = 1",
        "UPDATE items SET label = NULL WHERE item_id = 2",
        "UPDATE items SET label = 'ä' WHERE item_id = 9007199254740993",
        "DELETE FROM children WHERE id = 3",
        "INSERT INTO children VALUES (3, NULL)",
        "SAVEPOINT a",
        "DELETE FROM children",
        "SAVEPOINT b",
        "INSERT INTO children VALUES (9, 1)",
        "ROLLBACK TO a",
    )
    assert not result.is_error
    assert (state.changes, state.schema_changes) == ((), ())


async def test_cascades_and_triggers_are_seen() -> None:
    state, _ = await run(
        "DELETE FROM parents WHERE id = 2", "UPDATE parents SET id = 7 WHERE id = 1"
    )
    assert told(state.changes) == [
        ("insert", "audit", (4,), ()),
        ("insert", "audit", (5,), ()),
        ("update", "children", (1,), ("parent",)),
        ("update", "children", (2,), ("parent",)),
        ("delete", "parents", (1,), ()),
        ("delete", "parents", (2,), ()),
        ("delete", "parents", (3,), ()),
        ("insert", "parents", (7,), ()),
    ]


async def test_keys_of_any_type_and_any_name() -> None:
    table = '"back room"."Odd ""name"""'
    state, _ = await run(
        f"UPDATE {table} SET note = 'y' WHERE note = 'x'",
        # The same number, and another text of it: another key.
        f"UPDATE {table} SET exact = 1.5 WHERE note IS NULL",
        f"INSERT INTO {table} VALUES ('?', '2026-01-05 12:00+01', 2, '%')",
        "SET LOCAL timezone = 'Asia/Tokyo'",
        "SET LOCAL datestyle = 'German'",
        f"INSERT INTO {table} VALUES ('z', '2026-01-05 12:00+01', 2, '%')",
    )
    moment = "2026-01-05T10:00:00Z"
    assert told(state.changes) == [
        ("insert", ODD, ("?", "2026-01-05T11:00:00Z", "2"), ()),
        ("insert", ODD, ("A", moment, "1.5"), ()),
        ("delete", ODD, ("A", moment, "1.50"), ()),
        ("update", ODD, ("a", moment, "1.0"), ("note",)),
        ("insert", ODD, ("z", "2026-01-05T11:00:00Z", "2"), ()),
    ]


async def test_partitions_are_their_table() -> None:
    state, _ = await run(
        "UPDATE events SET region = 'east' WHERE region = 'north'",
        "INSERT INTO events_north VALUES ('north', 5, NULL)",
        "TRUNCATE events_rest",
    )
    assert told(state.changes) == [
        ("delete", "events", ("north", 1), ()),
        ("insert", "events", ("north", 5), ()),
        ("delete", "events", ("south", 1), ()),
    ]
    assert state.schema_changes == ()


async def test_truncating_is_seen_and_alters_no_schema() -> None:
    state, result = await run(
        "TRUNCATE items, events", "INSERT INTO items (item_id, made_at) VALUES (2, NULL)"
    )
    assert not result.is_error, result.text
    assert {(each.op, each.key["item_id"]) for each in state.changes if each.table == "items"} == {  # type: ignore[index]
        ("delete", 1),
        ("delete", 9007199254740993),
        ("update", 2),
    }
    assert state.schema_changes == ()


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE items DISABLE TRIGGER ALL",
        "ALTER TABLE items DISABLE TRIGGER _outcomebox_rows",
        "DROP TRIGGER _outcomebox_rows ON items",
        "SET session_replication_role = replica",
        "DELETE FROM _outcomebox.log",
        "SELECT * FROM _outcomebox.log",
        "DROP SCHEMA _outcomebox CASCADE",
        "ALTER TABLE items ADD COLUMN more text",
        "DROP TABLE children",
        "CREATE INDEX ON items (label)",
        "CREATE OR REPLACE FUNCTION noted() RETURNS trigger LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE items OWNER TO current_user",
        "SET ROLE outcomebox",
        "CREATE DATABASE mine",
    ],
)
async def test_a_session_s_role_cannot_go_around_the_log(statement: str) -> None:
    async with vault_box() as box, vault_session(box) as session:
        given = {"statements": [statement, "UPDATE items SET label = 'x' WHERE item_id = 1"]}
        result = await session.call("write", given)
        assert result.is_error, result.text
        state = await session.close()
    assert (state.changes, state.schema_changes) == ((), ())


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("CREATE TABLE mine (id integer)", {"mine"}),
        ("CREATE TEMPORARY TABLE mine (id integer)", set()),
        ("SELECT as_owner('ALTER TABLE items ADD COLUMN more text')", {"items"}),
        ("SELECT as_owner('CREATE INDEX by_label ON items (label)')", {"by_label"}),
        ("SELECT as_owner('DROP VIEW cheap')", {"cheap"}),
        (
            "SELECT as_owner('CREATE OR REPLACE VIEW cheap AS SELECT item_id, label FROM items')",
            {"cheap"},
        ),
        (
            "SELECT as_owner('ALTER TABLE items DISABLE TRIGGER _outcomebox_rows')",
            {"items._outcomebox_rows"},
        ),
        ("SELECT as_owner('ALTER TYPE mood RENAME VALUE ''cross'' TO ''angry''')", {"mood"}),
        ("SELECT as_owner('ALTER FUNCTION noted() SECURITY DEFINER')", {"noted()"}),
        ("SELECT as_owner('ALTER TABLE items ALTER COLUMN label SET DEFAULT 1')", {"items"}),
        ("SELECT as_owner('GRANT SELECT ON _outcomebox.log TO PUBLIC')", {"_outcomebox.log"}),
        ("SELECT as_owner('CREATE SCHEMA more')", {"more"}),
    ],
)
async def test_a_changed_schema_is_seen(statement: str, names: set[str]) -> None:
    state, result = await run(statement, "UPDATE items SET label = 'x' WHERE item_id = 1")
    assert not result.is_error, result.text
    assert set(state.schema_changes) == names
    assert ("update", "items", (1,), ("label",)) in [
        (op, table, key, tuple(name for name in columns if name != "more"))
        for op, table, key, columns in told(state.changes)
    ]


async def test_large_objects_are_seen() -> None:
    async with vault_box() as box, vault_session(box) as session:
        await session.call("write", {"statements": ["SELECT lo_from_bytea(0, 'hidden')"]})
        state = await session.close()
    assert [name.split()[:2] for name in state.schema_changes] == [["large", "object"]]


async def test_rows_of_a_table_of_one_s_own_are_seen() -> None:
    state, _ = await run("CREATE TABLE mine (id integer)", "INSERT INTO mine VALUES (1), (1)")
    assert [(each.op, each.table, each.key, each.new) for each in state.changes] == [
        ("insert", "mine", None, {"id": 1}),
        ("insert", "mine", None, {"id": 1}),
    ]


async def test_a_server_killed_in_a_transaction_leaves_what_it_committed() -> None:
    domain = vault(mode="fork")
    async with vault_box(domain) as box:
        async with vault_session(box, domain) as session:
            given = {"statement": "UPDATE items SET label = label || '!' WHERE item_id = 1"}
            with pytest.raises(ToolDeadline):
                await session.call("write_and_hang", given, deadline_s=0.5)
            assert (await session.close()).changes == ()
        async with vault_session(box, domain) as session:
            with pytest.raises(ToolDeadline):
                await session.call("commit_and_hang", given, deadline_s=0.5)
            state = await session.close()
    (change,) = state.changes
    assert (change.new or {})["label"] == "one!"
    # Who wrote it is not known only where the catalogue differs: what does, is to be told.
    first, last = state.initial, state.terminal
    differ = {*first.schema.items(), *first.own.items()} ^ {*last.schema.items(), *last.own.items()}
    assert (change.calls, state.calls, differ) == ((0,), ("commit_and_hang",), set())


async def test_a_write_by_another_connection_is_seen() -> None:
    domain = vault(mode="fork")
    async with vault_box(domain) as box, vault_session(box, domain) as session:
        given = {"statement": "UPDATE items SET label = 'x' WHERE item_id = 1"}
        result = await session.call("elsewhere", given)
        assert not result.is_error, result.text
        state = await session.close()
    assert told(state.changes) == [("update", "items", (1,), ("label",))]


async def test_what_was_only_prepared_is_taken_back() -> None:
    async with vault_box() as box, vault_session(box) as session:
        given = {
            "statements": [
                "UPDATE items SET label = 'x' WHERE item_id = 1",
                "PREPARE TRANSACTION 'later'",
            ]
        }
        await session.call("write", given)
        state = await session.close()
    assert state.changes == ()


async def test_refusals_and_mistakes_are_the_agent_s_to_read() -> None:
    async with vault_box() as box, vault_session(box) as session:
        for statement, text in (
            ("INSERT INTO items (item_id) VALUES (1)", "refused the change: duplicate key"),
            ("INSERT INTO children VALUES (9, 9)", "refused the change: .*violates foreign key"),
            ("UPDATE items SET sealed = NULL", "refused the change: null value"),
            ("UPDATE items SET price = 1e12", "refused the change: numeric field overflow"),
            (LONG_KEY, "refused the change: index row"),
            ("SELEC", "Error executing tool write"),
            ("SELECT * FROM nothing", "Error executing tool write"),
        ):
            result = await session.call("write", {"statements": [statement]})
            assert result.is_error
            assert re.search(text, result.text.replace("\n", " ")), result.text
        result = await session.call("read", {"query": "DELETE FROM children RETURNING id"})
        assert result.is_error
        result = await session.call("read", {"query": "SELECT ?::text", "parameters": ["\0"]})
        assert result.is_error
        assert (await session.close()).changes == ()


async def test_tools_read_values_as_json_has_them() -> None:
    async with vault_box() as box, vault_session(box) as session:
        query = (
            "SELECT sealed, made_at, price, detail, sum(item_id) OVER () AS total, 7 % 4 AS rest, "
            "? AS said, ?::bigint + 1 AS more, label LIKE '%?%' AS marked, detail ?? 'a' AS has "
            "FROM items WHERE item_id = ? AND sealed = ?"
        )
        given = {"query": query, "parameters": ["it's", 2**40, 1, False]}
        result = await session.call("read", given)
    assert json.loads(result.text) == [
        {
            "sealed": 0,
            "made_at": "2026-01-05T10:00:00Z",
            "price": 7.5,
            "detail": '{"a": [1, 2]}',
            "total": 1,
            "rest": 3,
            "said": "it's",
            "more": 2**40 + 1,
            "marked": 0,
            "has": 1,
        }
    ]


@pytest.mark.parametrize("mode", ["fork", "inprocess"])
async def test_a_lost_connection_is_no_answer(mode: str) -> None:
    domain = vault(mode=mode)
    async with vault_box(domain) as box, vault_session(box, domain) as session:
        _end_connections(session.address, "usename LIKE 'outcomebox\\_r\\_%'")
        with pytest.raises(ServerDied):
            await session.call("read", {"query": "SELECT 1"})
        assert (await session.close()).changes == ()


async def test_a_lost_database_is_no_state() -> None:
    async with vault_box() as box, vault_session(box) as session:
        await session.call("write", {"statements": ["DELETE FROM children"]})
        _end_connections(session.address, "true")
        with pytest.raises(StateUnreadable) as caught:
            await session.close()
    assert caught.value.phase == "read"


def _end_connections(address: str, which: str) -> None:
    name = address.split("dbname=")[1].split("&", maxsplit=1)[0]
    with shared().cluster.admin() as connection:
        connection.execute(
            sql.SQL(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {} AND "
                + which
            ).format(name)
        )
