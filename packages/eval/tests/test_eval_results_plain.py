"""The two ways of reading a row of ours agree: passed over but for its columns, and as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from outcomebox.eval.reading import episodes
from outcomebox.eval.reading.episodes import plain_columns
from outcomebox.eval.reading.lines import check_seal, parse
from outcomebox.eval.reading.ours import columns_of
from outcomebox.eval.reading.values import Place
from outcomebox.eval.results import read_results
from outcomebox.reward.rows import seal
from outcomebox.sandbox.errors import InputError
from result_rows import row, run_folder

PLACE = Place(Path("episodes.jsonl"), 1)
STOPPED = frozenset({"stopped"})

odd: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, False, "", " ", "\u2003", "é", "\ud800", "a\ud800", "stopped", "passed"),
        *(0, -1, 1, 7, 2**31 - 1, 2**31, 2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**400),
        *(0.0, -0.0, 1.0, 1.5, 1e-320, 1e308, -2.5, float("nan"), float("inf")),
        *([], {}, [None], [1], ["x"], [{}], [[]], {"x": 1}, {"role": "tool"}, {"kind": "x"}),
        *({"prompt": 3}, {"prompt": None}, {"completion": 2.0, "more": 1}, {"model": "other"}),
        *({"cached_tokens": 5, "reasoning_tokens": 1}, {"m": {"model": 1}}, {"policy": {}}),
        {"s": {"initial_db_state": 2**64, "result_db_state": 2**64 + 1}},
        {"s": {"initial_db_state": [1], "result_db_state": [1]}},
    ]
).map(deepcopy)
"""Values that some field takes and another does not, or takes as another one."""
names = st.sampled_from(
    [
        *("uid", "try", "error", "effects", "traffic", "usage", "judge", "user", "policy", "tool"),
        *("role", "is_error", "direct_response", "kind", "model", "prompt", "started", "grade"),
        *("cached_tokens", "task", "packages", "phase", "type", "score", "outcome", "more"),
    ]
)


def inner(value: Any) -> Iterator[Any]:
    """A value and all in it that has something in it."""
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from inner(each)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A row with something put in, taken out or replaced, perhaps several times."""
    outcome = draw(st.sampled_from(["passed", "failed", "system_error"]))
    made: dict[str, Any] = json.loads(json.dumps(row("move", draw(st.integers(0, 99)), outcome)))
    for _ in range(draw(st.integers(0, 3))):
        # The row itself as often as all that is in it: its own fields are what is looked at.
        target = draw(st.sampled_from([made, *inner(made)]) | st.just(made))
        keys: list[Any] = list(target if isinstance(target, dict) else range(len(target)))
        key = draw(st.sampled_from(keys) if keys else st.nothing() | st.none())
        change = draw(st.sampled_from(["replace", "replace", "take", "put"]))
        if change == "put" or key is None:
            if isinstance(target, dict):
                target[draw(names)] = draw(odd)
            else:
                target.append(draw(odd))
        elif change == "take":
            del target[key]
        else:
            target[key] = draw(odd)
    return made


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line of a file: as runs write it, written in another way, or damaged."""
    made = draw(mutated())
    way = draw(st.sampled_from(["sealed", "sealed", "escaped", "twice", "bytes", "torn"]))
    line = seal(made)
    if way == "escaped":
        return json.dumps(made, ensure_ascii=True).encode() + b" \r\n"
    if way == "twice":
        first = json.dumps({draw(names): draw(odd)}).encode()
        return first[:-1] + b"," + json.dumps(made).encode()[1:] + b"\n"
    if way == "bytes":
        at, end = draw(st.integers(0, len(line))), draw(st.integers(0, 3))
        bad = draw(
            st.sampled_from([b"", b"\xff", b"\xed\xa0\x80", b"\x00", b'"', b"\\u0061", b"0"])
        )
        return line[:at] + bad + line[at + end :]
    return line[: draw(st.integers(0, len(line)))] if way == "torn" else line


def whole(line: bytes) -> dict[str, Any] | str:
    """The columns of a line that is read as a whole, or what is wrong with it."""
    try:
        found = parse(line, PLACE)
        return "torn" if found is None else columns_of(found, PLACE, stopped=STOPPED)
    except InputError as error:
        return str(error)


def typed(columns: dict[str, Any] | str) -> Any:
    """Columns with their types, for True is not 1 in a table."""
    if isinstance(columns, str):
        return columns
    return {name: (type(value), value) for name, value in columns.items()}


@settings(max_examples=400, deadline=None)
@given(lines())
@example(seal({**row("a", 0), "more": "\ud800", "policy": {"n": 2**64}}))
@example(seal({**row("a", 0), "effects": {"s": {"initial_db_state": 2**64}}}))
@example(seal(row("a", 0)).replace(b"please", b"pl\xffase"))
@example(b'{"\\u0075id":"b",' + json.dumps(row("a", 0)).encode()[1:])
@example(json.dumps(row("a", 0)).replace('"uid"', '"\\\\u0075id"').encode())
def test_both_ways_find_the_same_columns(line: bytes) -> None:
    found = plain_columns(line, stopped=STOPPED)
    with suppress(InputError):
        check_seal(line, PLACE)  # before both
        assert found is None or typed(found) == typed(whole(line))


@pytest.mark.parametrize("outcome", ["passed", "failed", "system_error"])
def test_what_runs_write_is_not_read_as_a_whole(outcome: str) -> None:
    for uid in ("a", "stopped", "größer"):
        for more in (
            {},
            {"usage": {"policy": {"prompt": 5}, "user": {"prompt": 1, "completion": 0}}},
            {"traffic": {"policy": {"cached_tokens": 900, "reasoning_tokens": 3, "tries": 2}}},
            {"effects": {"s": {"initial_db_state": "a", "result_db_state": "b"}}, "changes": None},
            {"messages": None, "timing": None, "versions": None, "usage": None, "policy": None},
        ):
            line = seal(row(uid, 0, outcome, **more))
            found = plain_columns(line, stopped=STOPPED)
            assert found is not None
            assert typed(found) == typed(whole(line))


def told(folder: Path) -> tuple[Any, ...]:
    """What reading a run's folder comes to: all of it, or the error."""
    try:
        found = read_results([str(folder)])
    except InputError as error:
        return (str(error),)
    places = None if found.places is None else found.places.to_dicts()
    return found.attempts.to_dicts(), places, found.source, found.notes


@settings(max_examples=60, deadline=None)
@given(st.lists(lines(), min_size=1, max_size=3), st.lists(mutated(), max_size=2))
def test_both_ways_read_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, odd_ones: list[bytes], rows: list[dict[str, Any]]
) -> None:
    folder = run_folder(tmp_path_factory.mktemp("run"), [row("a", 0), *rows, row("b", 1)])
    with (folder / "episodes.jsonl").open("ab") as file:
        file.writelines(odd_ones)
    found = told(folder)
    with patch.object(episodes, "plain_columns", lambda *_, **__: None):
        assert found == told(folder)
