"""The fast ways of reading say what reading row by row says, or leave the row to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outcomebox.selection import InputError, read_episodes, task_results
from outcomebox.selection.reading import jsonl
from outcomebox.selection.reading.fields import Fields
from outcomebox.selection.reading.lines import Chunks, lines_at
from outcomebox.selection.reading.shape import shape_of
from outcomebox.selection.rowfile import parse_row, short_row
from selection_rows import POLICY, probe_rows, row, sealed, write_rows

on_disk = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def slim(uid: str, repetition: Any, outcome: str, **changes: Any) -> dict[str, Any]:
    plain = {
        "uid": uid,
        "repetition": repetition,
        "try": 0,
        "domain": "retail",
        "family": "returns",
        "verdict": {"outcome": outcome},
        "versions": {"task": f"h{uid}"},
    }
    return plain | changes


def facts(path: Path, fewest: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    """All facts of a file, or the error; vectors from so many lines on."""
    monkeypatch.setattr(jsonl, "_MANY", fewest)
    rows = jsonl.JsonRows(path, Fields())
    try:
        frames = list(rows.frames())
    except InputError as error:
        return str(error)
    found = [tuple(map(str, told)) for frame in frames for told in frame.iter_rows()]
    return sorted(found, key=lambda told: int(told[-1])), rows.torn, rows.sha256


odd_lines = st.sampled_from(
    [
        b"",
        b"  ",
        b"{}",
        b"[1]",
        b'{"uid":"a"} {"uid":"b"}',
        json.dumps(slim("b", True, "passed")).encode(),
        json.dumps(slim("b", 1.5, "passed")).encode(),
        json.dumps(slim("b", "1", "passed")).encode(),
        json.dumps(slim("b", 2**40, "passed")).encode(),
        json.dumps(slim("b", 1, "Passed")).encode(),
        json.dumps(slim("", 1, "passed")).encode(),
        json.dumps(slim("b", 1, "failed", error={"type": "x"})).encode(),
        json.dumps(slim("b", 1, "system_error", error={"type": "x"})).encode(),
        json.dumps(slim("b", 1, "passed")).encode() + b"\r",
        json.dumps(slim("b", 1, "passed"), separators=(",", ":")).encode() + b" ",
        json.dumps(slim("b", 1, "passed"), separators=(",", ":")).replace(":1,", ":01,").encode(),
        json.dumps(slim("b", 1, "passed"), separators=(",", ":")).replace(":1,", ":-1,").encode(),
        json.dumps(slim("b", 1, "passed"), separators=(",", ":")).replace('"b"', '"b\t"').encode(),
        json.dumps(slim("b", 1, "passed"), separators=(",", ":")).replace('"b"', "7").encode(),
        json.dumps(slim("b", 1, "passed") | {"uid": None}).encode(),
        b"\xff\xfe",
        *(
            json.dumps(slim("b", 1, "passed"), separators=(",", ":"))
            .replace(":1,", f":{number},")
            .encode()
            for number in ("+1", " 1", "1 ", "-0", "", "1e1", "2147483647", "2147483648", "9" * 30)
        ),
    ]
)
good_lines = st.builds(
    lambda uid, repetition, outcome, style, changes: json.dumps(
        slim(uid, repetition, outcome, **changes), ensure_ascii=False, **style
    ).encode(),
    st.sampled_from(["a", "b:c", "é\u2028x", 'q"uote', "back\\slash", "\ue0f1", "x" * 40]),
    st.integers(0, 50),
    st.sampled_from(["passed", "failed", "system_error"]),
    st.sampled_from([{"separators": (",", ":")}, {}]),
    st.sampled_from([{}, {}, {"tags": ["t"]}, {"note": 1.5}, {"versions": {"task": "h"}}]),
)


@given(
    st.lists(st.one_of(good_lines, good_lines, good_lines, odd_lines), min_size=1), st.booleans()
)
@on_disk
def test_vectors_say_what_row_by_row_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[bytes], ended: bool
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(lines) + (b"\n" if ended else b""))
    assert facts(path, 1, monkeypatch) == facts(path, 10**9, monkeypatch)


def test_rows_of_one_shape_are_read_by_the_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [slim(f"t{n}", n % 4, "passed") for n in range(400)]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(orjson.dumps(plain) + b"\n" for plain in rows))

    def one_by_one(*_: Any) -> None:
        raise AssertionError("a row was read by itself")

    monkeypatch.setattr(jsonl, "add_row", one_by_one)
    assert read_episodes([path]).rows.height == 400


def test_a_row_that_could_mean_something_else_has_no_shape() -> None:
    for plain in (
        slim("a", 0, "passed", checksum="00000000"),
        slim("a", 0, "system_error", error={"type": "x"}),
        slim("a\ue0f1", 0, "passed"),
        slim("a", True, "passed"),
    ):
        assert shape_of(json.dumps(plain, ensure_ascii=False).encode(), Fields()) is None
    assert shape_of(b'{"uid": 1.0e3}', Fields()) is None
    assert shape_of(json.dumps(slim("a", 0, "passed")).encode(), Fields()) is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["policy", "error", "versions", "verdict", "x"]), inner)
    ),
    max_leaves=6,
)


@given(json_values, json_values, st.sampled_from(["P", "F", "E"]))
@settings(deadline=None, max_examples=150)
def test_a_sealed_row_is_read_from_its_ends(between: Any, after: Any, outcome: str) -> None:
    details = {"outcome": row("a", 0, outcome)["verdict"]["outcome"], "details": between}
    plain = row("a", 0, outcome, messages=[{"content": ',"policy":'}, between], verdict=details)
    plain = {name: plain[name] for name in plain if name not in ("policy", "error", "versions")}
    plain |= {"policy": {"name": "p", "policy": after}, "user": after}
    plain |= {"error": None if outcome != "E" else {"type": "x"}, "versions": {"task": "h"}}
    line = sealed(plain)
    short, whole = short_row(line, "x"), parse_row(line, "x")
    assert short is not None
    assert whole is not None
    fields = Fields()
    for name in fields.names:
        assert fields.get(short, name, "absent") == fields.get(whole, name, "absent")


@given(st.binary(max_size=200).map(lambda data: data.replace(b"a", b"\n")), st.integers(1, 50))
@on_disk
def test_pieces_of_a_file_are_the_file(tmp_path: Path, data: bytes, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with Chunks(path, size) as chunks:
        found = list(chunks)
        assert b"".join(chunk.data for chunk in found) == data
        assert all(chunk.data.endswith(b"\n") for chunk in found[:-1])
        numbered = [line for chunk in found for line in chunk.lines()]
    assert numbered == list(enumerate(_split(data), 1))
    wanted = {1, 3}
    expected = {n: line.strip() for n, line in numbered if n in wanted}
    assert lines_at(path, wanted) == expected


def _split(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def test_parquet_says_what_rows_say(tmp_path: Path) -> None:
    plain = [r for uid in "ab" for r in probe_rows(uid, "PFE", tags=["x"])]
    rows = read_episodes([write_rows(tmp_path / "rows.jsonl", plain)])
    nested = pl.DataFrame(
        [
            {name: r[name] for name in r if name not in ("verdict", "error")}
            | {"verdict": {"outcome": r["verdict"]["outcome"]}}
            | {"error": None if r["error"] is None else json.dumps(r["error"])}
            for r in plain
        ]
    )
    flat = nested.select(
        "uid",
        "repetition",
        "try",
        "domain",
        "family",
        "tags",
        outcome=pl.col("verdict").struct.field("outcome"),
        policy=pl.lit(json.dumps(POLICY)),
        hash=pl.col("versions").struct.field("task"),
        content=pl.col("versions").struct.field("content"),
    )
    for name, table in (("nested", nested), ("flat", flat)):
        path = tmp_path / f"{name}.parquet"
        table.write_parquet(path)
        found = read_episodes([path])
        assert found.digest == rows.digest, name
    # The same rows twice, in two kinds of files, are the same rows.
    assert read_episodes([path, tmp_path / "rows.jsonl"]).repeated == 6


def test_what_a_row_of_a_table_does_not_tell_is_made_for_that_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    columns = {
        "uid": ["a/b/c", "a/b/d"],
        "repetition": [0, 0],
        "outcome": [True, False],
        "domain": ["other", None],
        "family": [None, None],
        "hash": [None, "h"],
    }
    pl.DataFrame(columns, schema_overrides={"family": pl.String}).write_parquet(path)
    tasks = read_episodes([path], fields=Fields("thinkingbox", {"hash": "hash"})).tasks
    assert [(task.domain, task.family, task.hash) for task in tasks] == [
        ("other", "b", "unversioned:a/b/c"),
        ("a", "b", "h"),
    ]


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("uid", [1, 2], "uid: holds Int64"),
        ("uid", ["a", None], "parquet:2: uid: is null"),
        ("repetition", [0, -1], "parquet:2: repetition: is -1"),
        ("repetition", [0.0, 1.0], "repetition: holds Float64"),
        ("outcome", ["passed", "Passed"], 'parquet:2: outcome: is "Passed"'),
        ("outcome", [True, None], "parquet:2: outcome: is null"),
        ("domain", ["a", ""], 'parquet:2: domain: is ""'),
        ("tags", ["a", "b"], "tags: holds"),
        ("system_error", ["x", None], "parquet:1: system_error"),
    ],
)
def test_a_table_off_the_contract_is_refused(
    tmp_path: Path, column: str, values: list[Any], said: str
) -> None:
    good = {"uid": ["a/b/c", "a/b/d"], "repetition": [0, 1], "outcome": ["passed", "failed"]}
    path = tmp_path / "rows.parquet"
    pl.DataFrame(good | {column: values}).write_parquet(path)
    with pytest.raises(InputError, match=said):
        read_episodes([path])
    pl.DataFrame(good).write_parquet(path)
    episodes = read_episodes([path])
    assert [(t.domain, t.family, t.hash) for t in episodes.tasks] == [
        ("a", "b", "unversioned:a/b/c"),
        ("a", "b", "unversioned:a/b/d"),
    ]
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="is no Parquet file"):
        read_episodes([path])


def test_of_several_policies_the_named_one_decides(tmp_path: Path) -> None:
    weak = {"name": "openai", "model": "small"}
    rows = probe_rows("a", "PF", policy=weak) + probe_rows("a", "PPP", policy=POLICY)
    path = write_rows(tmp_path / "rows.jsonl", rows)
    for name in ("small", "openai", "openai small"):
        episodes = read_episodes([path], policy=name)
        assert task_results(episodes)[0].clean_runs == 2
        assert (episodes.policy, episodes.others) == (weak, (("simulated", 3),))
    with pytest.raises(InputError, match=r'"large" is no policy.*openai small, simulated'):
        read_episodes([path], policy="large")
    with pytest.raises(InputError, match=r"jsonl:3: policy: is .* here and .* at .*jsonl:1"):
        read_episodes([path])


def thinkingbox(uid: str, repetition: int, result: Any, **changes: Any) -> dict[str, Any]:
    plain = {
        "uid": uid,
        "messages": [{"role": "user", "content": "hello"}],
        "test_result": {"result": result, "reward": 1.0},
        "test_tags": {"domain": "retail", "labels": ["x"]},
        "metadata": {"scenario": "shop", "repetition": repetition, "test_case_file": "r.py"},
        "is_system_error": False,
        "finish_reason": "done",
    }
    return plain | changes


def test_thinkingbox_rows_are_read_through_dotted_fields(tmp_path: Path) -> None:
    rows = [
        thinkingbox("r.py:a", 0, True),
        thinkingbox("r.py:a", 1, False),
        thinkingbox("r.py:a", 2, None),
        thinkingbox("r.py:a", 3, False, is_system_error=True),
        thinkingbox("r.py:a", 4, True, finish_reason="skipped"),
        # An agent that said nothing has failed: its check has seen what it left.
        thinkingbox("r.py:a", 5, False, finish_reason="agent_error"),
    ]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(orjson.dumps(plain) + b"\n" for plain in rows))
    episodes = read_episodes([path], fields=Fields("thinkingbox"))
    (found,) = task_results(episodes)
    assert (found.passes, found.clean_runs, found.system_errors) == (1, 3, 3)
    assert (found.task.domain, found.task.family, found.task.tags) == ("retail", "r.py", ("x",))
    named = read_episodes([path], fields=Fields("thinkingbox", {"domain": "metadata.scenario"}))
    assert named.tasks[0].domain == "shop"
    with pytest.raises(InputError, match=r"jsonl:1: verdict\.outcome"):
        read_episodes([path], fields=Fields("outcomebox", {"repetition": "metadata.repetition"}))


def test_other_systems_rows_are_read_where_their_fields_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "n": 0, "ok": true}\n{"id": "a", "n": 1, "ok": false}\n')
    fields = Fields("outcomebox", {"uid": "id", "repetition": "n", "outcome": "ok"})
    (found,) = task_results(read_episodes([path], fields=fields))
    assert (found.passes, found.clean_runs) == (1, 2)
    path.write_text('{"id": "a", "n": null, "ok": true}\n')
    with pytest.raises(InputError, match="jsonl:1: n: must be a whole number"):
        read_episodes([path], fields=fields)
