"""Task files and domains: what is read, and one clear error for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from outcomebox.sandbox import InputError, Task, domain_image, load_domain, load_tasks
from outcomebox.sandbox.taskschema import schema_text, task_file_schema
from shelf_domain import FOLDER

GOOD: dict[str, Any] = {
    "uid": "shelf/x/1",
    "query": "Move it.",
    "golden": [{"tool": "move_box", "arguments": {"box_id": "B-008", "shelf_id": "S-2"}}],
    "expect": {"boxes": {"update": [{"key": {"box_id": "B-008"}, "set": {"shelf_id": "S-2"}}]}},
}


def write(folder: Path, *tasks: Any, **top: Any) -> Path:
    """A task file beside the shelf domain's files."""
    for name in ("domain.yaml", "schema.sql", "seed.sql", "policy.md", "server.py"):
        (folder / name).write_text((FOLDER / name).read_text())
    (folder / "tasks").mkdir(exist_ok=True)
    file = folder / "tasks" / "t.yaml"
    file.write_text(yaml.safe_dump({"domain": "shelf", "family": "x", "tasks": [*tasks], **top}))
    return file


def test_a_folder_with_a_domain_brings_its_own_tasks_and_domain() -> None:
    tasks = load_tasks([str(FOLDER)])
    assert [task.uid for task in tasks.tasks] == [
        *("shelf/move/1", "shelf/move/2", "shelf/move/3"),
        *("shelf/sort/1", "shelf/sort/2", "shelf/sort/3"),
    ]
    assert tasks.domain(tasks.tasks[0]).folder == FOLDER
    assert tasks.tasks[2].read_only
    again = load_tasks([str(FOLDER / "tasks" / "move.yaml"), str(FOLDER)])
    assert again.tasks == tasks.tasks


def test_a_task_whose_end_is_still_to_be_written_is_read_as_a_draft(tmp_path: Path) -> None:
    draft = {name: GOOD[name] for name in ("uid", "query", "golden")}
    done = {**GOOD, "uid": "shelf/x/2"}
    file = write(tmp_path, {**draft, "tags": ["mine"]}, done)
    with pytest.raises(InputError, match="expect: is missing"):
        load_tasks([str(file)])
    tasks = load_tasks([str(file)], drafts=True)
    one, two = tasks.tasks
    assert one.expect == {}
    assert one.tags == ("mine", "no-change")
    assert two == Task.model_validate({"domain": "shelf", "family": "x", **done})
    assert tasks.files == {"shelf/x/1": file.resolve(), "shelf/x/2": file.resolve()}


