"""Rows in a file: what is written comes back, and every damage is named by its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.reward.rows import placed_rows, read_rows, seal, unseal
from outcomebox.sandbox import InputError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None, exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text().filter(lambda name: name != "checksum"), JSON, min_size=1))
def test_any_row_comes_back_as_it_was(plain: dict[str, Any]) -> None:
    line = seal(plain)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert unseal(line) == json.loads(json.dumps(plain))


@given(st.dictionaries(st.text(), JSON, min_size=1), st.data())
def test_any_changed_byte_is_noticed(plain: dict[str, Any], data: st.DataObject) -> None:
    plain.pop("checksum", None)
    line = seal({**plain, "x": 1})[:-1]
    place = data.draw(st.integers(0, len(line) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != line[place]))
    with pytest.raises(ValueError, match=r"checksum|cut off|JSON|delimiter|value|utf-8"):
        unseal(line[:place] + bytes([byte]) + line[place + 1 :] + b"\n")


def test_a_row_knows_its_line_and_where_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [seal({"n": 0}), seal({"n": 1, "text": "\u2028\x85"})]
    path.write_bytes(b"".join(lines))
    placed = list(placed_rows(path))
    assert [(each.row["n"], each.number) for each in placed] == [(0, 1), (1, 2)]
    assert [each.end for each in placed] == [len(lines[0]), len(lines[0] + lines[1])]


@given(cut=st.integers(1, 40))
def test_a_cut_off_last_line_is_left_out(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    lines = [seal({"n": n, "text": "x" * 40}) for n in range(3)]
    path.write_bytes(b"".join(lines)[:-cut])
    assert [row["n"] for row in read_rows(path)] == [0, 1]


@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_damaged_line_is_named_also_the_last(tmp_path: Path, line: int) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [seal({"n": n, "outcome": "failed"}) for n in range(3)]
    lines[line] = lines[line].replace(b"failed", b"passed")
    path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=rf"line {line + 1} is damaged \(the checksum does not"):
        list(read_rows(path))


def test_rows_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(read_rows(tmp_path / "none.jsonl"))
