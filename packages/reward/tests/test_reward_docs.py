"""The page on writing checks: each example does what it says."""

from __future__ import annotations

import doctest
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

from outcomebox.reward import Check, grade
from outcomebox.sandbox import Task, read_state, terminal_state

PAGE = Path(__file__).parents[3] / "docs" / "checks.md"


def blocks(kind: str) -> list[tuple[int, str]]:
    """The blocks of a kind, each with its place."""
    found = re.finditer(
        rf"^```{kind}\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return [(match.start(), match[1]) for match in found]


def graded(task: dict[str, Any], *statements: str) -> list[str]:
    """The reasons why a task does not accept the end that some SQL leaves."""
    asked = Task.model_validate(
        {"uid": "shop/page/1", "domain": "shop", "family": "page", "query": "?", **task}
    )
    ((_, schema),) = blocks("sql")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(schema)
        before = read_state(connection)
        for statement in statements:
            connection.execute(statement)
        state = terminal_state(before, read_state(connection))
    return [reason.message for reason in grade(Check.from_task(asked), state).reasons]


def test_the_examples_of_the_page_hold() -> None:
    examples = blocks("pycon")
    assert len(examples) >= 6
    checks = blocks("yaml")
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    for place, text in examples:
        task = yaml.safe_load([block for at, block in checks if at < place][-1])

        def wrong(*statements: str, task: dict[str, Any] = task) -> None:
            for message in graded(task, *statements):
                sys.stdout.write(f"{message}\n")

        parsed = doctest.DocTestParser().get_doctest(
            text,
            {"wrong": wrong},
            PAGE.name,
            str(PAGE),
            PAGE.read_text("utf-8")[:place].count("\n"),
        )
        assert parsed.examples
        runner.run(parsed)
    assert runner.summarize(verbose=False).failed == 0


def test_each_check_of_the_page_is_one() -> None:
    for _, block in blocks("yaml"):
        assert graded(yaml.safe_load(block)), "an end without any change must not be accepted"
