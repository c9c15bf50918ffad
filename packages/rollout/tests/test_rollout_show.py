"""Episodes in the terminal: changes beside their calls, reasons in words, and text that is safe."""

from __future__ import annotations

import copy
import io
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from outcomebox.rollout.commands import show as command
from outcomebox.rollout.showing.placing import change_view, session_calls
from outcomebox.rollout.showing.terminal import show_episode
from outcomebox.rollout.showing.view import view_of
from shown_rows import first_of, real_rows, write_run


def shown(
    row: dict[str, Any], *, width: int = 100, full: bool = False, colour: bool = False
) -> str:
    """What the terminal gets of a row."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, highlight=False)
    show_episode({**view_of(row), "command": "again"}, console, full=full)
    return out.getvalue()


def run_show(*arguments: str) -> tuple[int, str, str]:
    """Status, standard output and standard error of the command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command.show)
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def flat(text: str) -> str:
    """Text without its line breaks."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run."""
    return write_run(tmp_path_factory.mktemp("shown") / "run", real_rows())


def test_each_change_stands_beside_a_call_that_wrote_it() -> None:
    placed = 0
    for row in real_rows():
        view = view_of(row)
        assert view["changes"] == []
        for step in view["steps"]:
            for call in step.get("calls", ()):
                for change in call["changes"]:
                    placed += 1
                    assert row["calls"][change["calls"][-1]["index"]] == call["name"]
                    assert call["index"] == change["calls"][-1]["index"]
    assert placed == sum(len(row["changes"]) for row in real_rows()) > 0


def test_every_call_has_its_answer() -> None:
    for row in real_rows():
        view = view_of(row)
        answers = [
            call["answer"]["text"]
            for step in view["steps"]
            for call in step.get("calls", ())
            if "answer" in call
        ]
        told = [each["content"] for each in row["messages"] if each["role"] == "tool"]
        assert answers == told
        assert all(step["role"] != "tool" for step in view["steps"])


def test_a_failed_episode_says_why_and_by_which_call() -> None:
    row = first_of(real_rows(), "failed")
    text = flat(shown(row, width=200))
    assert text.startswith(f"✗ failed {row['uid']} #{row['repetition']}")
    assert "simulated policy" in text
    for reason in row["verdict"]["reasons"]:
        assert flat(reason["message"]) in text
    for index in {index for reason in row["verdict"]["reasons"] for index in reason["calls"]}:
        assert f"call {index} {row['calls'][index]}(" in text


def test_a_system_error_is_no_failure() -> None:
    row = first_of(real_rows(), "system_error")
    text = flat(shown(row))
    assert "No verdict" in text
    assert "(phase policy)" in text
    assert "not a failure of the agent" in text
    assert row["error"]["message"] in text
    assert "✗" not in text


def test_a_passed_episode_says_what_changed() -> None:
    row = first_of(real_rows(), "passed")
    text = flat(shown(row))
    assert text.startswith("✓ passed")
    assert "The end state is as the task asks" in text


def test_an_update_is_told_column_by_column() -> None:
    change = {
        "op": "update",
        "table": "orders",
        "key": {"id": 7},
        "old": {"id": 7, "status": "open", "n": 1, "note": None},
        "new": {"id": 7, "status": "paid", "n": True, "note": None},
        "calls": [],
    }
    assert change_view(change)["cells"] == [
        {"column": "status", "old": "open", "new": "paid"},
        {"column": "n", "old": 1, "new": True},
    ]


def call(name: str, executable: bool = True) -> dict[str, Any]:
    """A call of a conversation."""
    return {"name": name, "executable": executable}


def test_calls_that_never_reached_the_session_are_passed_over() -> None:
    conversation = [call("find"), call("pay", False), call("say"), call("pay"), call("pay")]
    # `say` is answered by the harness, and the session had made a `find` of its history before.
    assert session_calls(conversation, ["find", "find", "pay", "pay"]) == {1: 0, 2: 3, 3: 4}
    assert session_calls(conversation[:2], []) == {0: 0}
    assert session_calls([], ["find"]) == {}


def test_a_row_of_an_older_version_is_shown_with_what_it_has() -> None:
    full = first_of(real_rows(), "failed")
    for name in full:
        assert shown({key: value for key, value in full.items() if key != name})
    assert "system error" in shown({"uid": "a/b/1"})
    odd = {
        "uid": "a/b/1",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "in parts"}]},
            {
                "role": "assistant",
                "tool_calls": [{"id": "1", "function": {"name": "pay", "arguments": "{broken"}}],
            },
            {"role": "tool", "tool_call_id": "9", "content": "to nobody"},
        ],
    }
    text = shown(odd)
    assert "in parts" in text
    assert "pay(" in text
    assert "{broken" in text
    assert "to nobody" in text


