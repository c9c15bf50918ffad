"""The store: whole rows or none, damage named, one writer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.reward.rows import seal
from outcomebox.rollout import EpisodeStore, digest, read_rows
from outcomebox.sandbox import InputError


def row(uid: str = "a", repetition: int = 0, attempt: int = 0, **more: Any) -> dict[str, Any]:
    """A row with what a store needs."""
    return {
        "uid": uid,
        "repetition": repetition,
        "try": attempt,
        "verdict": {"outcome": "passed"},
        "error": None,
        "versions": {"task": "t", "domain": "d"},
        **more,
    }


@given(cut=st.integers(1, 400))
def test_a_cut_off_last_line_is_dropped_and_the_rest_goes_on(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("store") / "episodes.jsonl"
    whole = [seal(row("a", n)) for n in range(3)]
    path.write_bytes(b"".join(whole)[:-cut])
    kept = [n for n in range(3) if sum(map(len, whole[: n + 1])) <= path.stat().st_size]
    with EpisodeStore(path) as store:
        assert [item.repetition for item in store.entries] == kept
        store.append(row("b"))
    assert [item["uid"] for item in read_rows(path)] == ["a"] * len(kept) + ["b"]


def test_damage_inside_is_named_by_its_line_and_nothing_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    lines = [seal(row("a", n)) for n in range(4)]
    lines[1] = lines[1].replace(b"passed", b"failed")
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"line 2 is damaged \(the checksum does not fit\)"):
        EpisodeStore(path)
    with pytest.raises(InputError, match="line 2"):
        list(read_rows(path))
    assert path.read_bytes() == before


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    with EpisodeStore(path) as store:
        store.append(row())
        with pytest.raises(InputError, match="another process is writing"):
            EpisodeStore(path)
    with EpisodeStore(path) as store:
        assert len(store.entries) == 1


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        EpisodeStore(tmp_path / "none" / "episodes.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        list(read_rows(tmp_path / "episodes.jsonl"))


@given(st.permutations([row("a", 0), row("a", 1), row("b", 0), row("b", 0, 1)]))
def test_the_digest_knows_no_order_and_no_timing(rows: list[dict[str, Any]]) -> None:
    timed = [{**item, "timing": {"open": float(place)}} for place, item in enumerate(rows)]
    reference = digest([row("b", 0, 1), row("b", 0), row("a", 1), row("a", 0)])
    assert digest(timed) == reference
    assert digest(rows[1:]) != reference
    assert digest([*rows[1:], {**rows[0], "messages": ["other"]}]) != reference


def test_short_writes_are_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: whole_write(file, bytes(data[:7])))
    with EpisodeStore(tmp_path / "e.jsonl") as store:
        store.append(row("long", note="x" * 50))
    monkeypatch.undo()
    assert [item["uid"] for item in read_rows(tmp_path / "e.jsonl")] == ["long"]
