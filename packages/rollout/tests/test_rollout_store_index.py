"""The index is never believed over the rows; a killed process loses nothing but a half line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.rows import read_rows, seal
from outcomebox.rollout import EpisodeStore
from outcomebox.rollout.runfolder import EXCHANGES
from outcomebox.rollout.storing.groups import TRY
from outcomebox.rollout.storing.index import Entry, index_line, read_index, scan, versions_mark
from outcomebox.sandbox import InputError


def row(uid: str = "a", repetition: int = 0, attempt: int = 0, **more: Any) -> dict[str, Any]:
    """A row with what a store needs."""
    return {
        "uid": uid,
        "repetition": repetition,
        "try": attempt,
        "verdict": {"outcome": ("passed", "failed", "system_error")[repetition % 3]},
        "error": None,
        "versions": {"task": "t", "domain": "d"},
        **more,
    }


def exchanges(uid: str, repetition: int, count: int = 2) -> list[dict[str, Any]]:
    """The exchanges of a try."""
    place = {"uid": uid, "repetition": repetition, "try": 0}
    said = [{**place, "role": "policy", "n": n, "answer": "x\u2028" * n} for n in range(count)]
    return [*said, {**place, "role": TRY, "n": 0, "exchanges": count}]


def written(folder: Path, rows: int, *, recorded: bool = True) -> list[bytes]:
    """A run of some rows; the contents of rows, index and exchanges."""
    with EpisodeStore(folder / "episodes.jsonl") as store:
        for number in range(rows):
            said = exchanges("a", number) if recorded else []
            store.append(row("a", number, note="\u2028\u0085" * number), said)
    names = ("episodes.jsonl", "episodes.index", *([EXCHANGES] if recorded else []))
    return [(folder / name).read_bytes() for name in names]


@settings(max_examples=60, deadline=None)
@given(cuts=st.tuples(*[st.floats(0, 1)] * 3))
def test_wherever_files_are_cut_nothing_is_lost_or_doubled(
    tmp_path_factory: pytest.TempPathFactory, cuts: tuple[float, float, float]
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    whole = written(folder, 5)
    path = folder / "episodes.jsonl"
    # A try's exchanges are written first, so the rows never have more tries than the exchanges.
    rows_end = int(cuts[0] * len(whole[0]))
    kept = whole[0][:rows_end].count(b"\n")
    groups = b"".join(seal(each) for n in range(kept) for each in exchanges("a", n))
    said_end = len(groups) + int(cuts[2] * (len(whole[2]) - len(groups)))
    path.write_bytes(whole[0][:rows_end])
    (folder / "episodes.index").write_bytes(whole[1][: int(cuts[1] * len(whole[1]))])
    (folder / EXCHANGES).write_bytes(whole[2][:said_end])
    assert [entry.repetition for entry in read_index(path)] == list(range(kept))
    with EpisodeStore(path) as store:
        assert [entry.repetition for entry in store.entries] == list(range(kept))
        for number in range(kept, 5):
            note = "\u2028\u0085" * number
            store.append(row("a", number, note=note), exchanges("a", number))
    names = ("episodes.jsonl", "episodes.index", EXCHANGES)
    assert [(folder / name).read_bytes() for name in names] == whole


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_index_is_made_again_from_the_rows(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    rows, index = written(folder, 4, recorded=False)
    place = data.draw(st.integers(0, len(index) - 1))
    byte = data.draw(st.integers(0, 255))
    broken = index[:place] + bytes([byte]) + index[place + 1 :]
    (folder / "episodes.index").write_bytes(broken)
    path = folder / "episodes.jsonl"
    right = [("a", n, 0, ("passed", "failed", "system_error")[n % 3]) for n in range(4)]
    assert [entry[:4] for entry in read_index(path)] == right
    assert (folder / "episodes.index").read_bytes() == broken
    EpisodeStore(path).close()
    assert (folder / "episodes.index").read_bytes() == index
    assert path.read_bytes() == rows


@pytest.mark.parametrize("kind", ["missing", "empty", "longer", "of another run", "binary"])
def test_an_index_that_does_not_fit_is_made_again(tmp_path: Path, kind: str) -> None:
    rows, index = written(tmp_path, 3, recorded=False)
    other = tmp_path / "other"
    other.mkdir()
    with EpisodeStore(other / "episodes.jsonl") as store:
        for number in range(3):
            store.append(row("b", number, note="\u2028\u0085" * number))
    file = tmp_path / "episodes.index"
    if kind == "missing":
        file.unlink()
    else:
        file.write_bytes(
            {
                "empty": b"",
                "longer": index + index,
                "of another run": (other / "episodes.index").read_bytes(),
                "binary": bytes(range(256)),
            }[kind]
        )
    path = tmp_path / "episodes.jsonl"
    assert {entry.uid for entry in read_index(path)} == {"a"}
    EpisodeStore(path).close()
    assert file.read_bytes() == index
    assert path.read_bytes() == rows


def test_only_the_missing_tail_is_read(tmp_path: Path) -> None:
    rows, index = written(tmp_path, 4, recorded=False)
    path = tmp_path / "episodes.jsonl"
    # Damage inside a row that the index covers: whoever reads that row finds it.
    path.write_bytes(rows.replace(b'"task":"t"', b'"task":"u"', 1))
    found = scan(path, tmp_path / "episodes.index")
    assert (found.indexed, len(found.entries), found.index_end) == (4, 4, len(index))
    with pytest.raises(InputError, match="line 1 is damaged"):
        list(read_rows(path))
    (tmp_path / "episodes.index").write_bytes(index.splitlines(keepends=True)[0])
    assert scan(path, tmp_path / "episodes.index").indexed == 1


@given(
    st.text(
        st.characters(max_codepoint=0x7F, min_codepoint=0x20, exclude_characters='"\\'),
        max_size=100,
    )
)
def test_a_line_has_at_most_150_bytes(uid: str) -> None:
    entry = Entry(uid, 999, 99, "passed", 10**11 - 1, 10**6 - 1, versions_mark({"task": "t"}))
    line = index_line(entry, 2**32 - 1)
    assert len(line) <= 150 - (100 - len(uid))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"uid": 1}, "uid is 1, not a text"),
        ({"repetition": True}, "repetition and try"),
        ({"try": -1}, "repetition and try"),
        ({"verdict": {"outcome": "good"}}, "no verdict with an outcome"),
        ({"versions": None}, "no versions"),
    ],
)
def test_what_is_no_row_of_an_episode_is_refused(
    tmp_path: Path, broken: dict[str, Any], said: str
) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(seal(row()) + seal({**row("b"), **broken}))
    with pytest.raises(InputError, match=f"line 2 is no row of an episode: .*{said}"):
        EpisodeStore(path)
    with EpisodeStore(tmp_path / "new.jsonl") as store, pytest.raises(ValueError, match=said):
        store.append({**row("b"), **broken})
