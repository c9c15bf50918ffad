"""`outcomebox-reward play`: a person in the agent's place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from outcomebox.reward.commands.app import app
from outcomebox.reward.play.lines import Line, LineError, read_line

LENDING = Path(__file__).parent / "lending"
TILL = Path(__file__).parent / "tblint"
TASKS = """\
domain: lending
family: played
tasks:
  - uid: lending/played/pay
    query: Bo pays 2.
    user_context: {background: You are Bo.}
    golden:
      - {tool: pay, arguments: {member_id: M-2, amount: 2}}
    expect:
      members: {update: [{key: {member_id: M-2}, set: {balance: 2}}]}
  - uid: lending/played/note
    query: Leave a kind word at LN-7.
    golden:
      - {tool: note, arguments: {loan_id: LN-7, body: Thank you!}}
    expect:
      loan_notes:
        insert:
          - {id: {$any: true}, loan_id: LN-7, mood: plain, body: {$rubric: Is it kind?}}
"""
PAY = 'pay {"member_id": "M-2", "amount": 2}'
NOTE = 'note {"loan_id": "LN-7", "body": "Thank you!"}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lending library with tasks of these tests."""
    folder = tmp_path_factory.mktemp("lending")
    for file in LENDING.glob("*.*"):
        shutil.copy(file, folder)
    (folder / "tasks").mkdir()
    (folder / "tasks" / "played.yaml").write_text(TASKS, encoding="utf-8")
    return folder


def run(*given: str, said: str) -> Result:
    """The command with some lines on its standard input."""
    return CliRunner().invoke(app, ["play", *given], input=said)


NAMES = frozenset({"get", "say_so", "tool"})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  ", None),
        ('get {"id": 1}', Line("call", "get", {"id": 1})),
        ("get", Line("call", "get")),
        ("say  hello you ", Line("say", "hello you")),
        ('say {"a": 1}', Line("call", "say", {"a": 1})),
        ("tool", Line("call", "tool")),
        ('nothing {"a": []}', Line("call", "nothing", {"a": []})),
        ("done", Line("done")),
        ("done It is\tdone.", Line("done", "It is\tdone.")),
    ],
)
def test_lines_are_read(text: str, line: Line | None) -> None:
    assert read_line(text, NAMES) == line


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("get [1]", "must be an object"),
        ("get {", "no JSON"),
        ('get {"a": ' + "[" * 100_000, "no JSON"),
        ("say", "write what to say"),
        ("hello there", "no tool and no word"),
        ("tool ", "tool NAME"),
    ],
)
def test_a_line_that_means_nothing_says_what_would(text: str, part: str) -> None:
    with pytest.raises(LineError, match=part.replace("(", r"\(")):
        read_line(text, NAMES - {"tool"})


def played(folder: Path, name: str, *lines: str, flags: tuple[str, ...] = ()) -> Result:
    """A task of these tests, played."""
    said = "".join(f"{line}\n" for line in lines)
    return run(f"lending/played/{name}", "--tasks", str(folder), *flags, said=said)


def test_what_was_done_is_shown_and_graded(folder: Path) -> None:
    result = played(folder, "pay", "changes", "nonsense here", PAY, "say Paid.", "done Bye.")
    assert result.exit_code == 0, result.output
    assert "user: Bo pays 2." in result.output
    assert "You are Bo." not in result.output
    assert "nothing has changed" in result.output
    assert "? nonsense is no tool and no word" in result.output
    assert result.output.count("~ members member_id='M-2' balance: 0.0 -> 2.0") == 2
    assert result.output.endswith("Verdict: passed\n")


def test_who_does_nothing_fails_and_reads_why(folder: Path) -> None:
    result = played(folder, "pay", "user Hello?", "help", "tools pay", "done", flags=("--user",))
    assert result.exit_code == 1
    assert "You are Bo." in result.output
    assert '"member_id"' in result.output
    _, _, end = result.output.partition("The terminal state:\nno change\n")
    assert "Verdict: failed" in end
    assert "balance" in end


@pytest.mark.parametrize(
    ("answers", "status", "outcome"),
    [(["maybe", "y"], 0, "passed"), (["no"], 1, "failed"), ([], 1, "failed")],
)
def test_a_rubric_is_put_to_the_person(
    folder: Path, answers: list[str], status: int, outcome: str
) -> None:
    result = played(folder, "note", NOTE, "done", *answers)
    assert "Thank you!\n\nIs it kind?" in result.output
    assert f"Verdict: {outcome}" in result.output
    assert result.exit_code == status


@pytest.mark.parametrize("last", ["quit", ""])
def test_who_leaves_has_no_verdict(folder: Path, last: str) -> None:
    result = played(folder, "pay", PAY, last, flags=("--json",))
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"task": "lending/played/pay", "verdict": None}
    assert "~ members" in result.stderr


def test_a_dataset_of_the_thinkingbox_form(folder: Path) -> None:
    calls = [
        'find_sale {"sale": "S-2"}',
        (
            'open_case {"sale": "S-2", "title": "it broke", "rank": "high", "body": "It broke at '
            'once."}'
        ),
        'tool pay_back {"case": "C-2", "amount": 20}',
        'close_case {"case": "C-2"}',
    ]
    given = ("till_checks.py:strict", "--dataset", str(TILL))
    passed = run(*given, said="\n".join([*calls, "changes", "done That is done."]))
    assert passed.exit_code == 0, passed.output
    assert "tell nothing before the end" in passed.output
    failed = run(*given, said="\n".join([*calls[:-1], "done", ""]))
    assert failed.exit_code == 1
    assert "till_checks.py:" in failed.output.partition("Verdict: failed")[2]


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (["a.py:b", "--dataset", "no", "--tasks", "x"], "leave it out"),
        (["till_checks.py", "--dataset", str(TILL)], "name one"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(given: list[str], part: str) -> None:
    result = run(*given, said="")
    assert result.exit_code == 2
    assert part in result.output
    assert "Traceback" not in result.output


def test_a_task_that_is_not_there_is_named(folder: Path) -> None:
    result = played(folder, "no")
    assert result.exit_code == 2
    assert "there is no such task among 2, such as lending/played/note" in result.output


@pytest.mark.parametrize(("answer", "outcome"), [("yes", "passed"), ("no", "failed")])
def test_a_question_of_test_code_is_put_to_the_person(answer: str, outcome: str) -> None:
    call = 'open_case {"sale": "S-1", "title": "first one", "body": "One broke.", "rank": "low"}'
    given = ("till_checks.py:asks", "--dataset", str(TILL))
    result = run(*given, said=f"{call}\ndone\n{answer}\n")
    assert "Does it say what broke?" in result.output
    assert f"Verdict: {outcome}" in result.output
