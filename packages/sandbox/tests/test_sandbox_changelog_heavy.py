"""The properties of test_sandbox_changelog.py, with many more sequences of writes."""

from __future__ import annotations

import os

from hypothesis import given, settings

from changelog_states import EVERYTHING, assert_agree, copy_of, image, play
from write_sequences import Write, sqlite_only

SEQUENCES = int(os.environ.get("OUTCOMEBOX_EXAMPLES", "2000"))


@settings(max_examples=SEQUENCES, deadline=None)
@given(sqlite_only(25))
def test_the_log_tells_what_a_full_comparison_finds(writes: list[Write]) -> None:
    start = image(*EVERYTHING)
    with copy_of(start) as path:
        play(path, writes)
        assert assert_agree(path, start)


@settings(max_examples=SEQUENCES, deadline=None)
@given(sqlite_only(25, ddl=True))
def test_so_it_does_when_the_schema_or_the_log_is_tampered_with(writes: list[Write]) -> None:
    start = image(*EVERYTHING)
    with copy_of(start) as path:
        play(path, writes)
        assert_agree(path, start)
