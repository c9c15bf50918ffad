"""Selection reads what a run stores, and knows it by the run's own digest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outcomebox.rollout import EpisodeStore, digest, read_rows
from outcomebox.selection import InputError, read_episodes, task_results
from selection_rows import probe_rows


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    versions: dict[str, Any] = {"task": "h1", "domain": "h2", "packages": {}, "profile": None}
    messages = [{"role": "assistant", "content": "caf\u00e9 \u2028 \ud83d", "cost": 1e-7}]
    path = tmp_path / "episodes.jsonl"
    with EpisodeStore(path) as store:
        for row in probe_rows("retail/returns/1", "PEF", versions=versions, messages=messages)[
            ::-1
        ]:
            store.append(row)
    return path


def test_the_digest_is_the_one_the_run_reports(stored: Path) -> None:
    assert read_episodes([stored]).digest == digest(read_rows(stored))


def test_stored_rows_are_read_with_their_checksums(stored: Path) -> None:
    result = task_results(read_episodes([stored]))[0]
    assert (result.passes, result.clean_runs, result.errored_runs) == (1, 2, 1)
    stored.write_bytes(stored.read_bytes().replace(b'"outcome":"failed"', b'"outcome":"passed"'))
    with pytest.raises(InputError, match="checksum"):
        read_episodes([stored])


def test_a_run_killed_in_a_row_is_read_up_to_there(stored: Path) -> None:
    stored.write_bytes(stored.read_bytes()[:-40])
    episodes = read_episodes([stored])
    assert (episodes.rows.height, episodes.torn_lines) == (2, 1)
    assert episodes.digest == digest(read_rows(stored))
