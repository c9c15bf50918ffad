"""Blocks as text: the YAML that is written, and where it goes in a task file."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.derive.deriving import derive_tasks
from outcomebox.reward.derive.present import merge
from outcomebox.reward.derive.render import WIDTH, render_block, write_value
from outcomebox.reward.derive.rows import draft_expect, expect_of, plain_block
from outcomebox.reward.derive.source import TaskSource
from outcomebox.sandbox import InputError, load_tasks, read_task_file
from outcomebox.sandbox._yaml import load_yaml
from reward_goldens import LENDING, bundled, lending

TASK = """\
# Above.
domain: lending
tasks:
  - uid: a
    query: "Hi"   # beside
    golden:
      - {tool: find_member, arguments: {email: x}}   # last of golden

    # about tags
    tags: [one]
  - query: "Ho"
    uid: b
    expect:
      # about loans
      loans:
        update:
          # about LN-7
          - {key: {loan_id: LN-7}, set: {status: ended}}  # ended
          - key: {loan_id: LN-8}
            set: {status: "ended"}

    # Behind.
    tags: []
"""
NEW = ["    expect: {}"]

ODD = ["", "null", "no", "1", "1.5", "2026-03-02", "12:30", "~", "a: b", "a #b", "- a", "{$id"]
ODD += [
    "Yes",
    "x\u2028y",
    "\ufeff",
    "\x85",
    "\x7f",
    "it's",
    '\\d+"',
    r"\bRFD-1\b",
    "a,b",
    "[x]",
    "\t",
]
texts = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(ODD)
scalars = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(values)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    file = tmp_path_factory.getbasetemp() / "value.yaml"
    file.write_text(f"tasks:\n  - {{a: {write_value(value)}}}\n", encoding="utf-8", newline="")
    assert load_yaml(file) == {"tasks": [{"a": value}]}


def test_every_bundled_block_is_read_back_as_it_was_derived(tmp_path: Path) -> None:
    _, runs = bundled()
    file = tmp_path / "block.yaml"
    for task, run in runs:
        draft = draft_expect(task, run)
        file.write_text("\n".join(render_block(draft.rows, indent=0)) + "\n", encoding="utf-8")
        assert load_yaml(file) == {"expect": draft.plain()}


def source(tmp_path: Path, text: str = TASK) -> TaskSource:
    """A task file with a text."""
    file = tmp_path / "tasks.yaml"
    file.write_bytes(text.encode())
    return TaskSource.read(file)


def test_a_first_block_goes_behind_golden(tmp_path: Path) -> None:
    found = source(tmp_path).with_block("a", NEW)
    line = "      - {tool: find_member, arguments: {email: x}}   # last of golden\n"
    assert found.text == TASK.replace(line, line + "    expect: {}\n")


def test_a_block_is_replaced_line_by_line_and_what_is_around_stays(tmp_path: Path) -> None:
    found = source(tmp_path).with_block("b", NEW)
    start, end = TASK.index("    expect:"), TASK.index("\n    # Behind.")
    assert found.text == TASK[:start] + "    expect: {}\n" + TASK[end:]


def test_rows_are_found_with_their_comments(tmp_path: Path) -> None:
    given_file = source(tmp_path)
    assert given_file.row_texts(given_file.place("b")) == {
        ("loans", "update", 0): [
            "          # about LN-7",
            "          - {key: {loan_id: LN-7}, set: {status: ended}}  # ended",
        ],
        ("loans", "update", 1): [
            "          - key: {loan_id: LN-8}",
            '            set: {status: "ended"}',
        ],
    }


@pytest.mark.parametrize("text", [TASK.replace("\n", "\r\n"), TASK.rstrip("\n")])
def test_line_ends_stay_as_they_are(tmp_path: Path, text: str) -> None:
    ending = "\r\n" if "\r" in text else "\n"
    for uid in "ab":
        found = source(tmp_path, text).with_block(uid, NEW).text
        assert found.count("    expect: {}" + ending) == 1
        assert ("\r" in found.replace("\r\n", "")) is False
        assert found.endswith("\n") == text.endswith("\n")


def test_a_block_at_the_very_end_of_a_file_without_a_last_line_end(tmp_path: Path) -> None:
    text = "tasks:\n  - uid: a\n    golden:\n      - {tool: t}"
    assert source(tmp_path, text).with_block("a", NEW).text == text + "\n    expect: {}\n"


def test_line_separators_inside_text_do_not_shift_lines(tmp_path: Path) -> None:
    text = TASK.replace('"Hi"', '"H\u2028\u0085i"')
    found = source(tmp_path, text).with_block("b", NEW).text
    start, end = text.index("    expect:"), text.index("\n    # Behind.")
    assert found == text[:start] + "    expect: {}\n" + text[end:]


def test_every_bundled_block_put_back_leaves_its_file_byte_for_byte() -> None:
    tasks = load_tasks()
    read = {file: TaskSource.read(file) for file in set(tasks.files.values())}
    for task in tasks.tasks:
        given_file = read[tasks.files[task.uid]]
        place = given_file.place(task.uid)
        block = [line.rstrip("\n") for line in given_file.lines[place.start : place.end]]
        assert block[0].startswith("    expect:")
        assert given_file.with_block(task.uid, block).data == given_file.text.encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tasks: [{uid: a, golden: []}]\n", "is written in braces"),
        ("tasks:\n  - uid: a\n    expect: &end\n      x: {}\n", "shares its line"),
        ("tasks:\n  - uid: c\n", "is not in this file any more"),
    ],
)
def test_a_task_that_lines_cannot_be_put_into_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as error:
        source(tmp_path, text).with_block("a", NEW)
    assert error.value.task == "a"
    assert str(error.value).startswith(str(tmp_path / "tasks.yaml"))


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    new = source(tmp_path).with_block("a", NEW)
    new.file.write_text(TASK + "# more\n", encoding="utf-8")
    with pytest.raises(InputError, match="changed while it was looked at"):
        new.write(lambda _: None)
    assert new.file.read_text(encoding="utf-8") == TASK + "# more\n"
    assert [path.name for path in tmp_path.iterdir()] == ["tasks.yaml"]


def test_a_new_file_that_does_not_please_is_not_put_in_place(tmp_path: Path) -> None:
    new = source(tmp_path).with_block("a", NEW)

    def refuse(file: Path) -> None:
        assert file.read_text(encoding="utf-8") == new.text
        raise InputError("no", file=file)

    with pytest.raises(InputError, match="no"):
        new.write(refuse)
    assert new.file.read_text(encoding="utf-8") == TASK
    assert [path.name for path in tmp_path.iterdir()] == ["tasks.yaml"]


def test_a_file_is_replaced_with_its_mode_and_through_links(tmp_path: Path) -> None:
    real = source(tmp_path).file
    real.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(real)
    TaskSource.read(link).with_block("a", NEW).write(lambda _: None)
    assert link.is_symlink()
    assert "expect: {}" in real.read_text(encoding="utf-8")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_unchanged_rows_keep_their_text_and_new_ones_are_at_most_so_wide(tmp_path: Path) -> None:
    task, run = lending()[1]["loans/two"]
    draft = draft_expect(task, run)
    rows = [line for line in render_block(draft.rows) if "$rubric" not in line]
    assert max(map(len, rows)) <= WIDTH
    assert render_block(draft.rows) == render_block(draft_expect(task, run).rows)
    given_file = TASK.replace("          # about LN-7\n", "")
    odd = "    expect:\n      loans:\n        update:\n          - set:   {status: ended,\n"
    odd += "              ended_by: {$id: loan2}}  # odd\n            key: {loan_id: LN-7}\n"
    start, end = given_file.index("    expect:"), given_file.index("\n    # Behind.")
    found = source(tmp_path, given_file[:start] + odd + given_file[end:])
    place = found.place("b")
    present = {"loans": {"update": [{"key": {"loan_id": "LN-7"}, "set": {
        "status": "ended", "ended_by": {"$id": "loan2"}}}]}}  # fmt: skip
    old = task.model_copy(update={"expect": expect_of(present)})
    merged = merge(old, run.state, draft)
    lines = render_block(merged.rows, places=merged.places, texts=found.row_texts(place))
    assert "\n".join(odd.splitlines()[3:6]) in "\n".join(lines)


@pytest.mark.anyio
async def test_written_blocks_load_and_a_second_time_nothing_changes(tmp_path: Path) -> None:
    for name in ("domain.yaml", "policy.md", "schema.sql", "seed.sql", "server.py"):
        (tmp_path / name).write_bytes((LENDING / name).read_bytes())
    (tmp_path / "tasks").mkdir()
    files = [tmp_path / "tasks" / name for name in ("loans.yaml", "quirks.yaml", "broken.yaml")]
    before = {}
    for file in files:
        before[file] = (LENDING / "tasks" / file.name).read_bytes()
        file.write_bytes(before[file])
    done = await derive_tasks(load_tasks([str(tmp_path)], drafts=True), in_process=True)
    assert sorted(done.write()) == sorted(files[:2])
    assert files[2].read_bytes() == before[files[2]]
    for file in files[:2]:
        lines = file.read_bytes().splitlines(keepends=True)
        old = before[file].splitlines(keepends=True)
        assert [line for line in lines if line in old] == old
    tasks = load_tasks([str(file) for file in files[:2]])
    assert all(task.expect or task.read_only for task in tasks.tasks)
    assert read_task_file(files[0])[0].uid == "lending/loans/two"
    again = await derive_tasks(tasks, in_process=True)
    assert {each.status for each in again.tasks} == {"same"}
    assert not any(each.reviews for each in again.tasks)
    assert again.write() == []
    assert plain_block(again.tasks[0].rows) == {}


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"
