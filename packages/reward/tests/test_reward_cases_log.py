"""The cases of ``cases/state.jsonl`` once more, their changes taken from the change log."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from outcomebox.sandbox import TerminalState, read_state, terminal_state
from outcomebox.sandbox.backends.sqlite_log import install
from outcomebox.sandbox.backends.sqlite_read import open_file
from outcomebox.sandbox.backends.sqlite_reader import SqliteReader
from outcomebox.sandbox.changelog import state_from_log
from outcomebox.sandbox.image import SqliteImage
from reward_cases import bag, cases_of, plain, play, seed


def both_ways(case: dict[str, Any], path: Path, *parts: str) -> tuple[TerminalState, TerminalState]:
    """The terminal state by the log, and by a full comparison."""
    seed(path, case["schema"], case["seed"])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        install(connection, read_state(connection))
    image = SqliteImage(path.read_bytes())
    for part in parts:
        play(path, case[part])
    assert image.log is not None
    with closing(open_file(path)) as connection:
        by_log = state_from_log(image.state, SqliteReader(connection, image.log))
    return by_log, terminal_state(image.state, read_state(path, like=image.state))


def assert_the_same(by_log: TerminalState, in_full: TerminalState) -> None:
    assert by_log.changes == in_full.changes
    assert repr(by_log.changes) == repr(in_full.changes)  # 1 and 1.0 stay apart
    assert by_log.schema_changes == in_full.schema_changes
    assert by_log.terminal == in_full.terminal


@pytest.mark.parametrize("case", cases_of("changelog", "verdict", "isolation", "error"))
def test_the_log_gives_the_changes_of_the_case(case: dict[str, Any], tmp_path: Path) -> None:
    for part in ("golden", "actual"):
        if part in case:
            by_log, in_full = both_ways(case, tmp_path / f"{part}.sqlite", part)
            assert_the_same(by_log, in_full)
    if "changes" not in case:
        return
    expected = []
    for change in case["changes"]:
        listed = dict(change)
        if "columns" in listed:  # the cases list generated columns too; ours leave them out
            known = by_log.tables[listed["table"]].columns
            listed["columns"] = sorted(set(listed["columns"]) & set(known))
        expected.append(listed)
    assert bag(map(plain, by_log.changes)) == bag(expected)


@pytest.mark.parametrize("case", cases_of("isolation"))
def test_the_log_of_a_shared_database_holds_both_episodes(
    case: dict[str, Any], tmp_path: Path
) -> None:
    assert_the_same(*both_ways(case, tmp_path / "clean.sqlite", "then"))
    assert_the_same(*both_ways(case, tmp_path / "shared.sqlite", "actual", "then"))
