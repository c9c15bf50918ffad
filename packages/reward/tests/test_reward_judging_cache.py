"""The judge's cache: what was answered is kept, through kills, damage and company."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.judging import FileCache, MemoryCache, judge_settings, model_judge
from outcomebox.reward.judging.cache import VoteCache
from outcomebox.sandbox import InputError
from reward_judge_stub import NO, YES, StubEndpoint, stub_endpoint

VOTE = {"said": "yes", "seed": 0, "form": "text", "tries": 1, "tokens": [1, 2]}

# Puts votes and says each number once it counts.
WRITER = """
import sys
from pathlib import Path
from outcomebox.reward.judging.cache import FileCache
path, name, count = sys.argv[1:]
cache = FileCache(Path(path))
for number in range(int(count)):
    kept = cache.put("shared", number, {"said": name, "more": "x" * 300})
    cache.put(name, number, {"said": name})
    sys.stdout.write(f"{number} {kept['said']}\\n")
    sys.stdout.flush()
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    """A process that writes votes."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "get", "drop", "reopen"]),
            st.sampled_from("ab"),
            st.integers(0, 2),
            st.text(max_size=5),
        ),
        max_size=20,
    )
)
def test_a_file_keeps_what_a_dict_would(steps: list[tuple[str, str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's is one for all examples
        path = Path(folder) / "votes.sqlite"
        memory: VoteCache = MemoryCache()
        file = FileCache(path)
        for step, key, number, said in steps:
            if step == "put":
                vote = {**VOTE, "said": said}
                assert file.put(key, number, vote) == memory.put(key, number, vote)
            elif step == "drop":
                file.drop(key, number)
                memory.drop(key, number)
            elif step == "reopen":
                file.close()
                file = FileCache(path)
            assert file.get(key, number) == memory.get(key, number)
        file.close()


def test_a_writer_that_is_killed_loses_and_breaks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "votes.sqlite"
    rng = random.Random(3)
    for round_ in range(3):
        name = f"round {round_}"
        with writer(path, name, 100_000) as process:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in range(rng.randrange(1, 60))]
            process.send_signal(signal.SIGKILL)
            told += process.stdout.readlines()
        whole = [line for line in told if line.endswith("\n")]
        assert whole
        with closing(FileCache(path)) as cache:
            for line in whole:
                number = int(line.split(maxsplit=1)[0])
                assert cache.get(name, number) == {"said": name}
                shared = cache.get("shared", number)
                assert shared is not None
                assert shared["said"] == line.split(maxsplit=1)[1].rstrip("\n")
        with closing(sqlite3.connect(path)) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_several_processes_agree_on_every_vote(tmp_path: Path) -> None:
    path = tmp_path / "votes.sqlite"
    processes = [writer(path, name, 40) for name in ("a", "b", "c")]
    told = [process.communicate(timeout=120)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert told[0] == told[1] == told[2]
    assert len(told[0]) == 40


def test_a_file_that_is_no_cache_is_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("these are my notes, " * 100)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as file:
        file.execute("CREATE TABLE mine (x)")
    before = (tmp_path / "other.sqlite").read_bytes()
    for path, words in (
        (text, "cannot be used as the judge's cache"),
        (tmp_path / "other.sqlite", "no cache of a judge"),
        (tmp_path / "no" / "such" / "folder.sqlite", "cannot be used"),
        (tmp_path, "cannot be used"),
    ):
        with pytest.raises(InputError, match=words):
            FileCache(path)
    assert text.read_text().startswith("these are my notes")
    assert (tmp_path / "other.sqlite").read_bytes() == before


def filled(path: Path, count: int = 50) -> None:
    """A cache with votes, all in its one file."""
    with closing(FileCache(path)) as cache:
        for number in range(count):
            cache.put("k", number, {**VOTE, "said": f"vote {number} " + "x" * 200})
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        file.execute("PRAGMA journal_mode = DELETE")


def test_any_damaged_byte_is_noticed_and_no_vote_is_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "votes.sqlite"
    filled(path)
    whole = path.read_bytes()
    rng = random.Random(5)
    caplog.set_level(logging.CRITICAL)
    lost = 0
    for _ in range(60):
        data = bytearray(whole)
        place = rng.randrange(len(data))
        data[place] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        try:
            cache = FileCache(path)
        except InputError:
            lost += 1
            continue
        for number in range(50):
            found = cache.get("k", number)
            lost += found is None
            assert found is None or found["said"] == f"vote {number} " + "x" * 200
        cache.close()
        for name in ("-wal", "-shm"):
            path.with_name(path.name + name).unlink(missing_ok=True)
    assert lost > 10


@pytest.fixture
def stub() -> Iterator[StubEndpoint]:
    """A running stub."""
    with stub_endpoint() as running:
        yield running


def asked(stub: StubEndpoint, cache: Path, text: str = "Dear customer") -> Any:
    """The answer of a judge with a cache."""

    async def run() -> Any:
        judge = model_judge(judge_settings(stub.options()), cache)
        try:
            return await judge.answer("Is it polite?", text)
        finally:
            await judge.aclose()

    return anyio.run(run)


def test_a_damaged_vote_is_reported_and_asked_for_again(
    tmp_path: Path, stub: StubEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "votes.sqlite"
    assert asked(stub, path).yes
    assert asked(stub, path).record["votes"][0]["cached"]
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("UPDATE votes SET vote = replace(vote, 'yes', 'no')")
    stub.script = [YES]
    judgement = asked(stub, path)
    assert judgement.yes
    assert not judgement.record["votes"][0]["cached"]
    assert "damaged vote" in caplog.text
    assert str(path) in caplog.text
    assert len(stub.asked) == 2
    assert asked(stub, path).record["votes"][0]["cached"]


def test_a_vote_that_is_none_is_asked_for_again(tmp_path: Path, stub: StubEndpoint) -> None:
    path = tmp_path / "votes.sqlite"
    asked(stub, path)
    with closing(FileCache(path)) as cache, closing(sqlite3.connect(path)) as file:
        (key,) = file.execute("SELECT key FROM votes").fetchone()
        cache.drop(key, 0)
        cache.put(key, 0, {**VOTE, "said": "perhaps"})
    stub.script = [NO]
    assert not asked(stub, path).yes


def test_a_cache_that_breaks_under_the_run_is_reported_and_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = FileCache(tmp_path / "votes.sqlite")
    cache.put("a", 0, VOTE)
    with closing(sqlite3.connect(tmp_path / "votes.sqlite")) as file:
        file.execute("DROP TABLE votes")
    assert cache.get("a", 0) is None
    assert "can no longer be used" in caplog.text
    other = {**VOTE, "said": "other"}
    assert cache.put("a", 0, other) == other
    assert cache.get("a", 0) == other
    assert len(caplog.records) == 1
    cache.close()


def test_a_file_holds_digests_and_replies_and_no_text(tmp_path: Path, stub: StubEndpoint) -> None:
    path = tmp_path / "votes.sqlite"
    asked(stub, path, "a text that nobody shall find here")
    with closing(sqlite3.connect(path)) as file:
        ((key, number, vote, _),) = file.execute("SELECT * FROM votes").fetchall()
    assert len(key) == 64
    assert number == 0
    assert set(json.loads(vote)) == set(VOTE)
    assert "nobody shall find" not in vote
