"""Sequences of writes that hypothesis makes, for tests that two ways of finding changes agree.

:func:`portable` writes to :data:`PORTABLE`, in SQL that other databases take too once the types are
theirs. :func:`sqlite_only` writes to :data:`SQLITE` as well, which has every kind of table, key,
index and trigger that SQLite knows. Values come from small pools, so that rows meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

PORTABLE = """
CREATE TABLE customers(
  id TEXT PRIMARY KEY, email TEXT NOT NULL DEFAULT 'none' UNIQUE, name TEXT DEFAULT 'new',
  age INTEGER, since TEXT);
CREATE TABLE orders(
  n INTEGER PRIMARY KEY, total DOUBLE PRECISION, at TEXT, raw BLOB,
  customer TEXT REFERENCES customers(id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE lines(
  n INTEGER REFERENCES orders(n) ON DELETE CASCADE ON UPDATE CASCADE,
  sku TEXT, amount INTEGER NOT NULL DEFAULT 1, PRIMARY KEY(n, sku));
CREATE TABLE tags(
  tag TEXT PRIMARY KEY, size INTEGER,
  owner TEXT REFERENCES customers(id) ON DELETE SET NULL ON UPDATE SET NULL);
"""

PORTABLE_SEED = """
INSERT INTO customers(id, email, age, since) VALUES
  ('a', 'a@x', 9007199254740993, '2026-03-02T09:00:00Z'), ('b', 'b@x', NULL, NULL),
  ('ä', 'ä@x', 1, '2026-03-02T10:00:00+01:00'), ('c', 'none', 3, '');
INSERT INTO orders(n, total, at, customer) VALUES
  (1, 1.5, '2026-03-02T09:00:00Z', 'a'), (2, 2.0, NULL, 'a'), (3, NULL, NULL, 'b'),
  (9007199254740993, 0.1, NULL, NULL);
INSERT INTO lines(n, sku, amount) VALUES (1, 'a', 1), (1, 'b', 2), (2, 'a', 1);
INSERT INTO tags(tag, size, owner) VALUES ('a', 1, 'a'), ('b', 2, 'b'), ('A', 3, NULL);
"""

SQLITE = """
CREATE TABLE names(
  k TEXT COLLATE NOCASE PRIMARY KEY, alias TEXT COLLATE RTRIM UNIQUE, v);
CREATE TABLE fixed(a, b TEXT COLLATE NOCASE, v, PRIMARY KEY(a, b)) WITHOUT ROWID;
CREATE TABLE strictly(
  k INTEGER, b BLOB, r REAL, t TEXT NOT NULL, PRIMARY KEY(k DESC), UNIQUE(b, r)) STRICT;
CREATE TABLE loose(k, v UNIQUE, w, PRIMARY KEY(k));
CREATE TABLE pairs(
  id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT NOT NULL DEFAULT 'x', y INTEGER NOT NULL DEFAULT 1,
  w CHECK (w IS NOT 'bad'), UNIQUE(x, y) ON CONFLICT REPLACE);
CREATE TABLE filled(
  id TEXT PRIMARY KEY, u TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'a' UNIQUE ON CONFLICT REPLACE,
  v NOT NULL ON CONFLICT IGNORE);
CREATE TABLE mixed(
  k TEXT COLLATE NOCASE, v TEXT COLLATE NOCASE, u TEXT, PRIMARY KEY(k COLLATE BINARY));
CREATE UNIQUE INDEX mixed_v ON mixed(v COLLATE BINARY DESC);
CREATE UNIQUE INDEX mixed_u ON mixed(u COLLATE NOCASE);
CREATE TABLE rules(
  k TEXT PRIMARY KEY ON CONFLICT REPLACE, u UNIQUE ON CONFLICT IGNORE, v UNIQUE ON CONFLICT FAIL);
CREATE TABLE ruled(
  k INTEGER PRIMARY KEY ON CONFLICT REPLACE, u UNIQUE ON CONFLICT IGNORE,
  v INTEGER REFERENCES ruled(k) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE shadowed(rowid TEXT, _rowid_ INTEGER, id TEXT PRIMARY KEY);
CREATE TABLE partial(id INTEGER PRIMARY KEY, v, w);
CREATE UNIQUE INDEX partial_v ON partial(v) WHERE w = 1;
CREATE TABLE folded(id INTEGER PRIMARY KEY, v TEXT);
CREATE UNIQUE INDEX folded_v ON folded(lower(v));
CREATE TABLE generated(
  id TEXT PRIMARY KEY, v INTEGER, g INTEGER AS (v / 2) UNIQUE, h TEXT AS (id || v) STORED);
CREATE TABLE moment(id INTEGER PRIMARY KEY, v TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP UNIQUE, w);
CREATE TABLE bag(v, w);
CREATE TABLE quiet(id TEXT PRIMARY KEY, v);
CREATE TABLE child(
  id INTEGER PRIMARY KEY, k TEXT REFERENCES names(k) ON DELETE CASCADE ON UPDATE CASCADE,
  x TEXT REFERENCES customers(email) ON DELETE SET DEFAULT DEFERRABLE INITIALLY DEFERRED,
  up INTEGER REFERENCES child(id) ON DELETE CASCADE ON UPDATE SET NULL);
CREATE TABLE audit(id INTEGER PRIMARY KEY, what TEXT, k);
CREATE TABLE "odd ""name"" [x]?"("a ""key"" x" TEXT PRIMARY KEY, "select" UNIQUE);
CREATE VIEW shown AS SELECT k, v FROM names;
CREATE TRIGGER t1 AFTER UPDATE ON customers BEGIN
  INSERT INTO audit(what, k) VALUES ('customer', OLD.id);
  UPDATE tags SET size = coalesce(size, 0) + 1 WHERE owner = NEW.id; END;
CREATE TRIGGER t2 BEFORE DELETE ON names BEGIN
  INSERT OR REPLACE INTO pairs(x, w) VALUES (OLD.k, 'gone'); END;
CREATE TRIGGER t3 AFTER INSERT ON pairs WHEN NEW.x = 'a' BEGIN
  DELETE FROM pairs WHERE id < NEW.id AND w IS NULL;
  UPDATE OR REPLACE names SET alias = NEW.x WHERE k = NEW.w; END;
CREATE TRIGGER t4 AFTER UPDATE ON fixed WHEN NEW.v = 1 BEGIN
  DELETE FROM fixed WHERE a = NEW.a AND b = NEW.b; END;
CREATE TRIGGER t5 BEFORE UPDATE ON filled WHEN NEW.v = 2 BEGIN
  UPDATE filled SET id = id || '!', v = 3 WHERE id = OLD.id; END;
CREATE TRIGGER t6 BEFORE INSERT ON filled WHEN NEW.v = 'b' BEGIN
  INSERT OR REPLACE INTO filled(id, u, v) VALUES ('b', NEW.u, 1); END;
CREATE TRIGGER t7 AFTER UPDATE ON quiet BEGIN SELECT /**/ raise /* not */ (ignore); END;
CREATE TRIGGER t8 INSTEAD OF UPDATE ON shown BEGIN
  UPDATE names SET k = NEW.k, v = NEW.v WHERE k = OLD.k; END;
CREATE TRIGGER t9 BEFORE UPDATE ON names WHEN NEW.v = 'bad' BEGIN
  SELECT raise(FAIL, 'no'); END;
"""

SQLITE_SEED = """
INSERT INTO names VALUES ('a', 'a', 1), ('b', 'b ', 2), ('ä', NULL, 3), ('Ä', 'x', NULL);
INSERT INTO fixed VALUES (1, 'a', 1), (1, 'b', 2), ('1', 'a', 3), (x'61', 'a', 4);
INSERT INTO strictly VALUES (1, x'00', 1.0, 'a'), (2, NULL, 1.0, 'b');
INSERT INTO loose VALUES ('a', 1, 1), (NULL, 2, 1), (NULL, 3, 1), (1, 'a', 2), ('1', NULL, NULL);
INSERT INTO pairs(x, y, w) VALUES ('x', 1, NULL), ('a', 2, 'a'), ('b', 3, NULL);
INSERT INTO filled VALUES ('a', 'a', 1), ('b', 'b', 1), ('x', 'x', 1);
INSERT INTO mixed VALUES ('a', 'a', 'a'), ('A', 'A', NULL), ('b', NULL, 'b');
INSERT INTO rules VALUES ('a', 1, 1), ('b', 2, 2), ('x', NULL, NULL);
INSERT INTO ruled VALUES (1, 'a', NULL), (2, 'b', 1), (3, NULL, 2);
INSERT INTO shadowed VALUES ('a', 1, 'a'), ('b', 2, 'b');
INSERT INTO partial VALUES (1, 'a', 1), (2, 'a', 0), (3, 'b', 1);
INSERT INTO folded VALUES (1, 'a'), (2, 'B'), (3, 'x');
INSERT INTO generated(id, v) VALUES ('a', 1), ('b', 2), ('x', 5);
INSERT INTO moment(id, v) VALUES (1, 'a'), (2, 'b');
INSERT INTO bag VALUES ('a', 1), ('a', 1), (NULL, 2);
INSERT INTO quiet VALUES ('a', 1), ('b', 2);
INSERT INTO child VALUES (1, 'a', 'a@x', NULL), (2, 'b', NULL, 1), (3, 'a', NULL, 2);
INSERT INTO audit(what, k) VALUES ('begin', NULL);
INSERT INTO "odd ""name"" [x]?" VALUES ('a', 1), ('b', 2);
"""

_TEXTS = [
    "a",
    "b",
    "c",
    "A",
    "B",
    "ä",
    "Ä",
    "a\u0308",
    "a ",
    "x",
    "",
    "none",
    "2026-03-02T09:00:00Z",
]
_WHOLE = [0, 1, 2, 3, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
_REALS = [0.0, -0.0, 1.0, 0.1, 1e300, -2.5]
_BLOBS = [b"", b"a", b"\x00\xff"]

_TABLES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "customers": {
        "id": _TEXTS,
        "email": ["a@x", "b@x", "c@x", "none", "ä@x"],
        "name": [*_TEXTS, None],
        "age": [*_WHOLE, None],
        "since": [*_TEXTS, None],
    },
    "orders": {
        "n": _WHOLE,
        "total": [*_REALS, None],
        "at": [*_TEXTS, None],
        "raw": [*_BLOBS, None],
        "customer": [*_TEXTS, None],
    },
    "lines": {"n": _WHOLE, "sku": _TEXTS, "amount": _WHOLE},
    "tags": {"tag": _TEXTS, "size": [*_WHOLE, None], "owner": [*_TEXTS, None]},
}
_KEYS = {"customers": ("id",), "orders": ("n",), "lines": ("n", "sku"), "tags": ("tag",)}

_ODD = [*_TEXTS, *_WHOLE, *_REALS, *_BLOBS, None, "bad", float("inf"), float("nan")]
_NAME = ["a", "b", "x", "A", "a ", "a", "b", None]
_NUMBER = [1, 2, 3, 4, 1, 2, 2**53, 2**53 + 1, None]
_FEW = ["a", "b", 1, 2, "a", "b", "A", 1.0, b"a", "1", None]
# table -> column -> values that are likely to meet others; any column takes an odd one at times.
_SQLITE_TABLES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "names": {"k": _NAME, "alias": _NAME, "v": [*_FEW, "bad"], "rowid": _NUMBER},
    "fixed": {"a": _FEW, "b": _NAME, "v": _FEW},
    "strictly": {"k": _NUMBER, "b": [*_BLOBS, None], "r": [1, 1.0], "t": _NAME, "oid": _NUMBER},
    "loose": {"k": _FEW, "v": _FEW, "w": _FEW, "rowid": _NUMBER},
    "pairs": {"id": _NUMBER, "x": _NAME, "y": _NUMBER, "w": _FEW, "rowid": _NUMBER},
    "filled": {"id": _NAME, "u": _NAME, "v": [1, 2, "b", None], "_rowid_": _NUMBER},
    "mixed": {"k": _NAME, "v": _NAME, "u": _NAME, "rowid": _NUMBER},
    "rules": {"k": _NAME, "u": _FEW, "v": _FEW, "rowid": _NUMBER},
    "ruled": {"k": _NUMBER, "u": _FEW, "v": _NUMBER},
    "shadowed": {"rowid": _NAME, "_rowid_": _NUMBER, "id": _NAME, "oid": _NUMBER},
    "partial": {"id": _NUMBER, "v": _NAME, "w": [0, 1]},
    "folded": {"id": _NUMBER, "v": _NAME},
    "generated": {"id": _NAME, "v": _NUMBER, "rowid": _NUMBER},
    "moment": {"id": _NUMBER, "v": _NAME, "w": _FEW},
    "bag": {"v": _FEW, "w": _FEW, "rowid": _NUMBER},
    "quiet": {"id": _NAME, "v": _FEW},
    "child": {"id": _NUMBER, "k": _NAME, "x": ["a@x", None, "no"], "up": _NUMBER},
    "audit": {"id": _NUMBER, "what": _NAME, "k": _FEW},
    'odd "name" [x]?': {'a "key" x': _NAME, "select": _FEW, "rowid": _NUMBER},
    "shown": {"k": _NAME, "v": _FEW},
    "customers": {**_TABLES["customers"], "id": _NAME, "rowid": _NUMBER},
    "orders": {**_TABLES["orders"], "customer": _NAME},
    "lines": {"n": _NUMBER, "sku": _NAME, "amount": _NUMBER, "rowid": _NUMBER},
    "tags": {"tag": _NAME, "size": _NUMBER, "owner": _NAME, "rowid": _NUMBER},
}

_DDL = (
    "CREATE TABLE more(id INTEGER PRIMARY KEY)",
    "CREATE INDEX more_i ON names(v)",
    "ALTER TABLE tags ADD COLUMN extra",
    "ALTER TABLE quiet RENAME TO quieter",
    "DROP TABLE audit",
    "DROP TRIGGER t1",
    "DROP TRIGGER _outcomebox_update_names",
    "CREATE TEMP TABLE names(k)",
    "VACUUM",
    "ANALYZE",
    "REINDEX",
    "PRAGMA user_version = 3",
    "PRAGMA recursive_triggers = ON",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA defer_foreign_keys = ON",
)
_LOG = (
    "DELETE FROM _outcomebox_changes",
    "UPDATE OR REPLACE _outcomebox_changes SET seq = 1",
    "INSERT OR REPLACE INTO _outcomebox_changes(seq, tbl) VALUES (1, 'names')",
    "INSERT INTO _outcomebox_changes(seq, tbl) VALUES (0, 'names')",
    "INSERT INTO _outcomebox_changes(tbl, k1) VALUES ('names', 'b')",
    "INSERT INTO _outcomebox_changes(tbl, k1) VALUES ('no such', 1)",
)


@dataclass(frozen=True)
class Write:
    """One statement.

    Attributes:
        sql: Its text, parameters as ``?``.
        given: The parameters.
        connection: Which of two connections runs it.
    """

    sql: str
    given: tuple[Any, ...] = ()
    connection: int = 0


_CONTROL = st.sampled_from(
    [
        Write(sql)
        for sql in (
            "BEGIN",
            "BEGIN",
            "COMMIT",
            "COMMIT",
            "ROLLBACK",
            "SAVEPOINT s1",
            "SAVEPOINT s2",
            "ROLLBACK TO s1",
            "ROLLBACK TO s2",
            "RELEASE s1",
            "RELEASE s2",
        )
    ]
)


def _row(table: str, least: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    columns = _TABLES[table]
    chosen = st.sets(st.sampled_from(sorted(columns)), min_size=least)
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries(
            {name: st.sampled_from(columns[name]) for name in sorted(names)}
        )
    )


@st.composite
def _portable_write(draw: st.DrawFn) -> Write:
    table = draw(st.sampled_from(sorted(_TABLES)))
    key = {name: draw(st.sampled_from(_TABLES[table][name])) for name in _KEYS[table]}
    verb = draw(st.sampled_from(["insert", "ignore", "upsert", "update", "delete", "all", "empty"]))
    where = " AND ".join(f"{name} = ?" for name in key)
    if verb in ("insert", "ignore", "upsert"):
        row = {**draw(_row(table)), **key}
        sql = f"INSERT INTO {table}({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        if verb == "ignore":
            sql += " ON CONFLICT DO NOTHING"
        if verb == "upsert":
            others = [name for name in row if name not in key]
            told = ", ".join(f"{name} = excluded.{name}" for name in others)
            sql += f" ON CONFLICT ({', '.join(key)}) "
            sql += f"DO UPDATE SET {told}" if told else "DO NOTHING"
        return Write(sql, tuple(row.values()))
    if verb == "update":
        new = draw(_row(table, 1))
        told = ", ".join(f"{name} = ?" for name in new)
        return Write(f"UPDATE {table} SET {told} WHERE {where}", (*new.values(), *key.values()))
    if verb == "all":
        free = sorted(_TABLES[table].keys() - key.keys() - {"email"})
        column = draw(st.sampled_from(free))
        return Write(
            f"UPDATE {table} SET {column} = ?", (draw(st.sampled_from(_TABLES[table][column])),)
        )
    if verb == "delete":
        return Write(f"DELETE FROM {table} WHERE {where}", tuple(key.values()))
    return Write(f"DELETE FROM {table}")


def portable(most: int = 12) -> st.SearchStrategy[list[Write]]:
    """Writes to :data:`PORTABLE`, in and out of transactions; some fail."""
    write = _portable_write()
    return st.lists(st.one_of(write, write, write, write, _CONTROL), min_size=1, max_size=most)


_CONFLICTS = ["", *["OR REPLACE "] * 3, "OR IGNORE ", "OR FAIL ", "OR ROLLBACK "]
_VERBS = [*["insert"] * 4, "upsert", *["update"] * 4, "delete"]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@st.composite
def _clause(draw: st.DrawFn, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Values for some columns."""
    names = draw(st.sets(st.sampled_from(sorted(columns)), min_size=1))
    return {
        name: draw(st.sampled_from(columns[name] if draw(st.integers(0, 9)) else _ODD))
        for name in sorted(names)
    }


@st.composite
def _sqlite_write(draw: st.DrawFn, tables: Sequence[str]) -> Write:
    table = draw(st.sampled_from(tables))
    columns = _SQLITE_TABLES[table]
    name = _quoted(table)
    conflict = draw(st.sampled_from(_CONFLICTS))
    verb = draw(st.sampled_from(_VERBS))
    if verb in ("insert", "upsert"):
        left_out = draw(st.sets(st.sampled_from(sorted(columns)), max_size=2))
        row = draw(_clause(columns))
        if draw(st.booleans()):  # most columns
            row |= {
                each: draw(st.sampled_from(columns[each]))
                for each in columns
                if each not in row and each not in left_out
            }
        names = ", ".join(map(_quoted, row))
        marks = ", ".join(map(_mark, row.values()))
        if verb == "insert":
            return Write(
                f"INSERT {conflict}INTO {name}({names}) VALUES ({marks})", tuple(row.values())
            )
        told = draw(_clause(columns))
        sets = ", ".join(f"{_quoted(each)} = ?" for each in told)
        return Write(
            f"INSERT INTO {name}({names}) VALUES ({marks}) ON CONFLICT DO UPDATE SET {sets}",
            (*row.values(), *told.values()),
        )
    where = draw(st.one_of(st.just({}), _clause(columns), _clause(columns)))
    rule = " OR ".join(f"{_quoted(each)} IS {_mark(value)}" for each, value in where.items())
    rule = f" WHERE {rule}" if where else ""
    if verb == "update":
        told = draw(_clause(columns))
        sets = ", ".join(f"{_quoted(each)} = {_mark(value)}" for each, value in told.items())
        return Write(f"UPDATE {conflict}{name} SET {sets}{rule}", (*told.values(), *where.values()))
    return Write(f"DELETE FROM {name}{rule}", tuple(where.values()))


def _mark(value: Any) -> str:
    # Text that is not valid UTF-8 can only be made of a blob.
    return "CAST(? AS TEXT)" if value == b"\x00\xff" else "?"


@st.composite
def sqlite_only(draw: st.DrawFn, most: int = 12, *, ddl: bool = False) -> list[Write]:
    """Writes to :data:`PORTABLE` and :data:`SQLITE`, by two connections.

    Args:
        draw: Hypothesis's own.
        most: Statements at most.
        ddl: Whether the schema, settings and the change log itself are tampered with too.
    """
    # A few tables a time, so that writes meet.
    tables = draw(
        st.lists(st.sampled_from(sorted(_SQLITE_TABLES)), min_size=1, max_size=3, unique=True)
    )
    write = _sqlite_write(tables)
    kinds = [*[write] * 8, _portable_write(), _CONTROL, _CONTROL]
    if ddl:
        kinds += [st.sampled_from(_DDL).map(Write), st.sampled_from(_LOG).map(Write)]
    one = st.builds(
        lambda step, other: replace(step, connection=int(other == 0)),
        st.one_of(kinds),
        st.integers(0, 7),
    )
    return draw(st.lists(one, min_size=1, max_size=most))
