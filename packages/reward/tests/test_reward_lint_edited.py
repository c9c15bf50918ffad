"""A state with edited rows says what a full comparison of its two databases says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.lint.edited import Edit, edited, identity, untouched, with_new_index
from outcomebox.reward.lint.edited import with_new_table as with_table
from outcomebox.sandbox.changes import TerminalState, terminal_state
from reward_states import state_after

SCHEMA = """
    CREATE TABLE pairs(a TEXT, b INTEGER, v TEXT, PRIMARY KEY (a, b));
    CREATE TABLE bag(v TEXT, n INTEGER);
    INSERT INTO pairs VALUES ('x', 1, 'one'), ('x', 2, 'two'), (NULL, 3, 'loose'), ('y', 1, NULL);
    INSERT INTO bag VALUES ('a', 1), ('a', 1), ('b', 2);
"""
START = state_after(
    SCHEMA,
    "UPDATE pairs SET v = 'changed' WHERE a = 'x' AND b = 1",
    "DELETE FROM pairs WHERE a = 'x' AND b = 2",
    "INSERT INTO pairs VALUES ('z', 9, 'new')",
    "DELETE FROM bag WHERE v = 'b'",
    "INSERT INTO bag VALUES ('c', 3)",
)
VALUES = st.sampled_from([None, "x", "y", "z", "one", "changed", 1, 2, 9])
ROWS = {
    "pairs": st.fixed_dictionaries({"a": VALUES, "b": VALUES, "v": VALUES}),
    "bag": st.fixed_dictionaries({"v": VALUES, "n": VALUES}),
}


@st.composite
def edits(draw: st.DrawFn) -> list[Edit]:
    """Rows of the terminal state taken out, replaced or added; no key in two edits."""
    found: list[Edit] = []
    keys: set[Any] = set()
    for _ in range(draw(st.integers(1, 4))):
        table = draw(st.sampled_from(["pairs", "bag"]))
        info = START.tables[table]
        there = START.terminal.rows(table)
        old = draw(st.none() | st.sampled_from(there))
        new = draw(st.none() | ROWS[table])
        named = {identity(info, row) for row in (old, new) if row is not None} - {None}
        taken = {tuple(row.items()) for row in (old,) if row is not None}
        held = {identity(info, row) for row in there} - {old and identity(info, old)}
        if named & keys or taken & keys or (new and identity(info, new) in held - {None}):
            continue
        keys |= named | taken
        found.append(Edit(table, old, new))
    return found


def settled(state: TerminalState) -> TerminalState:
    """The state with its rows read out of it, and compared in full."""
    keyed = {name: dict(rows) for name, rows in state.terminal.keyed.items()}
    bags = {name: tuple(rows) for name, rows in state.terminal.bags.items()}
    return terminal_state(state.initial, replace(state.terminal, keyed=keyed, bags=bags))


def normal(state: TerminalState) -> list[str]:
    """The changes in a form that does not depend on the order of columns."""
    return sorted(
        repr([each.op, each.table, *(row and sorted(row.items()) for row in (each.old, each.new))])
        for each in state.changes
    )


def counted(state: TerminalState) -> Mapping[str, int]:
    return {name: len(state.terminal.keyed[name]) for name in state.tables}


@settings(max_examples=100, deadline=None)
@given(edits())
def test_the_changes_are_those_of_a_full_comparison(made: list[Edit]) -> None:
    state = edited(START, made)
    full = settled(state)
    assert normal(state) == normal(full)
    assert counted(state) == counted(full)
    for edit in made:
        if edit.new is not None:
            assert edit.new in state.terminal.rows(edit.table)


@settings(max_examples=100, deadline=None)
@given(edits())
def test_an_edit_and_its_opposite_leave_the_state(made: list[Edit]) -> None:
    there = edited(START, made)
    back = edited(there, [Edit(each.table, each.new, each.old) for each in made])
    assert normal(back) == normal(START)


def test_an_untouched_state_has_no_change() -> None:
    assert settled(untouched(START)).changes == untouched(START).changes == ()


def test_schema_changes() -> None:
    assert with_table(START, "fresh").schema_changes == ("fresh",)
    assert settled(with_table(START, "fresh")).schema_changes == ("fresh",)
    assert settled(with_new_index(START, "bag")).schema_changes == ("lint_bag",)
