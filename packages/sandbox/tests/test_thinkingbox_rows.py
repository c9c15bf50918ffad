"""Hydrated rows: what is written is read back as the same tasks, in the format's own layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import InputError
from outcomebox.sandbox.thinkingbox import (
    ThinkingBoxTask,
    dump_jsonl,
    hydrate_jsonl,
    load_thinkingbox,
)

SMALL = Path(__file__).parent / "thinkingbox_small"

# The fields of a row, written down from the format and not from our models.
ROW: dict[str, Any] = {
    "uid": "a.py:b",
    "agent": {
        "system_instructions": "Help.",
        "builtin_tools": [
            {
                "name": "stop",
                "description": "Stop.",
                "input_schema": {"type": "object"},
                "direct_response": None,
                "is_end_turn": True,
            }
        ],
    },
    "scenario": {
        "world_state": {"s": {"list": [1]}},
        "tools": [
            {
                "name": "t",
                "override_description": None,
                "override_arg_description": {"x": "y"},
                "direct_response": None,
                "is_end_turn": False,
            }
        ],
        "bot_instructions": None,
        "tags": {"labels": [], "category": [], "domain": "d", "eval_type": None, "skip": False},
        "fixtures": {"f": {"type": "p.F", "k": 1}},
        "metadata": {},
    },
    "history": [{"T": "Text", "metadata": {}, "role": "user", "content": "Hi"}],
    "query": "Q",
    "test_code": "",
    "bot_instructions": None,
    "user_context": None,
    "max_user_sim_turns": 10,
    "max_agent_sim_turns": 9223372036854775807,
    "init": {"s": {"list": [2]}},
    "format_query": True,
    "metadata": {
        "scenario": "sc",
        "agent": "ag",
        "test_case_file": "/somewhere/a.py",
        "test_case_name": "b",
    },
    "tags": {"labels": ["l"], "category": ["c"], "domain": "d", "eval_type": "e", "skip": False},
    "fixtures": {"f": {"type": "p.F", "k": 1}},
}


def read(tmp_path: Path, *lines: str) -> tuple[ThinkingBoxTask, ...]:
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(lines))
    return hydrate_jsonl(file)


def test_the_layout_of_a_row(tmp_path: Path) -> None:
    (task,) = read(tmp_path, json.dumps(ROW))
    assert (task.agent.name, task.scenario.name, task.name) == ("ag", "sc", "b")
    assert task.file == "/somewhere/a.py"
    assert task.servers == {"s": {"list": [1, 2]}}
    assert task.tools[0].argument_descriptions == {"x": "y"}
    assert json.loads(dump_jsonl([task])) == ROW
    assert list(json.loads(dump_jsonl([task]))) == list(ROW)


def test_what_may_be_left_out_of_a_row(tmp_path: Path) -> None:
    agent = {"system_instructions": "", "builtin_tools": []}
    scenario: dict[str, Any] = {"world_state": {}, "tools": []}
    short = {"uid": "a.py:b", "agent": agent, "scenario": scenario, "query": "", "test_code": ""}
    (task,) = read(tmp_path, "", json.dumps({**short, "unknown": 1}), "")
    assert (task.name, task.file, task.family, task.history) == ("b", "a.py", "", None)
    assert hydrate_jsonl(tmp_path / "rows.jsonl") == read(tmp_path, dump_jsonl([task]))


def test_the_small_dataset_comes_back(tmp_path: Path) -> None:
    tasks = load_thinkingbox(SMALL, [str(SMALL / "test_case"), "loans_basic.py:on_hold"])
    again = read(tmp_path, dump_jsonl(tasks))
    assert again == tasks
    assert [task.hash for task in again] == [task.hash for task in tasks]
    assert [task.servers for task in again] == [task.servers for task in tasks]


TEXT = st.text(max_size=10)
NAME = st.text(min_size=1, max_size=8)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(NAME, JSON, max_size=3)
FIXTURES = st.dictionaries(
    NAME, st.builds(lambda more: {**more, "type": "a.b"}, OBJECT), max_size=2
)
TAGS = st.fixed_dictionaries(
    {
        "labels": st.lists(TEXT, max_size=2),
        "category": st.lists(TEXT, max_size=2),
        "domain": st.none() | TEXT,
        "eval_type": st.none() | TEXT,
        "skip": st.booleans(),
    }
)


def message(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"T": st.just(kind), **fields})


CALL = message("ToolCall", name=TEXT, arguments=OBJECT, id=TEXT)
MESSAGE = (
    message("Text", role=st.sampled_from(["user", "assistant", "system"]), content=TEXT)
    | CALL
    | message("ParallelToolCall", tool_calls=st.lists(CALL, max_size=2))
    | message("ToolResponse", name=TEXT, content=TEXT, id=TEXT)
)
ROWS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "uid": NAME,
        "agent": st.fixed_dictionaries({"system_instructions": TEXT, "builtin_tools": st.just([])}),
        "scenario": st.fixed_dictionaries(
            {
                "world_state": st.dictionaries(NAME, OBJECT, max_size=2),
                "tools": st.lists(
                    st.fixed_dictionaries({"name": TEXT, "override_description": st.none() | TEXT}),
                    max_size=2,
                ),
                "bot_instructions": st.none() | TEXT,
                "tags": TAGS,
                "fixtures": FIXTURES,
                "metadata": OBJECT,
            }
        ),
        "history": st.none() | st.lists(MESSAGE, max_size=3),
        "query": TEXT,
        "test_code": TEXT,
        "bot_instructions": st.none() | TEXT,
        "user_context": st.none() | TEXT,
        "max_user_sim_turns": st.integers(0, 99),
        "max_agent_sim_turns": st.integers(0, 2**63 - 1),
        "init": st.dictionaries(NAME, OBJECT, max_size=2),
        "format_query": st.booleans(),
        "metadata": st.fixed_dictionaries({"agent": TEXT, "scenario": TEXT, "more": JSON}),
        "tags": TAGS,
        "fixtures": FIXTURES,
    }
)


@settings(max_examples=80, deadline=None)
@given(st.lists(ROWS, max_size=3, unique_by=lambda row: str(row["uid"])))
def test_any_tasks_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("rows")
    tasks = read(folder, *(json.dumps(row) for row in rows))
    assert [task.uid for task in tasks] == [row["uid"] for row in rows]
    text = dump_jsonl(tasks)
    again = read(folder, text)
    assert again == tasks
    assert dump_jsonl(again) == text
    for row, line in zip(rows, text.split("\n"), strict=False):
        written = json.loads(line)
        for field in ("query", "init", "metadata", "tags", "fixtures", "max_agent_sim_turns"):
            assert written[field] == row[field]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"query": 1}, "query: "),
        ({"agent": {}}, r"agent\.system_instructions: is missing"),
        ({"history": [{"T": "Song"}]}, "history: message 0"),
        ({"history": "all"}, "history: must be a list of messages"),
        ({"fixtures": {"f": {}}}, r"fixtures\.f: .* needs a `type`"),
        ({"fixtures": {"f": {"type": "F"}}}, r"fixtures\.f: .* names no module"),
        ({"init": {"s": [1]}}, r"init\.s: "),
        ({"init": {"s": {}, "t": None}}, r"init\.t: "),
        ({"max_agent_sim_turns": -1}, "max_agent_sim_turns: "),
        ({}, r"a\.py:b: this uid stands in an earlier line too"),
    ],
)
def test_a_wrong_field_is_told_by_its_line(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=rf"rows\.jsonl:2: {told}"):
        read(tmp_path, json.dumps(ROW), json.dumps({**ROW, **change}))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "not a line of JSON"),
        ("[1]", "must be a JSON object"),
        ('{"uid": NaN}', "not a line of JSON: NaN is no JSON number"),
    ],
)
def test_a_line_that_is_no_row(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(InputError, match=rf"rows\.jsonl:2: {told}"):
        read(tmp_path, json.dumps(ROW), line)
