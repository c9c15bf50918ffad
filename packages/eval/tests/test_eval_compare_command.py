"""`outcomebox-eval compare`: what it prints, how it names runs, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from outcomebox.eval.commands.app import app
from outcomebox.eval.commands.compare import called
from outcomebox.sandbox.errors import InputError

QUICK = ("--resamples", "1000")


def table(path: Path, *passes: str) -> str:
    """A CSV of tasks t0, t1, ... with a letter an attempt: P passed, F failed, E broke."""
    path.parent.mkdir(exist_ok=True)
    words = {"P": "true,", "F": "false,", "E": ",true"}
    lines = ["uid,repetition,passed,system_error,domain"]
    lines += [
        f"t{task},{at},{words[letter]},{'retail' if task % 2 else 'travel'}"
        for task, letters in enumerate(passes)
        for at, letter in enumerate(letters)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def compare(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, ["compare", *arguments, *QUICK], env={"COLUMNS": "160"})


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """A run, and one that is better at every task."""
    return (
        table(tmp_path / "before.csv", *["PFFF"] * 6, *["FFFF"] * 6),
        table(tmp_path / "after.csv", *["PPPF"] * 6, *["PPPP"] * 6),
    )


def test_it_tells_differences_tasks_domains_and_a_verdict(runs: tuple[str, str]) -> None:
    found = compare(*runs)
    assert found.exit_code == 0
    text = found.stdout
    assert text.startswith("after against before\n")
    assert "pass@1, population of tasks" in text
    assert "pass@1, these tasks" in text
    assert "4/4 gained: 6: t10, t11, t6, t7, t8, t9" in text
    assert "any of 4 lost: 0" in text
    assert "retail" in text
    assert "Verdict: after passes 75.0 points more often than before" in text
    assert "inferred from the rows" in text


@pytest.mark.parametrize("width", ["40", "60", "80"])
def test_a_narrow_terminal_cuts_no_figure(runs: tuple[str, str], width: str) -> None:
    names = ("--name", "the-one-before-all-the-others", "--name", "after")
    (told,) = json.loads(compare(*runs, *names, "--json").stdout)["comparisons"]
    arguments = ["compare", *runs, *names, *QUICK]
    text = CliRunner().invoke(app, arguments, env={"COLUMNS": width}).stdout
    retail = next(line for line in text.splitlines() if line.startswith("retail"))
    (domain,) = [each for each in told["domains"] if each["domain"] == "retail"]
    assert f"{100 * domain['pass_1']['base']:.1f} %" in retail
    assert f"{100 * domain['pass_1']['new']:.1f} %" in retail
    assert retail.endswith(f"+{domain['any_k']['new_only']} -{domain['any_k']['base_only']}")


def test_json_is_one_object_of_everything(runs: tuple[str, str]) -> None:
    found = compare(*runs, "--json", "--name", "a", "--name", "b", "--seed", "3")
    assert found.exit_code == 0
    (told,) = json.loads(found.stdout)["comparisons"]
    assert (told["base"]["name"], told["new"]["name"], told["seed"]) == ("a", "b", 3)
    assert told["finding"] == "better"
    assert told["base"]["source"][0]["path"] == runs[0]
    assert len(told["tasks"]) == 12
    assert told["cost"] is None
    assert (
        compare(*runs, "--json", "--name", "a", "--name", "b", "--seed", "3").stdout == found.stdout
    )


def test_more_runs_are_each_compared_with_the_first(runs: tuple[str, str]) -> None:
    found = compare(
        runs[0], runs[1], runs[0], "--name", "a", "--name", "b", "--name", "c", "--json"
    )
    told = json.loads(found.stdout)["comparisons"]
    assert [(each["base"]["name"], each["new"]["name"]) for each in told] == [
        ("a", "b"),
        ("a", "c"),
    ]
    assert [each["finding"] for each in told] == ["better", "not shown"]


def test_a_build_can_fail_where_a_run_is_worse(runs: tuple[str, str]) -> None:
    assert compare(runs[1], runs[0]).exit_code == 0
    assert compare(runs[1], runs[0], "--fail-if-worse").exit_code == 1
    assert compare(runs[0], runs[1], "--fail-if-worse").exit_code == 0


def test_missing_attempts_are_refused_or_marked(tmp_path: Path, runs: tuple[str, str]) -> None:
    broken = table(tmp_path / "broken.csv", "EEEE", *["PPPF"] * 11)
    refused = compare(runs[0], broken)
    assert refused.exit_code == 2
    assert "1 tasks have no clean run on one side (t0;" in refused.stderr
    assert "--allow-incomplete" in refused.stderr
    assert refused.stdout == ""
    marked = compare(runs[0], broken, "--allow-incomplete")
    assert marked.exit_code == 1
    assert "Left out, without a clean run on a side: t0" in marked.stdout
    assert "None of this is final" in marked.stdout


def test_other_tasks_are_refused(tmp_path: Path, runs: tuple[str, str]) -> None:
    found = compare(runs[0], table(tmp_path / "few.csv", "PPPP"))
    assert found.exit_code == 2
    assert "11 only in before" in found.stderr
    assert found.stdout == ""


def test_prices_are_of_one_list(tmp_path: Path, runs: tuple[str, str]) -> None:
    bad = tmp_path / "prices.yaml"
    bad.write_text("name: list\n")
    found = compare(*runs, "--prices", str(bad))
    assert found.exit_code == 2
    assert "prices.yaml" in found.stderr


def test_runs_are_called_by_their_folders_or_files() -> None:
    assert called(["runs/a", "runs/b"], None) == ["a", "b"]
    assert called(["a/episodes.jsonl", "b/episodes.jsonl"], None) == ["a", "b"]
    assert called(["x/rows.csv", "y/rows.csv"], None) == ["x/rows.csv", "y/rows.csv"]
    assert called(["a", "b"], ["one", "two"]) == ["one", "two"]
    for given in (["one"], ["one", "one"]):
        with pytest.raises(InputError, match="give 2 different names"):
            called(["a", "b"], given)
