"""Reading recorded episodes: what is counted, what is refused, what the digest sees."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outcomebox.selection import InputError, TaskResult, find_episode_files, read_episodes
from outcomebox.selection import task_results as results_of
from outcomebox.selection.episodes import SCHEMA
from outcomebox.selection.results import repetition_outcomes
from selection_rows import POLICY, probe_rows, row, sealed, write_rows

tries = st.lists(
    st.tuples(
        st.sampled_from(["a", "b:c", "é"]),
        st.integers(0, 2),
        st.integers(0, 3),
        st.sampled_from(["passed", "failed", "system_error"]),
    ),
    min_size=1,
    unique_by=lambda item: item[:3],
)
on_disk = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def rows_of(found: list[tuple[str, int, int, str]]) -> list[dict[str, Any]]:
    return [
        row(uid, repetition, word, **{"try": number}) for uid, repetition, number, word in found
    ]


@given(tries, st.randoms())
@on_disk
def test_results_match_a_plain_count_in_any_order(
    tmp_path: Path, found: list[tuple[str, int, int, str]], random: Any
) -> None:
    rows = rows_of(found)
    there = read_episodes([write_rows(tmp_path / "there.jsonl", rows)])
    random.shuffle(rows)
    cut = len(rows) // 2
    parts = [
        write_rows(tmp_path / "one.jsonl", rows[:cut]),
        write_rows(tmp_path / "two.jsonl", rows[cut:]),
    ]
    back = read_episodes(parts)
    assert back.digest == there.digest
    assert back.tasks == there.tasks
    assert results_of(back) == results_of(there)
    last: dict[tuple[str, int], tuple[int, str]] = {}
    for uid, repetition, number, word in found:
        if word != "system_error":
            last[uid, repetition] = max(last.get((uid, repetition), (-1, "")), (number, word))
    for result in results_of(there):
        mine = [item for item in found if item[0] == result.task.uid]
        clean = [word for (uid, _), (_, word) in last.items() if uid == result.task.uid]
        assert result.passes == clean.count("passed")
        assert result.clean_runs == len(clean)
        assert result.errored_runs == len({item[1] for item in mine}) - len(clean)
        assert result.system_errors == sum(item[3] == "system_error" for item in mine)
        assert result.tries == len(mine)
        assert result.superseded == result.tries - result.system_errors - result.clean_runs


@given(tries)
@on_disk
def test_a_later_error_changes_no_result(
    tmp_path: Path, found: list[tuple[str, int, int, str]]
) -> None:
    before = read_episodes([write_rows(tmp_path / "before.jsonl", rows_of(found))])
    errors = [(uid, repetition, 9, "system_error") for uid, repetition in {x[:2] for x in found}]
    after = read_episodes([write_rows(tmp_path / "after.jsonl", rows_of(found + errors))])
    outcomes = [
        repetition_outcomes(episodes.rows.lazy())
        .select("uid", "repetition", "outcome")
        .collect()
        .sort("uid", "repetition")
        for episodes in (before, after)
    ]
    assert outcomes[0].equals(outcomes[1])


def test_the_try_number_decides_in_a_frame_of_any_order() -> None:
    frame = pl.LazyFrame(
        [("a", 0, 2, "passed"), ("a", 0, 3, "system_error"), ("a", 0, 1, "failed")],
        schema=SCHEMA,
        orient="row",
    )
    assert repetition_outcomes(frame).collect()["outcome"].to_list() == ["passed"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "run" / "episodes.jsonl", probe_rows("a", "PF"))
    detour = tmp_path / "run" / ".." / "run" / "episodes.jsonl"
    assert read_episodes([path, path, detour]).rows.height == 2
    files = find_episode_files([str(tmp_path / "run"), str(tmp_path / "*" / "*.jsonl")])
    assert files == (path,)


@pytest.mark.parametrize("copies", [2, 3])
def test_byte_identical_rows_count_once_and_are_told(tmp_path: Path, copies: int) -> None:
    path = write_rows(tmp_path / "episodes.jsonl", [row("a", 1, "P")] * copies)
    once = read_episodes([write_rows(tmp_path / "once.jsonl", [row("a", 1, "P")])])
    episodes = read_episodes([path])
    assert (episodes.rows.height, episodes.repeated) == (1, copies - 1)
    assert episodes.digest == once.digest
    copied = read_episodes([path, write_rows(tmp_path / "copy.jsonl", [row("a", 1, "P")])])
    assert (copied.repeated, copied.digest) == (copies, once.digest)


@pytest.mark.parametrize("changes", [{"timing": {"total": 2.5}}, {"messages": []}])
def test_two_rows_of_one_key_are_refused_by_name(tmp_path: Path, changes: Any) -> None:
    rows = [row("a", 1, "P"), row("b", 1, "P"), row("a", 1, "P", **changes)]
    path = write_rows(tmp_path / "episodes.jsonl", rows)
    said = r'jsonl:3: .*\("a", 1, 0\) stands already at .*jsonl:1, and the two differ'
    with pytest.raises(InputError, match=said):
        read_episodes([path])


def test_the_same_key_in_two_files_is_refused(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "one.jsonl", [row("a", 0, "P")])
    two = write_rows(tmp_path / "two.jsonl", [row("a", 1, "P"), row("a", 0, "F")])
    with pytest.raises(InputError, match=r"two\.jsonl:2: .* stands already at .*one\.jsonl:1"):
        read_episodes([one, two])


def test_the_digest_is_sha256_over_what_decides(tmp_path: Path) -> None:
    rows = [row("b", 0, "P"), row("a", 1, "F"), row("a", 0, "E")]
    expected = hashlib.sha256()
    expected.update(b'{"name":"simulated","simulated":true,"skill":1.0}\n')
    for uid in "ab":
        listing = (
            f"""{{"uid":"{uid}","domain":"retail","family":"returns","tags":["two-systems"],"""
        )
        listing += f""""hash":"hash of {uid}","content":"content of {uid}"}}\n"""
        expected.update(listing.encode())
    for numbers in ((0, 0, 0, 2), (0, 1, 0, 1), (1, 0, 0, 0)):
        expected.update(struct.pack("<4i", *numbers))
    first = read_episodes([write_rows(tmp_path / "a.jsonl", rows)]).digest
    assert first == expected.hexdigest()
    changes: dict[str, Any]
    for changes in ({"timing": {"total": 99.0}}, {"messages": []}):
        same = [plain | changes for plain in rows]
        assert read_episodes([write_rows(tmp_path / "b.jsonl", same)]).digest == first
    for changes in ({"policy": None}, {"domain": "x"}, {"repetition": 7}):
        other = [*rows[:2], rows[2] | changes]
        if "policy" in changes or "domain" in changes:
            other = [plain | changes for plain in rows]
        assert read_episodes([write_rows(tmp_path / "c.jsonl", other)]).digest != first


def test_half_a_character_in_a_transcript_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    line = json.dumps(row("a", 0, "P", messages=[{"content": "\ud83d"}])).encode()
    path.write_bytes(line + b"\n")
    assert results_of(read_episodes([path]))[0].passes == 1


def test_a_damaged_line_is_refused_by_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    line = sealed(row("a", 0, "F")).replace(b'"failed"', b'"passed"')
    path.write_bytes(sealed(row("a", 1, "F")) + line)
    with pytest.raises(InputError, match=r"jsonl:2: checksum: does not fit"):
        read_episodes([path])


def test_rows_without_checksum_and_empty_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text("\n".join(json.dumps(plain) for plain in probe_rows("a", "PF")) + "\n\n")
    assert results_of(read_episodes([path]))[0].clean_runs == 2


def test_a_whole_last_line_without_line_end_counts(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(sealed(row("a", 0, "P")).rstrip(b"\n"))
    episodes = read_episodes([path])
    assert (episodes.rows.height, episodes.torn_lines) == (1, 0)


@pytest.mark.parametrize("fragment", [b'{"uid": "a", "repeti', b"12", b'"text"', b"\xc3"])
def test_a_fragment_is_torn_at_the_end_and_an_error_elsewhere(
    tmp_path: Path, fragment: bytes
) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(sealed(row("a", 0, "P")) + fragment)
    assert read_episodes([path]).torn_lines == 1
    path.write_bytes(fragment + b"\n" + sealed(row("a", 0, "P")))
    with pytest.raises(InputError, match=r"episodes\.jsonl:1: is no"):
        read_episodes([path])


def refused(tmp_path: Path, *rows: dict[str, Any]) -> InputError:
    with pytest.raises(InputError) as caught:
        read_episodes([write_rows(tmp_path / "episodes.jsonl", rows)])
    return caught.value


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"uid": 7}, "uid"),
        ({"uid": "\ud83d"}, "uid"),
        ({"domain": None}, "domain"),
        ({"family": ""}, "family"),
        ({"tags": "long"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"repetition": 1.5}, "repetition"),
        ({"repetition": True}, "repetition"),
        ({"repetition": 2**63}, "repetition"),
        ({"try": -1}, "try"),
        ({"versions": {}}, "versions.task"),
        ({"versions": None}, "versions.task"),
        ({"versions": {"task": "h", "content": 3}}, "versions.content"),
        ({"verdict": None}, "verdict.outcome"),
        ({"verdict": {"outcome": "Passed"}}, "verdict.outcome"),
    ],
)
def test_a_row_off_the_contract_is_refused(
    tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text(json.dumps(row("a", 0, "P")) + "\n" + json.dumps(row("a", 1, "P") | changes))
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(InputError) as caught:
        read_episodes([path])
    assert caught.value.field == field
    assert caught.value.where == f"{path}:2"


def test_a_number_that_json_lacks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text(json.dumps(row("a", 0, "P", score=float("nan"))) + "\n")
    with pytest.raises(InputError, match="NaN is no JSON number"):
        read_episodes([path])


def test_two_versions_of_one_task_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, row("a", 0, "P"), row("a", 1, "P", versions={"task": "other"}))
    assert error.field == "versions.task"
    assert '"other" here and "hash of a" at' in error.problem
    assert refused(tmp_path, row("a", 0, "P"), row("a", 1, "P", domain="travel")).field == "domain"


def test_two_policies_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, row("a", 0, "P"), row("b", 0, "P", policy=POLICY | {"skill": 2.0}))
    assert error.field == "policy"
    assert "relative to one policy" in error.mend


def test_ids_that_differ_in_unicode_form_only_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, row("caf\u00e9", 0, "P"), row("cafe\u0301", 0, "P"))
    assert "differ in Unicode form only" in error.problem
    assert r"'caf\xe9'" in error.problem


def test_no_rows_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(b"")
    with pytest.raises(InputError, match="holds no complete row"):
        read_episodes([path])
    with pytest.raises(InputError, match="cannot be read"):
        read_episodes([tmp_path / "absent.jsonl"])
    with pytest.raises(InputError, match="matches no file"):
        find_episode_files([str(tmp_path / "absent*")])
    with pytest.raises(InputError, match="matches no file"):
        find_episode_files([str(tmp_path / "episodes.jsonl" / "x")])


def test_a_task_of_errors_alone_is_there_without_a_clean_run(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "episodes.jsonl", probe_rows("a", "EE") + probe_rows("b", "P"))
    episodes = read_episodes([path])
    assert results_of(episodes)[0] == TaskResult(episodes.tasks[0], 0, 0, 2, 2, 2, 0)
