"""The command `outcomebox-reward lint`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from outcomebox.reward.commands.app import app
from outcomebox.sandbox import load_tasks
from reward_lint_helpers import TASKS

UID = TASKS[4]


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lint", "--in-process", *arguments])


def test_a_clean_task(tmp_path: Path) -> None:
    page = tmp_path / "lint.html"
    result = lint("travel", "--task", UID, "--json", "--html", str(page), "--fail-under", "1")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["format"] == "outcomebox-lint"
    assert report["clean"] is True
    assert report["totals"]["score"] == 1.0
    assert [task["uid"] for task in report["tasks"]] == [UID]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task file with a pattern that accepts everything."""
    task = load_tasks(["travel"]).by_uid[UID].model_dump(mode="json", exclude_defaults=True)
    task["expect"]["refunds"]["insert"][0]["reason"] = {"$any": True}
    file = tmp_path_factory.mktemp("tasks") / "wide.yaml"
    file.write_text(yaml.safe_dump({"tasks": [task]}), encoding="utf-8")
    return file


def test_findings_are_told_with_place_and_mend(wide: Path) -> None:
    result = lint(str(wide), "--fail-under", "1")
    assert result.exit_code == 1, result.output
    assert "The score is below 1" in result.stderr
    assert "over_wide_check  refunds" in result.stdout
    assert "mend: list golden's value" in result.stdout
    assert UID in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere"),
        (["travel", "--task", "travel/none"], "no such task was selected"),
        (["travel", "--servers", "servers.yaml"], "give --dataset too"),
        (["travel", "--part", "order"], "give --dataset too"),
        (["travel", "--limit", "9"], "give --dataset too"),
        (["--dataset", "nowhere"], "say which"),
        (["travel", "--html", "nowhere/page.html"], "no such folder"),
    ],
)
def test_bad_input(arguments: list[str], said: str) -> None:
    result = lint(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_report_names_what_codes_mean(wide: Path) -> None:
    report: dict[str, Any] = json.loads(lint(str(wide), "--json").stdout)
    assert report["codes"] == {"over_wide_check": 1}
    assert "almost anything" in report["meanings"]["over_wide_check"]
    (finding,) = report["tasks"][0]["findings"]
    assert finding["details"]["kinds"]
