"""kill -9 of the runner, of the endpoint and of tool servers: the run goes on to the same end."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from outcomebox.rollout.digest import digest
from standin_kills import VICTIMS, Ground

heavy = pytest.mark.skipif(
    os.environ.get("OUTCOMEBOX_HEAVY") != "1", reason="minutes of CPU; set OUTCOMEBOX_HEAVY=1"
)
SEED = int(os.environ.get("OUTCOMEBOX_KILL_SEED", "20"))
ROUNDS = int(os.environ.get("OUTCOMEBOX_KILL_ROUNDS", "3"))


def key(row: Mapping[str, Any]) -> tuple[str, int]:
    """The attempt that a row is of."""
    return row["uid"], row["repetition"]


@heavy
def test_a_killed_part_changes_nothing_but_the_time(tmp_path: Path) -> None:
    ground = Ground(tmp_path / "ground")
    luck = random.Random(SEED)
    ground.start_endpoint()
    try:
        ground.undisturbed("whole")
        whole = ground.rows("whole")
        assert len(whole) == ground.tasks * ground.attempts
        for turn in range(ROUNDS):
            victim = VICTIMS[turn % len(VICTIMS)]
            there = ground.disturbed(f"{turn}", victim, luck)
            rows = ground.rows(f"{turn}")
            sys.stderr.write(f"{turn}: {victim} killed at {there} rows, {len(rows)} in the end\n")
            clean = Counter(key(row) for row in rows if row["verdict"]["outcome"] != "system_error")
            assert clean == Counter(map(key, whole)), (turn, victim)  # none lost, none doubled
            # A killed endpoint or server may cost an attempt a try, which is a row of its own.
            for results in (True, False)[: 1 + (victim == "runner")]:
                assert digest(rows, results=results) == digest(whole, results=results), turn
    finally:
        ground.stop_endpoint()
