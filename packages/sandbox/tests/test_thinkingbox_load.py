"""What a task of the ThinkingBox form holds, on a small dataset of our own."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outcomebox.sandbox import InputError
from outcomebox.sandbox.thinkingbox import (
    TEST_FUNCTION,
    UNLIMITED,
    ThinkingBoxTask,
    load_thinkingbox,
)

SMALL = Path(__file__).parent / "thinkingbox_small"
LOANS = SMALL / "test_case/loans/loans_basic.py"


def one(selector: str, agent: str = "think") -> ThinkingBoxTask:
    (task,) = load_thinkingbox(SMALL, [selector], agent=agent)
    return task


@pytest.fixture(scope="module")
def lend() -> ThinkingBoxTask:
    return one("loans_basic.py:lend_one")


def test_a_task_knows_where_it_comes_from(lend: ThinkingBoxTask) -> None:
    assert lend.uid == "loans_basic.py:lend_one"
    assert lend.name == "lend_one"
    assert Path(lend.file) == LOANS.resolve()
    assert lend.family == lend.scenario.name == "library"
    assert lend.metadata == {
        "scenario": "library",
        "agent": "think",
        "test_case_file": str(LOANS.resolve()),
        "test_case_name": "lend_one",
    }


def test_keys_of_the_function_lie_over_those_of_the_blocks_above_it(lend: ThinkingBoxTask) -> None:
    assert lend.query == 'May I borrow "Moss and Lichen"?\n\nMy card is R-7.\n'
    assert lend.user_context == "Reader 7, in a hurry."
    assert (lend.max_user_turns, lend.max_agent_turns) == (3, UNLIMITED)
    politely = one("loans_basic.py:lend_politely")
    assert politely.user_context is None
    assert politely.max_agent_turns == 4


def test_a_block_counts_only_for_what_stands_below_it(lend: ThinkingBoxTask) -> None:
    assert lend.bot_instructions is None
    assert one("loans_basic.py:on_hold").bot_instructions == "The printer is broken."


def test_tags_of_blocks_replace_each_other_and_the_functions_are_added() -> None:
    assert one("loans_basic.py:lend_politely").tags.labels == ("desk", "loans")
    assert one("loans_basic.py:renew").tags.labels == ("desk", "later")
    assert one("loans_basic.py:on_hold").tags.labels == ("desk", "later")


def test_tags_of_scenario_and_task(lend: ThinkingBoxTask) -> None:
    assert lend.tags.labels == ("desk", "loans", "first")
    assert lend.tags.category == ("reader",)  # the task's alone
    assert lend.tags.domain == lend.domain == "branch"
    assert lend.tags.eval_type == "records:loans"
    assert not lend.tags.skip
    greet = one("desk.py:greet")
    assert (greet.tags.domain, greet.tags.category) == ("library", ())


def test_the_domain_of_a_task_without_such_a_tag_is_its_scenario() -> None:
    assert one("loans/late/fees.yaml:waive").domain == "odd_keys"


def test_init_is_merged_into_the_world_state(lend: ThinkingBoxTask) -> None:
    assert list(lend.servers) == ["catalog", "mail", "printer"]
    catalog = lend.servers["catalog"]
    assert catalog["rules"] == {"days": 14, "renewals": 2}
    assert [book["id"] for book in catalog["books"]] == ["B-1", "B-2"]
    assert lend.servers["mail"] == {"outbox": []}  # the scenario had nothing there
    assert lend.servers["printer"] == {"paper": 3}
    assert one("desk.py:greet").servers == lend.scenario.world_state


def test_golden_calls(lend: ThinkingBoxTask) -> None:
    assert [(call.server, call.tool, call.arguments) for call in lend.golden] == [
        ("catalog", "find_book", {"title": "Moss and Lichen"}),
        ("catalog", "lend_book", {"book": "B-1", "reader": "R-7"}),
        ("catalog", "opening_hours", {}),
    ]
    assert one("desk.py:greet").golden == ()


def test_tools_and_agent(lend: ThinkingBoxTask) -> None:
    by_name = {tool.name: tool for tool in lend.tools}
    assert list(by_name) == ["find_book", "lend_book", "opening_hours", "hang_up_now"]
    assert by_name["lend_book"].description == "Lend one book to one reader."
    assert by_name["lend_book"].argument_descriptions == {"reader": "The reader's card number."}
    assert by_name["opening_hours"].direct_response == "We are open from {opens}."
    assert by_name["hang_up_now"].is_end_turn
    assert not by_name["find_book"].is_end_turn
    assert lend.scenario_instructions == "Be kind."
    assert [tool.name for tool in lend.agent.builtin_tools] == ["hang_up"]
    terse = one("desk.py:greet", agent="terse")
    assert (terse.agent.name, terse.agent.builtin_tools) == ("terse", ())
    assert terse.agent.system_instructions == "Answer in one line."


def test_fixtures_from_the_root_down_and_then_the_scenarios(lend: ThinkingBoxTask) -> None:
    assert lend.fixtures == {
        "ledger": {"type": "library_fixtures.Ledger", "strict": True},
        "clock": {"type": "library_fixtures.Clock", "at": "09:00"},
        "stamp": {"type": "library_fixtures.Stamp", "ink": "red"},
    }
    assert one("desk.py:greet").fixtures["stamp"]["ink"] == "black"
    # An empty conftest.yaml on the way changes nothing.
    assert one("loans/late/fees.yaml:waive").fixtures["stamp"]["ink"] == "red"
    assert "strict" not in one("loans/late/fees.yaml:waive").fixtures["ledger"]


def test_history_is_cut_out_and_made_whole() -> None:
    assert one("loans_basic.py:renew").history == (
        {
            "T": "Text",
            "metadata": {"is_done": True},
            "role": "assistant",
            "content": "Good day.",
        },
        {
            "T": "ParallelToolCall",
            "metadata": {},
            "tool_calls": [
                {
                    "T": "ToolCall",
                    "metadata": {},
                    "name": "find_book",
                    "arguments": {"id": "B-1"},
                    "id": "c1",
                },
                {
                    "T": "ToolCall",
                    "metadata": {},
                    "name": "opening_hours",
                    "arguments": {},
                    "id": "call_1_1",
                },
            ],
        },
    )
    assert one("loans_basic.py:lend_one").history is None


def test_the_yaml_form() -> None:
    pay = one("loans/late/fees.yaml:pay")
    assert pay.uid == "fees.yaml:pay"
    assert pay.query == "What do I owe?"
    assert pay.history == ({"T": "Text", "metadata": {}, "role": "user", "content": "Hello"},)
    assert pay.max_user_turns == 0
    assert pay.metadata["since"] == "2026-01-02"
    assert pay.metadata["level"] == 2
    assert pay.test_code.endswith("__tb_test_fn = pay\n")
    assert not pay.uses_judge
    assert one("loans/late/fees.yaml:waive").test_code == ""


def test_keys_that_are_no_text_become_what_json_makes_of_them() -> None:
    shelf = one("loans/late/fees.yaml:waive").servers["shelf"]
    assert shelf == {"7": "Moss", "true": "open", "null": "none", "2.5": "half"}
    assert json.loads(json.dumps(shelf)) == shelf


def test_format_query_is_kept() -> None:
    assert one("loans_basic.py:renew").format_query
    assert not one("loans_basic.py:lend_one").format_query


def test_other_tests_are_blanked_and_lines_stay_where_they_are(lend: ThinkingBoxTask) -> None:
    lines = LOANS.read_text().split("\n")
    code = lend.test_code.split("\n")
    assert code[-2:] == [f"{TEST_FUNCTION} = lend_one", ""]
    assert len(code) == len(lines) + 2
    for number, line in enumerate(lines):
        assert code[number] in {line, ""}
    kept = {name for name in lines if name.startswith(("def ", "async def ")) and name in code}
    assert {name.split("(")[0] for name in kept} == {
        "def lent",
        "def lend_one",
        "async def not_a_test",
        "def helper_with_nothing_to_say",
    }
    assert "@staticmethod" not in code


def test_a_decorator_goes_with_its_test() -> None:
    code = one("loans_basic.py:renew").test_code.split("\n")
    assert code[code.index("def renew(x: TestContext):") - 1] == "@staticmethod"


def test_a_failure_of_the_code_names_the_line_of_the_file(lend: ThinkingBoxTask) -> None:
    code = lend.test_code.replace("from thinkingbox.common import Judge, TestContext", "")
    names: dict[str, object] = {"TestContext": object, "Judge": object}
    exec(compile(code, "loans_basic.py", "exec"), names)  # noqa: S102
    check = names[TEST_FUNCTION]
    assert callable(check)
    with pytest.raises(AssertionError, match="B-1 is not lent") as caught:
        check(SimpleNamespace(effects={"catalog": {"lent": []}}))
    line = traceback.extract_tb(caught.value.__traceback__)[-1].lineno
    assert line is not None
    assert LOANS.read_text().split("\n")[line - 1].strip() == 'assert lent(x), "B-1 is not lent"'


def test_uses_judge_looks_at_the_test_function_alone(lend: ThinkingBoxTask) -> None:
    assert one("loans_basic.py:lend_politely").uses_judge
    assert not lend.uses_judge  # though another test of the file does


def test_the_hash_is_of_the_content(tmp_path: Path, lend: ThinkingBoxTask) -> None:
    moved = tmp_path / "elsewhere"
    for file in SMALL.rglob("*.*"):
        target = moved / file.relative_to(SMALL)
        if file.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    (again,) = load_thinkingbox(moved, ["loans_basic.py:lend_one"])
    assert again.hash == lend.hash
    scenario = moved / "scenario/library.yaml"
    scenario.write_text(scenario.read_text().replace("Be kind.", "Be quick."))
    (changed,) = load_thinkingbox(moved, ["loans_basic.py:lend_one"])
    assert changed.hash != lend.hash
    hashes = [task.hash for task in load_thinkingbox(SMALL)]
    assert len(set(hashes)) == len(hashes)


def test_golden_calls_of_another_form_are_an_error_where_they_are_asked_for(
    lend: ThinkingBoxTask,
) -> None:
    calls: list[Any] = ["all", ["find_book"], [{"tool": 1}], [{"tool": "t", "parameters": [1]}]]
    for wrong in ["none", *({"tool_interactions": given} for given in calls)]:
        row = lend.model_dump()
        row["init"]["mail"] = {"golden_test_case": wrong}
        task = ThinkingBoxTask.model_validate(row)
        with pytest.raises(InputError, match=r"init\.mail\.golden_test_case"):
            _ = task.golden


def test_a_file_is_found_by_its_prefixes_longest_first(tmp_path: Path) -> None:
    for folder in ("agent", "scenario"):
        (tmp_path / folder).symlink_to(SMALL / folder)
    text = "def t(x):\n    '''!\n    scenario: library\n    query: {}\n    '''\n"
    places = ["a/a_b_c.py", "a_b/a_b_c.py", "a_b_c.py"]
    for place in places:
        file = tmp_path / "test_case" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(place))
        (task,) = load_thinkingbox(tmp_path, ["a_b_c.py:t"])
        assert task.query == place