def test_effects_of_servers_are_shown() -> None:
    row = {
        **first_of(real_rows(), "failed"),
        "changes": [],
        "effects": {"desk": {"diff": [{"path": "root.x", "result": 1}], "hash": "abc"}, "mail": 3},
    }
    text = shown(row)
    assert "desk told at the end" in text
    assert '"root.x"' in text


HOSTILE = st.text(
    st.one_of(
        st.characters(codec=None, exclude_categories=()),
        st.sampled_from("\x1b\x9b\x07\r\u202e\u2066\ud800[]/"),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=40, deadline=None)
@given(text=HOSTILE, width=st.integers(8, 160), colour=st.booleans())
def test_no_text_of_a_run_steers_the_terminal(text: str, width: int, colour: bool) -> None:
    row = {
        "uid": text,
        "verdict": {
            "outcome": "failed",
            "reasons": [{"kind": text, "message": text, "calls": [0]}],
        },
        "finish_reason": text,
        "messages": [
            {"role": "user", "content": text},
            {
                "role": "assistant",
                "content": text,
                "reasoning": text,
                "raw": text,
                "diagnostics": [text],
                "finish_reason": text,
                "tool_calls": [
                    {"id": "1", "name": text, "arguments": {text: text}, "status": text}
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": text, "is_error": True},
        ],
        "calls": [text],
        "changes": [
            {"op": "insert", "table": text, "key": {text: text}, "new": {text: text}, "calls": [0]}
        ],
        "effects": {text: {text: text}},
        "policy": {"name": text},
        "error": {"type": text, "message": text, "phase": text},
    }
    told = shown(row, width=width, full=True, colour=colour)
    told.encode()
    left = re.sub(r"\x1b\[[0-9;]*m", "", told) if colour else told
    bad = {each for each in left if unicodedata.category(each) in ("Cc", "Cs")} - {"\n"}
    assert not bad - {"\t"}
    assert not set(left) & set("\u202a\u202b\u202d\u202e\u2066\u2067")


def test_the_list_counts_system_errors_apart(run: Path) -> None:
    status, out, _ = run_show(str(run))
    assert status == 0
    rows = real_rows()
    assert "12 attempts" in out
    assert "of 11 clean; 1 without a verdict (system error)" in flat(out)
    assert "the policy is simulated" in flat(out)
    for row in rows:
        assert f"{row['uid']} #{row['repetition']}" in out
    assert "Next: outcomebox-rollout show" in out


def test_filters_choose_and_few_are_shown_whole(run: Path) -> None:
    row = first_of(real_rows(), "failed")
    status, out, _ = run_show(str(run / "episodes.jsonl"), "--failed", "--limit", "1")
    assert status == 0
    assert "✗ failed" in out
    assert "system " in out
    status, out, _ = run_show(
        str(run), "--uid", row["uid"], "--repetition", str(row["repetition"]), "--json"
    )
    told = json.loads(out)
    assert status == 0
    assert [each["uid"] for each in told["episodes"]] == [row["uid"]] * len(told["episodes"])
    assert told["attempts"]["system_error"] == 1
    status, out, _ = run_show(str(run), "--system-error", "--json")
    assert {each["outcome"] for each in json.loads(out)["episodes"]} == {"system_error"}
    status, out, _ = run_show(str(run), "--try", "1", "--passed", "--failed", "--json")
    assert {each["try"] for each in json.loads(out)["episodes"]} == {1}


def test_what_is_not_there_is_said(run: Path, tmp_path: Path) -> None:
    status, _, error = run_show(str(run), "--uid", "nosuch/*")
    assert status == 2
    assert "nosuch/*" in error
    assert run_show(str(tmp_path))[0] == 2


def test_the_index_is_not_needed(tmp_path: Path) -> None:
    rows = [copy.deepcopy(dict(row)) for row in real_rows()[:5]]
    del rows[0]["versions"]
    folder = write_run(tmp_path / "old", rows)
    status, out, _ = run_show(str(folder))
    assert status == 0
    assert out.count("travel/") >= len(rows)


def test_one_command_makes_an_attempt_again(tmp_path: Path) -> None:
    row = real_rows()[0]
    folder = write_run(tmp_path / "run", [row])
    spec = {"tasks": ["travel"], "policy": "openai", "policy_options": {"model": "it's"}, "seed": 7}
    (folder / "run.json").write_text(json.dumps({"spec": spec}))
    told = json.loads(run_show(str(folder), "--json")[1])["episodes"][0]["command"]
    assert told.startswith(f"outcomebox-rollout run --only {row['uid']} --repetition ")
    assert "--tasks travel --policy openai --policy-option" in told
    assert "--seed 7" in told
    assert """'model=it'"'"'s'""" in told
    row = {**row, "verdict": {**row["verdict"], "score": float("nan")}}
    write_run(folder, [row])
    (folder / "run.json").write_text("{")
    assert json.loads(run_show(str(folder), "--json")[1])["episodes"][0]["command"] is None
