"""Terminal states from records: what is rebuilt is what was, or the initial state has changed."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from outcomebox.sandbox.changes import (
    TerminalState,
    change_from_json,
    change_to_json,
    read_state,
    terminal_state,
)
from outcomebox.sandbox.database import Cells, DatabaseState
from outcomebox.sandbox.recorded import InitialDiffers, recorded_state

SCHEMA = """
CREATE TABLE orders(a TEXT, b INTEGER, body, PRIMARY KEY (a, b));
CREATE TABLE log(line, at);
"""

VALUES = st.sampled_from([None, 0, 1, 1.5, -0.0, 2**53 + 1, "", "a", "é", b"", b"\x00a"])
ORDERS = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0, 1])), VALUES, max_size=4
)
LOG = st.lists(st.tuples(VALUES, st.sampled_from([0, 1])), max_size=4)
CONTENTS = st.tuples(ORDERS, LOG)


def state(contents: Any) -> DatabaseState:
    """A database that holds some rows."""
    orders, log = contents
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        for key, body in orders.items():
            connection.execute("INSERT INTO orders VALUES (?, ?, ?)", (*key, body))
        connection.executemany("INSERT INTO log VALUES (?, ?)", log)
        return read_state(connection)


def rebuilt(initial: DatabaseState, recorded: TerminalState) -> TerminalState:
    """What the records of a state tell, made against an initial state."""
    changes = [change_from_json(change_to_json(change)) for change in recorded.changes]
    return recorded_state(initial, changes, calls=("put", "take"))


@settings(max_examples=80, deadline=None)
@given(before=CONTENTS, after=CONTENTS)
def test_a_recorded_state_is_the_one_that_was(before: Any, after: Any) -> None:
    was = terminal_state(state(before), state(after))
    found = rebuilt(was.initial, was)
    assert found.changes == was.changes
    assert found.calls == ("put", "take")
    assert found.terminal.keyed == was.terminal.keyed
    for table, bag in was.terminal.bags.items():
        assert Counter(found.terminal.bags[table]) == Counter(bag)
    again = terminal_state(found.initial, found.terminal)
    assert again.changes == was.changes


@settings(max_examples=80, deadline=None)
@given(before=CONTENTS, after=CONTENTS, other=CONTENTS)
def test_another_initial_state_is_noticed_where_it_was_written(
    before: Any, after: Any, other: Any
) -> None:
    was, now = terminal_state(state(before), state(after)), state(other)
    differs = False
    left = {table: Counter(bag) for table, bag in now.bags.items()}
    gone = {table: Counter[Cells]() for table in now.bags}
    for change in was.changes:
        if change.key is None:
            if change.old is not None:
                gone[change.table][tuple(change.old.values())] += 1
            continue
        differs |= now.row(change.table, change.key) != change.old
    differs |= any(gone[table] - left[table] for table in gone)
    assume(differs)
    with pytest.raises(InitialDiffers) as caught:
        rebuilt(now, was)
    assert caught.value.differences


def test_a_schema_that_changed_has_to_be_given() -> None:
    was = state(({}, []))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        connection.execute("CREATE TABLE extra(id INTEGER PRIMARY KEY, text)")
        connection.execute("INSERT INTO extra VALUES (1, 'x')")
        now = read_state(connection)
    found = terminal_state(was, now)
    with pytest.raises(ValueError, match="give the terminal one"):
        recorded_state(was, found.changes, found.schema_changes)
    made = recorded_state(was, found.changes, found.schema_changes, schema=now.schema)
    assert made.terminal.schema == now.schema
    assert made.terminal.rows("extra") == [{"id": 1, "text": "x"}]
    with pytest.raises(InitialDiffers, match="extra: there is no such table now"):
        recorded_state(was, found.changes)
