"""Reading states and comparing them: against an oracle that shares no code, and case by case."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outcomebox.sandbox.changes import (
    Change,
    DatabaseState,
    SchemaError,
    TerminalState,
    change_from_json,
    change_to_json,
    read_state,
    terminal_state,
    value_from_json,
    value_order,
    value_to_json,
)
from outcomebox.sandbox.errors import StateUnreadable


def memory(script: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(script)
    return connection


def state_of(script: str) -> DatabaseState:
    with closing(memory(script)) as connection:
        return read_state(connection)


def changed(script: str, *statements: str | tuple[str, tuple[Any, ...]]) -> TerminalState:
    with closing(memory(script)) as connection:
        before = read_state(connection)
        for statement in statements:
            connection.execute(*([statement] if isinstance(statement, str) else statement))
        return terminal_state(before, read_state(connection))


def brief(state: TerminalState) -> list[tuple[Any, ...]]:
    return [
        (each.op, each.table, None if each.key is None else dict(each.key), each.columns)
        for each in state.changes
    ]


# Against an oracle -------------------------------------------------------------------------------

TABLES = {
    "plain": "CREATE TABLE plain(id INTEGER PRIMARY KEY, a TEXT, b)",
    "counted": "CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT, a UNIQUE, b TEXT)",
    "texts": "CREATE TABLE texts(id TEXT PRIMARY KEY, a REAL, b BLOB)",
    "nocase": "CREATE TABLE nocase(id TEXT COLLATE NOCASE PRIMARY KEY, a, b INTEGER)",
    "pairs": "CREATE TABLE pairs(a, b, c NUMERIC, PRIMARY KEY(b, a))",
    "links": "CREATE TABLE links(a INTEGER, b TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID",
    "loose": "CREATE TABLE loose(a, b TEXT)",
    "derived": "CREATE TABLE derived(id PRIMARY KEY, v AS (a || 'x'), a, w AS (id) STORED, b)",
    "children": (
        "CREATE TABLE children(id INTEGER PRIMARY KEY, "
        "a REFERENCES plain(id) ON DELETE CASCADE ON UPDATE CASCADE, b)"
    ),
}
WRITABLE = {
    "plain": "id a b",
    "counted": "id a b",
    "texts": "id a b",
    "nocase": "id a b",
    "pairs": "a b c",
    "links": "a b",
    "loose": "a b",
    "derived": "id a b",
    "children": "id a b",
}
KEYS = {
    "plain": ["id"],
    "counted": ["id"],
    "texts": ["id"],
    "nocase": ["id"],
    "pairs": ["b", "a"],
    "links": ["a", "b"],
    "loose": [],
    "derived": ["id"],
    "children": ["id"],
}

values = st.one_of(
    st.none(),
    st.integers(-2, 3),
    st.sampled_from([0.0, -0.0, 1.0, 1.5, 2.0**53, float("inf")]),
    st.sampled_from(["", "a", "A", "a ", "1", "caf\u00e9", "cafe\u0301", "nul\0end"]),
    st.sampled_from([b"", b"a", b"\xff\x00"]),
    st.just(2**53 + 1),
)


@st.composite
def statements(draw: st.DrawFn, tables: list[str]) -> tuple[str, list[Any]]:
    table = draw(st.sampled_from(tables))
    columns = WRITABLE[table].split()
    verb = draw(st.sampled_from(["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "UPDATE",
                                 "UPDATE OR REPLACE", "DELETE", "TRUNCATE"]))  # fmt: skip
    row = [draw(values) for _ in columns]
    if verb.startswith("INSERT"):
        marks = ", ".join("?" for _ in columns)
        return f"{verb} INTO {table}({', '.join(columns)}) VALUES ({marks})", row
    where = draw(st.sampled_from(columns))
    if verb.startswith("UPDATE"):
        return (
            f"{verb} {table} SET {draw(st.sampled_from(columns))} = ? WHERE {where} IS NOT ?",
            row[:2],
        )
    if verb == "DELETE":
        return f"DELETE FROM {table} WHERE {where} IS ?", row[:1]
    return f"DELETE FROM {table}", []


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[str], list[Any], list[Any]]:
    tables = draw(st.lists(st.sampled_from(sorted(TABLES)), min_size=1, max_size=3, unique=True))
    if "children" in tables and "plain" not in tables:
        tables.append("plain")
    seed = draw(st.lists(statements(tables), max_size=12))
    return tables, seed, draw(st.lists(statements(tables), max_size=12))


def run(connection: sqlite3.Connection, steps: list[Any]) -> None:
    for sql, params in steps:
        try:
            connection.execute(sql, params)
        except sqlite3.IntegrityError:
            continue  # the database says no and the agent goes on


def same(a: Any, b: Any) -> bool:
    numbers = (int, float)
    if isinstance(a, numbers) and isinstance(b, numbers):
        return not a < b and not a > b
    return type(a) is type(b) and a == b


def dump(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    columns = WRITABLE[table].split()
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    return [dict(zip(columns, row, strict=True)) for row in rows]


def oracle(table: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[Any]:
    """Net changes by brute force: no hashing, no sorting, no shared code."""
    found: list[Any] = []
    left = list(after)
    key = KEYS[table]
    for row in before:
        tracked = bool(key) and all(row[column] is not None for column in key)
        compared = key if tracked else list(row)
        partner = next((r for r in left if all(same(r[c], row[c]) for c in compared)), None)
        if partner is None:
            found.append(("delete", table, row, ()))
            continue
        left.remove(partner)
        differing = tuple(column for column in row if not same(row[column], partner[column]))
        if differing:
            found.append(("update", table, partner, differing))
    found += [("insert", table, row, ()) for row in left]
    return found


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_changes_are_those_of_a_brute_force_comparison(history: Any) -> None:
    tables, seed, actual = history
    script = ";".join(TABLES[table] for table in tables)
    with closing(memory(script)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        run(connection, seed)
        before_rows = {table: dump(connection, table) for table in tables}
        before = read_state(connection)
        run(connection, actual)
        after_rows = {table: dump(connection, table) for table in tables}
        state = terminal_state(before, read_state(connection, like=before))
    expected = []
    for table in tables:
        expected += oracle(table, before_rows[table], after_rows[table])
    found = [
        (each.op, each.table, dict((each.new if each.old is None or each.new else each.old) or {}),
         each.columns)
        for each in state.changes
    ]  # fmt: skip
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert state.schema_changes == ()
    for change in state.changes:
        assert change_from_json(json.loads(json.dumps(change_to_json(change)))) == change


def test_a_row_without_change_is_no_change_whatever_was_done() -> None:
    state = changed(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "UPDATE t SET v = 'x'",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO t VALUES (1, 'a')",
        "UPDATE t SET v = 'b' WHERE id = 2",
    )
    assert state.changes == ()


# Values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "is_change"),
    [
        (1, 1.0, False),
        (0.0, -0.0, False),
        (2**53 + 1, 2.0**53, True),
        (1, "1", True),
        ("a", b"a", True),
        (None, 0, True),
        (None, "", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("pre", "pre\0post", True),
        ("a", "A", True),
        ("a", "a ", True),
        (None, float("nan"), False),
    ],
)
def test_values_are_the_same_by_class_and_exact_value(
    before: Any, after: Any, is_change: bool
) -> None:
    with closing(memory("CREATE TABLE t(id INTEGER PRIMARY KEY, v COLLATE NOCASE)")) as connection:
        connection.execute("INSERT INTO t VALUES (1, ?)", (before,))
        initial = read_state(connection)
        connection.execute("UPDATE t SET v = ?", (after,))
        state = terminal_state(initial, read_state(connection))
    assert bool(state.changes) is is_change


def test_rows_keep_their_storage_class() -> None:
    state = state_of("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 1.0)")
    row = state.row("t", {"id": 1})
    assert row is not None
    assert isinstance(row["v"], float)


def test_text_that_is_not_utf8_is_read_and_told_apart() -> None:
    state = changed(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a')",
        "UPDATE t SET v = CAST(x'61ff' AS TEXT)",
    )
    (change,) = state.changes
    assert change.new is not None
    assert change.new["v"] == "a\udcff"
    assert change_to_json(change)["new"]["v"] == {"$text": "61ff"}
    assert change_from_json(change_to_json(change)) == change


@given(
    st.one_of(
        st.none(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.text(),
        st.binary(),
        st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    ).filter(lambda v: not isinstance(v, str) or v.isascii() or _recordable(v))
)
def test_values_survive_json(value: Any) -> None:
    back = value_from_json(json.loads(json.dumps(value_to_json(value))))
    assert back == value
    assert type(back) is type(value)


def _recordable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that no byte stands for: SQLite cannot store it
        return False
    return True


@pytest.mark.parametrize("bad", [True, [1], {"$blob": 1}, {"$blob": "00", "x": 1}, {"$real": "1"}])
def test_what_was_never_recorded_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="not a recorded value"):
        value_from_json(bad)


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(ValueError, match="op is 'merge'"):
        change_from_json({"op": "merge", "table": "t", "key": None, "old": None, "new": None})


def test_values_sort_as_in_sqlite() -> None:
    mixed = ["b", None, b"", 2, 1.5, "a", b"\x00", float("-inf")]
    ordered = sorted(mixed, key=lambda value: value_order([value]))
    with closing(memory("CREATE TABLE t(v)")) as connection:
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in mixed])
        assert ordered == [value for (value,) in connection.execute("SELECT v FROM t ORDER BY v")]


# Identity ----------------------------------------------------------------------------------------


def test_changes_are_sorted_by_table_then_key_and_bags_come_last() -> None:
    state = changed(
        "CREATE TABLE b(id PRIMARY KEY); CREATE TABLE a(x TEXT, y INTEGER, PRIMARY KEY(y, x))",
        "INSERT INTO b VALUES ('t'), (NULL), (10), (9), (x'00')",
        "INSERT INTO a VALUES ('q', 2), ('p', 2), ('z', 1)",
    )
    assert [(each.table, each.key and tuple(each.key.values())) for each in state.changes] == [
        ("a", (1, "z")),
        ("a", (2, "p")),
        ("a", (2, "q")),
        ("b", (9,)),
        ("b", (10,)),
        ("b", ("t",)),
        ("b", (b"\x00",)),
        ("b", None),
    ]


def test_equal_rows_of_a_bag_count_one_by_one() -> None:
    state = changed(
        "CREATE TABLE t(v); INSERT INTO t VALUES (1), (1), (1), (2)",
        "DELETE FROM t WHERE rowid = 2",
        "INSERT INTO t VALUES (2)",
    )
    assert [(each.op, each.key, each.old, each.new) for each in state.changes] == [
        ("delete", None, {"v": 1}, None),
        ("insert", None, None, {"v": 2}),
    ]


def test_a_table_without_key_is_refused_on_request_with_the_mend() -> None:
    with closing(memory("CREATE TABLE facts(n)")) as connection:
        assert read_state(connection).tables["facts"].key == ()
        with pytest.raises(SchemaError, match=r"facts.*INTEGER PRIMARY KEY"):
            read_state(connection, require_keys=True)


def test_rows_can_be_read_by_key() -> None:
    state = state_of(
        "CREATE TABLE t(a, b, v, PRIMARY KEY(b, a)); INSERT INTO t VALUES (1, 'x', 5), (2, NULL, 6)"
    )
    assert state.row("t", {"a": 1, "b": "x"}) == {"a": 1, "b": "x", "v": 5}
    assert state.row("t", {"a": 1, "b": "y"}) is None
    assert sorted(row["v"] for row in state.rows("t") if isinstance(row["v"], int)) == [5, 6]
    with pytest.raises(KeyError):
        state.row("nothing", {"a": 1})


# Schema ------------------------------------------------------------------------------------------

SHOP = """
CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT, UNIQUE(name, id));
CREATE TABLE Orders(
    id TEXT PRIMARY KEY, owner INTEGER REFERENCES People, again REFERENCES people(ID),
    state TEXT DEFAULT 'new', n INTEGER DEFAULT '7', r REAL DEFAULT 3, word DEFAULT draft,
    sum DEFAULT (1 + 1), raw DEFAULT x'00ff', flag BOOLEAN DEFAULT TRUE,
    low DEFAULT -1.50, empty DEFAULT NULL, ts DEFAULT CURRENT_TIMESTAMP,
    day DEFAULT (date('now')), lot DEFAULT (random()), fixed DEFAULT (date('2025-01-01')),
    bare, twice AS (n * 2), kept AS (n * 3) STORED
);
CREATE TABLE lines(
    "odd ""name" TEXT, owner_id, owner_name, gone REFERENCES nowhere(x),
    FOREIGN KEY(owner_name, owner_id) REFERENCES people(name, id)
);
CREATE INDEX by_owner ON Orders(owner);
CREATE VIEW broken AS SELECT nope FROM nowhere;
"""


def test_what_tables_declare() -> None:
    state = state_of(SHOP)
    assert sorted(state.tables) == ["Orders", "lines", "people"]
    orders = state.tables["Orders"]
    assert orders.key == ("id",)
    assert "twice" not in orders.columns
    assert "kept" not in orders.columns
    assert orders.references == {"owner": ("people", "id"), "again": ("people", "id")}
    assert dict(orders.defaults) == {
        "state": "new",
        "n": 7,
        "r": 3.0,
        "word": "draft",
        "sum": 2,
        "raw": b"\x00\xff",
        "flag": 1,
        "low": -1.5,
        "empty": None,
        "fixed": "2025-01-01",
    }
    assert isinstance(orders.defaults["r"], float)
    assert orders.computed == {"ts", "day", "lot"}
    lines = state.tables["lines"]
    assert lines.columns[0] == 'odd "name'
    assert lines.references == {"owner_name": ("people", "name"), "owner_id": ("people", "id")}


def test_declared_defaults_are_what_an_insert_stores() -> None:
    with closing(memory(SHOP)) as connection:
        info = read_state(connection).tables["Orders"]
        connection.execute("INSERT INTO Orders(id) VALUES ('o')")
        row = read_state(connection).row("Orders", {"id": "o"})
    assert row is not None
    for column in set(info.columns) - info.computed - {"id"}:
        assert row[column] == info.defaults.get(column), column
        assert type(row[column]) is type(info.defaults.get(column)), column


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("CREATE TABLE extra(id INTEGER PRIMARY KEY)", ("extra",)),
        ("DROP TABLE lines", ("lines",)),
        ("DROP INDEX by_owner", ("by_owner",)),
        ("CREATE VIEW v AS SELECT 1", ("v",)),
        ("CREATE TRIGGER people AFTER INSERT ON people BEGIN SELECT 1; END", ("people",)),
        ("ALTER TABLE people ADD COLUMN age", ("people",)),
        ("ANALYZE", ()),
        ("VACUUM", ()),
        ("PRAGMA user_version = 5", ()),
    ],
)
def test_schema_changes_are_named(sql: str, names: tuple[str, ...]) -> None:
    state = changed(SHOP.replace("CREATE VIEW broken AS SELECT nope FROM nowhere;", ""), sql)
    assert state.schema_changes == names


def test_a_dropped_table_loses_its_rows_and_a_new_one_gains_them() -> None:
    state = changed(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a')",
        "DROP TABLE t",
        "CREATE TABLE u(id INTEGER PRIMARY KEY)",
        "INSERT INTO u VALUES (7)",
    )
    assert brief(state) == [("delete", "t", {"id": 1}, ()), ("insert", "u", {"id": 7}, ())]
    assert state.schema_changes == ("t", "u")
    assert sorted(state.tables) == ["t", "u"]


def test_dropping_and_creating_a_table_again_is_seen_by_its_rows() -> None:
    state = changed(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "DROP TABLE t",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v)",
        "INSERT INTO t VALUES (1, 'a')",
    )
    assert brief(state) == [("delete", "t", {"id": 2}, ())]
    assert state.schema_changes == ()


def test_an_altered_table_is_compared_by_the_columns_that_are_left() -> None:
    state = changed(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v, w);"
        "INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0)",
        "ALTER TABLE t ADD COLUMN x DEFAULT 9",
        "ALTER TABLE t DROP COLUMN w",
        "UPDATE t SET v = 'c' WHERE id = 2",
    )
    assert brief(state) == [("update", "t", {"id": 2}, ("v",))]
    assert state.changes[0].new == {"id": 2, "v": "c", "x": 9}
    assert state.schema_changes == ("t",)


def test_rows_of_a_table_with_another_key_are_a_bag() -> None:
    state = changed(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "DROP TABLE t",
        "CREATE TABLE t(id INTEGER, v PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 'a'), (3, 'b')",
    )
    assert brief(state) == [("delete", "t", None, ()), ("insert", "t", None, ())]


def test_the_engines_own_tables_are_no_state() -> None:
    state = changed(
        "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v)",
        "INSERT INTO t(v) VALUES (1)",
        "DELETE FROM t",
        "ANALYZE",
    )
    assert state.changes == ()
    assert state.schema_changes == ()


def _has_fts5() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        options = [name for (name,) in connection.execute("PRAGMA compile_options")]
    return "ENABLE_FTS5" in options


@pytest.mark.skipif(not _has_fts5(), reason="this SQLite was built without FTS5")
def test_a_full_text_table_is_compared_by_its_content() -> None:
    script = "CREATE VIRTUAL TABLE pages USING fts5(body); INSERT INTO pages VALUES ('one')"
    state = changed(script, "INSERT INTO pages VALUES ('two')")
    assert [(each.table, each.new) for each in state.changes] == [("pages", {"body": "two"})]


def test_infos_are_reused_only_while_the_schema_is_the_same() -> None:
    with closing(memory("CREATE TABLE t(id INTEGER PRIMARY KEY)")) as connection:
        first = read_state(connection)
        assert read_state(connection, like=first).tables is first.tables
        connection.execute("ALTER TABLE t ADD COLUMN v DEFAULT 3")
        assert read_state(connection, like=first).tables["t"].defaults == {"v": 3}


# Files -------------------------------------------------------------------------------------------


def database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(script)
    return path


SMALL = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a')"


def test_a_file_reads_like_a_connection(tmp_path: Path) -> None:
    path = database(tmp_path / "odd name #1?.sqlite", SHOP)
    assert read_state(path) == state_of(SHOP)
    assert read_state(str(path)) == state_of(SHOP)


def test_reading_writes_nothing(tmp_path: Path) -> None:
    path = database(tmp_path / "d.sqlite", SMALL)
    content = path.read_bytes()
    path.chmod(0o400)
    read_state(path)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["d.sqlite"]


def test_a_file_that_is_missing_or_empty_is_no_state(tmp_path: Path) -> None:
    with pytest.raises(StateUnreadable, match="no database file"):
        read_state(tmp_path / "none.sqlite")
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(StateUnreadable, match="is empty"):
        read_state(tmp_path / "empty.sqlite")


@pytest.mark.parametrize("where", ["header", "page", "cut"])
def test_a_damaged_file_is_no_state(tmp_path: Path, where: str) -> None:
    rows = ", ".join(f"({number}, '{'x' * 200}')" for number in range(1, 200))
    path = database(
        tmp_path / "d.sqlite",
        f"CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES {rows}",
    )
    content = bytearray(path.read_bytes())
    if where == "header":
        content[:100] = bytes(100)
    elif where == "page":
        content[4096 * 3 : 4096 * 4] = bytes(4096)
    else:
        del content[len(content) // 2 :]
    path.write_bytes(content)
    with pytest.raises(StateUnreadable):
        read_state(path)


def test_a_locked_file_is_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(tmp_path / "d.sqlite", SMALL)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": 0}))
    with closing(connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StateUnreadable, match="locked"):
            read_state(path)


def test_an_open_transaction_is_refused() -> None:
    with closing(memory(SMALL)) as connection:
        connection.execute("BEGIN")
        with pytest.raises(StateUnreadable, match="open transaction"):
            read_state(connection)


def test_a_connection_is_left_as_it_was() -> None:
    with closing(memory(SMALL)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = bytes
        state = read_state(connection)
        assert state.row("t", {"id": 1}) == {"id": 1, "v": "a"}
        assert connection.text_factory is bytes
        assert connection.row_factory is sqlite3.Row


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_what_a_killed_writer_left_is_rolled_back(tmp_path: Path, mode: str) -> None:
    live = database(tmp_path / "live.sqlite", SMALL)
    with closing(sqlite3.connect(live, isolation_level=None)) as writer:
        writer.execute(f"PRAGMA journal_mode = {mode}")
        writer.execute("INSERT INTO t VALUES (2, 'committed')")
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN")
        writer.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * 500) for n in range(3, 400)])
        # A copy of the files as they are now is what is left after a kill: no lock, a live journal.
        for each in tmp_path.glob("live.sqlite*"):
            if not each.name.endswith("-shm"):
                shutil.copy(each, tmp_path / each.name.replace("live", "left"))
        writer.execute("ROLLBACK")
    left = tmp_path / "left.sqlite"
    journal = left.with_name(left.name + ("-journal" if mode == "DELETE" else "-wal"))
    assert journal.stat().st_size > 0
    assert [row["id"] for row in read_state(left).rows("t")] == [1, 2]


def test_a_database_in_wal_mode_reads(tmp_path: Path) -> None:
    path = database(tmp_path / "d.sqlite", f"PRAGMA journal_mode = WAL; {SMALL}")
    assert read_state(path).row("t", {"id": 1}) == {"id": 1, "v": "a"}


def test_rows_that_break_a_declared_rule_are_compared_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.create_function("ours", 1, lambda value: value > 0)
        connection.executescript(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, v NOT NULL, n CHECK (ours(n)));"
            "CREATE TABLE s(id INTEGER PRIMARY KEY, v INTEGER) STRICT;"
            "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '         ');"
        )
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("INSERT INTO t VALUES (1, NULL, -5)")
        connection.executescript(
            "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = replace(sql, 'v         ', 'v NOT NULL');"
        )
    state = read_state(path)
    assert state.row("t", {"id": 1}) == {"id": 1, "v": None, "n": -5}


def test_a_change_lists_the_columns_that_differ() -> None:
    change = Change(
        "update", "t", {"id": 1}, {"id": 1, "a": 1, "b": 2}, {"id": 1, "a": 1.0, "b": 3}
    )
    assert change.columns == ("b",)
    assert Change("insert", "t", {"id": 1}, None, {"id": 1}).columns == ()