def test_init_adds_changes_and_removes_rows(tmp_path: Path) -> None:
    init = {
        "boxes": {
            "insert": [{"box_id": "B-020", "shelf_id": "S-3", "weight": 1, "note": "mine"}],
            "update": [{"key": {"box_id": "B-008"}, "set": {"weight": 9}}],
            "delete": [{"key": {"box_id": "B-009"}}],
        },
        "shelves": {"insert": [{"shelf_id": "S-3", "label": "top"}]},
    }
    file = write(tmp_path, {**GOOD, "init": init})
    tasks = load_tasks([str(file)])
    rows = tasks.image(tasks.tasks[0]).state.rows("boxes")
    assert sorted((row["box_id"], row["weight"]) for row in rows) == [("B-008", 9), ("B-020", 1)]
    # The domain's own image is as it was.
    assert len(domain_image(load_domain(FOLDER)).state.rows("boxes")) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"uid": "has space"}, ["tasks.0.uid", "has space"]),
        ({"surprise": 1}, ["shelf/x/1", "surprise", "unknown field"]),
        ({"query": ""}, ["shelf/x/1", "query"]),
        ({"query": None}, ["shelf/x/1", "query", "string"]),
        ({"expect": {}}, ["shelf/x/1", "add the tag no-change"]),
        ({"tags": ["no-change"]}, ["shelf/x/1", "take out one"]),
        ({"limits": {"turns": 0}}, ["shelf/x/1", "limits.turns", "greater than or equal to 1"]),
        ({"golden": [{"arguments": {}}]}, ["shelf/x/1", "golden.0.tool", "is missing"]),
        ({"domain": "nowhere"}, ["shelf/x/1", "domain", "no such domain", "retail"]),
        (
            {"user_context": {"replies": [{"say": "x", "when": "("}]}},
            ["user_context.replies.0.when", "regular expression"],
        ),
        ({"expect": {"crates": GOOD["expect"]["boxes"]}}, ["expect.crates", "boxes, shelves"]),
        (
            {"expect": {"boxes": {"insert": [{"box_id": "B-1", "colour": "red"}]}}},
            ["expect.boxes.insert.0", "no column colour", "weight"],
        ),
        (
            {"expect": {"boxes": {"update": [{"key": {"weight": 3}, "set": {"note": "x"}}]}}},
            ["expect.boxes.update.0.key", "(box_id)"],
        ),
        (
            {"expect": {"boxes": {"insert": [{"note": {"$regex": "x"}}]}}},
            ["$regex", "{$pattern: ..}"],
        ),
        (
            {"init": {"boxes": {"insert": [{"box_id": "B-9", "shelf_id": "S-1", "weight": -1}]}}},
            ["init.boxes.insert.0", "CHECK constraint failed"],
        ),
        (
            {"init": {"boxes": {"insert": [{"box_id": "B-9", "shelf_id": "S-7", "weight": 1}]}}},
            ["init", "refers to a row of shelves that is not there"],
        ),
        (
            {"init": {"boxes": {"update": [{"key": {"box_id": "B-7"}, "set": {"weight": 1}}]}}},
            ["init.boxes.update.0.key", "no such row"],
        ),
        ({"init": {"crates": {"insert": [{"a": 1}]}}}, ["init.crates", "boxes, shelves"]),
        ({"ignore": {"boxes": {"colour": "why"}}}, ["ignore.boxes", "no column colour"]),
        ({"ignore": {"crates": {"colour": "why"}}}, ["ignore.crates", "boxes, shelves"]),
        ({"ignore": {"boxes": {"*": "why"}}}, ["expect.boxes", "which is ignored in full"]),
        (
            {"accept_also": [{"name": "none", "expect": {}}]},
            ["accept_also.0.expect", "an agent that does nothing would pass"],
        ),
        (
            {"accept_also": [{"name": "other", "expect": {"Boxes": GOOD["expect"]["boxes"]}}]},
            ["accept_also.0.expect.Boxes", "write boxes, with case as declared"],
        ),
        (
            {"expect": {"boxes": {"insert": [{"weight": 1}]}}},
            ["expect.boxes.insert.0", "key column box_id", "{$id: label}"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_its_mend(
    tmp_path: Path, change: dict[str, Any], words: list[str]
) -> None:
    file = write(tmp_path, {**GOOD, **change})
    with pytest.raises(InputError) as caught:
        load_tasks([str(file)])
    message = str(caught.value)
    for word in words:
        assert word in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tasks: [", "not valid YAML: line"),
        ("tasks: []\n", "at least 1 item"),
        ("[]\n", "is not a task file"),
        ("tasks:\n- {uid: a, uid: b}\n", "the key 'uid' stands twice"),
        ("tasks:\n- {1: a}\n", "the key 1 is not text"),
        ("\tx", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_task_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_tasks([str(file)])
    assert str(file) in str(caught.value)
    assert words in str(caught.value)


def test_values_in_yaml_are_not_guessed_at(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "tasks" / "t.yaml"
    file.write_text(
        "domain: shelf\nfamily: x\ntasks:\n- uid: shelf/x/1\n  query: no\n"
        "  golden:\n  - {tool: t, arguments: {a: 2026-03-02, b: 12:30, c: yes, d: 010, e: 1e3, "
        "f: true, g: ~, h: 1_000}}\n"
        "  expect: {}\n  tags: [no-change]\n"
    )
    (task,) = load_tasks([str(file)]).tasks
    assert task.query == "no"
    assert task.golden[0].arguments == {
        "a": "2026-03-02",
        "b": "12:30",
        "c": "yes",
        "d": 10,
        "e": 1000.0,
        "f": True,
        "g": None,
        "h": "1_000",
    }


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("no/such/folder", "no such file or folder"),
        ("missing.yaml", "no such file or folder"),
        ("nowhere", "known are desk, retail, travel"),
    ],
)
def test_a_selector_that_names_nothing_says_what_there_is(selector: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_tasks([selector])


def test_a_uid_stands_once(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    write(first, GOOD)
    write(second, GOOD)
    with pytest.raises(InputError, match=r"stands in .* too"):
        load_tasks([str(first), str(second)])
    file = write(first, GOOD, GOOD)
    with pytest.raises(InputError, match="uid"):
        load_tasks([str(file)])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "schema.sql",
            (FOLDER / "schema.sql").read_text() + "CREATE TABLE t(a TEXT);",
            "primary key",
        ),
        ("schema.sql", "CREATE TABLE t(;", "the SQL fails"),
        ("seed.sql", "INSERT INTO boxes VALUES ('B', 'S-9', 1, NULL);", "FOREIGN KEY"),
        (
            "domain.yaml",
            "name: shelf\ntitle: x\nnow: yesterday\nserver: {file: server.py}\n",
            "now",
        ),
        (
            "domain.yaml",
            "name: shelf\ntitle: x\nnow: 2026-01-01T00:00:00\nserver: {file: s.py}\n",
            "Z",
        ),
        (
            "domain.yaml",
            "name: shelf\ntitle: x\nnow: 2026-01-01T00:00:00Z\nserver: {}\n",
            "exactly one",
        ),
    ],
)
def test_a_domain_that_is_wrong_is_refused(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    write(tmp_path, GOOD)
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words):
        load_tasks([str(tmp_path / "tasks")])


def test_the_hash_of_a_task_is_its_content() -> None:
    task = Task.model_validate({**GOOD, "domain": "shelf", "family": "x"})
    same = Task.model_validate(json.loads(task.model_dump_json(by_alias=True)))
    other = task.model_copy(update={"query": "Move it, please."})
    assert task.hash == same.hash
    assert task.hash != other.hash


def test_the_shipped_schema_is_the_current_one_and_takes_the_task_files() -> None:
    shipped = Path(__file__).parents[1] / "src" / "outcomebox" / "sandbox" / "task.schema.json"
    assert shipped.read_text() == schema_text(), "renew it: python -m outcomebox.sandbox.taskschema"
    validator = jsonschema.Draft202012Validator(task_file_schema())
    good = yaml.safe_load((FOLDER / "tasks" / "move.yaml").read_text())
    validator.validate(good)
    good["tasks"][0]["expect"] = {"boxes": {"update": [{"key": {}}]}}
    assert not validator.is_valid(good)
