"""Selection reads what a run stores: its rows, or their index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outcomebox.rollout import EpisodeStore, read_rows
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


def test_the_index_of_a_run_says_the_same(stored: Path) -> None:
    rows, index = read_episodes([stored]), read_episodes([stored.with_suffix(".index")])
    assert index.rows.equals(rows.rows)
    assert index.policy == rows.policy
    assert index.torn_lines == 0
    told, known = index.tasks[0], rows.tasks[0]
    assert (told.uid, told.domain, told.family) == (known.uid, known.domain, known.family)
    assert told.hash.startswith("mark:")


def test_an_index_that_was_cut_or_edited_is_told(stored: Path) -> None:
    index = stored.with_suffix(".index")
    whole = index.read_bytes()
    index.write_bytes(whole[:-5])
    episodes = read_episodes([index])
    assert (episodes.rows.height, episodes.torn_lines) == (2, 1)
    index.write_bytes(whole + whole.split(b"\n")[0] + b"\n")
    assert read_episodes([index]).repeated == 1
    for broken in (
        b'0 10 0 0 x AbCdEfGh 00000000 "a"\n',
        b"\n",
        b"0 10 0 0 p AbCdEfGh 00000000 7\n",
    ):
        index.write_bytes(whole + broken)
        with pytest.raises(InputError, match=r"index:4: is no line of an index"):
            read_episodes([index])


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
    assert episodes.rows.height == len(list(read_rows(stored)))
