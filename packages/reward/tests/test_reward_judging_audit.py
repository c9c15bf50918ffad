"""Settings of a judge, and how far he can be trusted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from outcomebox.reward.commands.judge_audit import judge_audit
from outcomebox.reward.judging import judge_settings
from outcomebox.reward.judging.audit import wilson
from outcomebox.reward.thinkingbox.judging import JUDGE_TYPES
from outcomebox.sandbox import InputError
from reward_judge_stub import NO, YES, Scripted, StubEndpoint, stub_endpoint

KEY = "hf_very_secret_0123456789"
GOOD = {"base_url": "http://127.0.0.1:1/v1", "model": "m"}


def test_settings_have_defaults_and_are_read_from_text() -> None:
    found = judge_settings(GOOD)
    assert (found.votes, found.temperature, found.seed, found.tries) == (1, 0.0, 0, 3)
    assert found.protocol == "json_schema"
    assert judge_settings(GOOD, protocols=JUDGE_TYPES).protocol == "legacy"
    found = judge_settings(
        {**GOOD, "votes": "5", "temperature": "0.7", "seed": "none", "max_tokens": 200}
    )
    assert (found.votes, found.temperature, found.seed, found.max_tokens) == (5, 0.7, None, 200)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base_url": ""}, "needs base_url; give --judge-option base_url="),
        ({"model": ""}, "needs model"),
        ({"vote": "3"}, "has no option vote; its options: base_url, model"),
        ({"votes": "2"}, "odd number of votes"),
        ({"votes": "0"}, "from 1 to 99"),
        ({"votes": "many"}, "whole number"),
        ({"temperature": "hot"}, "give a number"),
        ({"temperature": "-1"}, "from 0 to 10"),
        ({"temperature": "nan"}, "from 0 to 10"),
        ({"seed": "1.5"}, "whole number"),
        ({"protocol": "legacy"}, "write one of json_schema, text"),
        ({"timeout_s": "0"}, "timeout_s"),
        ({"base_url": "localhost:8000"}, "has to be like http://"),
        ({"base_url": "http://[::1"}, "has to be like http://"),
        ({"base_url": f"https://user:{KEY}@host/v1"}, "no user, password or query"),
        ({"base_url": f"https://host/v1?key={KEY}"}, "no user, password or query"),
        ({"key_variable": KEY}, "names no environment variable that is set"),
        ({"key_variable": "NO_SUCH_VARIABLE_AT_ALL"}, "give the variable's name, not the key"),
        ({"key": KEY}, "has no option key"),
    ],
)
def test_a_setting_that_is_of_no_use_is_named_and_no_key_is_shown(
    options: dict[str, str], words: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        judge_settings({**GOOD, **options})
    assert KEY not in str(caught.value)
    assert "judge" in str(caught.value)


@settings(max_examples=100)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_is_where_the_score_test_ends(case: tuple[int, int]) -> None:
    hits, total = case
    low, high = wilson(hits, total)
    share = hits / total
    assert 0 <= low <= share <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            z = abs(share - end) / math.sqrt(end * (1 - end) / total)
            assert z == pytest.approx(1.959964, abs=1e-5)
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.fixture
def stub() -> Iterator[StubEndpoint]:
    """A running stub; retries do not wait."""
    stamina.set_testing(True, attempts=2)
    with stub_endpoint() as running:
        yield running
    stamina.set_testing(False)


def run(*arguments: str) -> tuple[int, str, str]:
    """Run the command: exit status, output, errors."""
    app = typer.Typer()
    app.command()(judge_audit)
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def labelled(path: Path, answers: list[Any]) -> str:
    """A file of labelled examples; the stub finds the number in the text."""
    rows = [
        {"question": f"Question {number}?", "text": f"text-{number}.", "answer": answer}
        for number, answer in enumerate(answers)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def scripted(answers: dict[int, Any]) -> Any:
    """Answers by the number in the text; a list of them by seed."""

    def script(body: dict[str, Any]) -> Scripted:
        content = body["messages"][1]["content"]
        number = int(content.split("text-")[1].split(".")[0])
        answer = answers[number]
        return answer[body["seed"]] if isinstance(answer, list) else answer  # type: ignore[no-any-return]

    return script


def flags(stub: StubEndpoint, **options: object) -> list[str]:
    """The options of a judge at the stub as flags."""
    return [
        part
        for name, value in stub.options(**options).items()
        for part in ("--judge-option", f"{name}={value}")
    ]


def test_an_audit_counts_what_is_right_and_where_it_is_not(
    tmp_path: Path, stub: StubEndpoint
) -> None:
    file = labelled(tmp_path / "l.jsonl", ["yes", True, "no", False, "no", "yes"])
    stub.script = scripted({0: YES, 1: NO, 2: NO, 3: NO, 4: YES, 5: Scripted("boom", 500)})
    status, told, said = run(file, *flags(stub), "--json")
    report = json.loads(told)
    assert status == 1  # one has no answer
    assert "line 6: the judge gave no answer" in said
    assert (report["examples"], report["answered"], report["errors"]) == (6, 5, 1)
    assert report["accuracy"]["hits"] == 3
    assert report["accuracy"]["of"] == 5
    assert report["accuracy"]["low"] == pytest.approx(0.2307, abs=1e-4)
    assert report["accuracy"]["high"] == pytest.approx(0.8824, abs=1e-4)
    assert report["confusion"] == {
        "yes_said_yes": 1,
        "yes_said_no": 1,
        "no_said_yes": 1,
        "no_said_no": 2,
    }
    assert report["right_where_yes"]["value"] == 0.5
    assert [each["line"] for each in report["wrong"]] == [2, 5]
    assert report["self_consistency"] is None
    assert report["judge"]["model"] == "stub-model"


def test_votes_show_how_far_a_judge_agrees_with_himself(tmp_path: Path, stub: StubEndpoint) -> None:
    file = labelled(tmp_path / "l.jsonl", ["yes", "no"])
    stub.script = scripted({0: [YES, NO, YES], 1: NO})
    cache = tmp_path / "votes.sqlite"
    arguments = [file, *flags(stub, votes=3), "--judge-cache", str(cache)]
    status, told, _ = run(*arguments, "--json")
    assert status == 0
    report = json.loads(told)
    assert report["accuracy"]["value"] == 1.0
    assert report["self_consistency"] == {"agreement": pytest.approx(5 / 6), "unanimous": 0.5}
    status, told, _ = run(*arguments)
    assert status == 0
    assert len(stub.asked) == 6  # the second run asked nothing
    assert "Judge stub-model" in told
    assert "3 votes a question: 83.3% agree with the majority" in told


def test_an_accuracy_that_is_too_low_is_a_finding(tmp_path: Path, stub: StubEndpoint) -> None:
    file = labelled(tmp_path / "l.jsonl", ["yes", "no"])
    stub.script = scripted({0: YES, 1: YES})
    assert run(file, *flags(stub))[0] == 0
    status, told, _ = run(file, *flags(stub), "--least", "0.8")
    assert status == 1
    assert "line 2: people say no, the judge yes: Question 1?" in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("\n", "holds no example"),
        ("{", "line 1: is no JSON"),
        ("[]", "is no object"),
        ('{"question": "q", "text": 1, "answer": "yes"}', "`text` must be text"),
        ('{"question": "q", "text": "t", "answer": "maybe"}', "must be yes or no"),
        ('{"question": "q", "text": "t", "answer": 1}', "must be yes or no"),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str | None, words: str) -> None:
    file = tmp_path / "l.jsonl"
    if text is not None:
        file.write_text(text)
    status, told, said = run(
        str(file), "--judge-option", "base_url=http://h", "--judge-option", "model=m"
    )
    assert (status, told) == (2, "")
    assert words in said
    assert str(file) in said


def test_an_option_that_is_no_pair_is_not_repeated(tmp_path: Path) -> None:
    file = labelled(tmp_path / "l.jsonl", ["yes"])
    status, _, said = run(file, "--judge-option", KEY)
    assert status == 2
    assert "write NAME=VALUE" in said
    assert KEY not in said
