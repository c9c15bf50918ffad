"""The grader's program itself, its channel, and what its reports may say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.stapled import StapledByteStream
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward import Verdict
from outcomebox.reward.thinkingbox import CheckGrader
from outcomebox.reward.thinkingbox.channel import UnansweredError, current
from outcomebox.reward.thinkingbox.context import TestContext
from outcomebox.reward.thinkingbox.judging import Judge
from outcomebox.reward.thinkingbox.orders import encode_order
from outcomebox.reward.thinkingbox.processes import command, search_path
from outcomebox.reward.thinkingbox.results import UnreadableResultError, verdict_from
from outcomebox.reward.thinkingbox.running import run_check
from tbcheck_orders import graded_plain, order

few = settings(max_examples=100, deadline=None)
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(search_path())}
MODULE = "outcomebox.reward.thinkingbox.worker"
HEAVY = ("pydantic", "mcp", "anyio", "asyncio", "outcomebox.sandbox", "outcomebox.reward")


def run(*arguments: str, given_: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments], check=False, input=given_, capture_output=True, env=ENV
    )


@pytest.mark.parametrize("arguments", [command()[1:], ("-m", MODULE)])
def test_one_line_in_one_line_out(arguments: tuple[str, ...]) -> None:
    line = encode_order(order("scores_half"), nonce="n1", memory_bytes=None)
    done = run(*arguments, given_=line)
    (answer,) = done.stdout.splitlines()
    assert json.loads(answer)["nonce"] == "n1"
    assert json.loads(answer)["result"]["score"] == 0.5
    assert (done.returncode, done.stderr) == (0, b"")


def test_without_an_order_it_ends_quietly() -> None:
    done = run(*command()[1:])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_order_that_cannot_be_read_ends_it_with_words() -> None:
    done = run(*command()[1:], given_=b'{"nonce": "n"}\n')
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"KeyError: 'context'" in done.stderr


def test_it_serves_one_check() -> None:
    line = encode_order(order("passes"), nonce="n", memory_bytes=None)
    assert len(run(*command()[1:], given_=line * 3).stdout.splitlines()) == 1


def test_up_to_its_first_use_of_stdin_it_is_light_and_can_be_forked() -> None:
    script = f"""
import json, os, runpy, sys, threading
class Stdin:
    def __getattr__(self, name):
        found = [each for each in {HEAVY!r} if each in sys.modules]
        opened = [os.readlink(f"/proc/self/fd/{{fd}}") for fd in os.listdir("/proc/self/fd")
                  if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{{fd}}")]
        served = sys.modules["thinkingbox"].__name__
        print(json.dumps([found, threading.active_count(), opened, served]))
        os._exit(sys.stdout.flush() or 0)
sys.stdin = Stdin()
runpy.run_path({command()[1]!r}, run_name="__main__")
"""
    heavy, threads, opened, served = json.loads(run("-c", script).stdout)
    assert (heavy, threads, served) == ([], 1, "thinkingbox")
    assert [each for each in opened if not each.startswith("/proc/")] == []


def test_the_names_are_not_served_in_the_runner() -> None:
    script = """
import sys
import outcomebox.reward.thinkingbox as face
from outcomebox.reward.thinkingbox import names, serving, worker
assert not [name for name in sys.modules if name.split(".")[0] == "thinkingbox"]
try:
    import thinkingbox.common
except ModuleNotFoundError as error:
    print(error.name)
"""
    done = run("-c", script)
    assert (done.stdout, done.stderr) == (b"thinkingbox\n", b"")


def test_a_fixture_that_imports_the_package_gets_all_of_it() -> None:
    code = "def check():\n    from outcomebox.reward.thinkingbox import CheckGrader\n"
    assert graded_plain(order("check", code=code)).outcome == "passed"


def test_modules_beside_the_worker_do_not_stand_in_the_way() -> None:
    code = "def check():\n    import fixtures\n"
    verdict = graded_plain(order("check", code=code))
    assert verdict.error is not None
    assert verdict.error["type"] == "ModuleNotFoundError"


def test_there_is_nobody_to_ask_outside_a_grader() -> None:
    with pytest.raises(UnansweredError, match="is no grader"):
        current()


# -- results -----------------------------------------------------------------------------------


@few
@given(st.floats() | st.integers() | st.booleans() | st.text() | st.binary() | st.lists(st.none()))
def test_every_number_from_0_to_1_passes_and_nothing_else(value: Any) -> None:
    context = TestContext(metadata={"value": value})
    judge = Judge(None)  # type: ignore[arg-type] # it is not asked
    code = "def check(x):\n    return x.metadata['value']\n"
    report = run_check(
        code, function="check", file="a.py", context=context, judge=judge, fixtures={}
    )
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and 0 <= value <= 1:
        assert report["outcome"] == "passed"
        assert report["score"] == value
        assert str(report["score"])[0] != "-"
    else:
        assert report["outcome"] == "system_error"
    verdict = verdict_from(json.loads(json.dumps(report)))
    assert (verdict.outcome == "passed") == (number and 0 <= value <= 1)


GOOD: dict[str, Any] = {"outcome": "passed", "score": 1.0}


@pytest.mark.parametrize(
    "report",
    [
        None,
        [],
        7,
        {},
        {"outcome": "won"},
        {"outcome": ["passed"]},
        {"outcome": "passed"},
        {"outcome": "passed", "score": True},
        {"outcome": "passed", "score": "1"},
        {"outcome": "passed", "score": 1.5},
        {"outcome": "passed", "score": None},
        {"outcome": "failed"},
        {"outcome": "system_error", "type": "E", "message": "m"},
        {**GOOD, "line": "x", "file": "a", "source": ""},
        {**GOOD, "metadata": 7},
        {**GOOD, "judge": 7},
    ],
)
def test_a_report_of_another_shape_is_no_verdict(report: Any) -> None:
    with pytest.raises(UnreadableResultError):
        verdict_from(report)


@few
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["passed", "failed"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*GOOD, "message", "type", "phase", "line", "metadata"]), inner
            )
        ),
    )
)
def test_no_report_raises_anything_else(report: Any) -> None:
    try:
        verdict = verdict_from(report)
    except UnreadableResultError:
        return
    assert isinstance(verdict, Verdict)


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("print('{}')", "UnreadableResult", "there is no question None"),
        ("print('{\"result\": {}}')", "UnreadableResult", "without the order's nonce"),
        (
            "nonce = 'other'; say(result={'outcome': 'passed', 'score': 1})",
            "UnreadableResult",
            "nonce",
        ),
        ("nonce = '\\ud800'; say(result={})", "UnreadableResult", "nonce"),
        ("print('garbage')", "UnreadableResult", "Expecting value"),
        ("print('[1]')", "UnreadableResult", "list where an object is due"),
        ("say(result={'outcome': 'won'})", "UnreadableResult", "there is no outcome 'won'"),
        ("say(result={'outcome': 'passed', 'score': float('nan')})", "UnreadableResult", "NaN"),
        ("say(ask='time')", "UnreadableResult", "there is no question 'time'"),
        ("say(ask='judge', user=[], system='s')", "UnreadableResult", "text for 'user'"),
        ("say(ask='tool', server='s', tool='t', arguments=[])", "UnreadableResult", "without arg"),
        ("say(ask='judge', system='s')", "UnreadableResult", "a question without text for 'user'"),
        ("say(ask='tool', server='', tool='', arguments={})", "CheckError", "no session is open"),
        ("say(ask='effects', server='s', key='k')", "UnreadableResult", "effects that are not"),
        ("print('x' * 100, end='')", "GraderDied", "ended with status 0 before it gave a verdict"),
        ("sys.exit('its last words')", "GraderDied", "with status 1 .*: its last words"),
        ("os.close(0); os.close(1); time.sleep(60)", "GraderDied", "hung up but still runs"),
        ("say(result={'outcome': 'passed', 'score': 1.0})", None, None),
    ],
)
def test_only_a_signed_result_is_one(
    script: str, kind: str | None, message: str | None, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os, sys, time\n"
        "nonce = json.loads(sys.stdin.readline())['nonce']\n"
        "def say(**what): print(json.dumps({'nonce': nonce, **what}), flush=True)\n"
        f"{script}\n"
    )
    verdict = anyio.run(_graded_by, program)
    if kind is None:
        assert verdict.outcome == "passed"
        return
    assert verdict.error is not None
    assert verdict.error["type"] == kind
    assert message is not None
    import re

    assert re.search(message, verdict.error["message"])


async def _graded_by(program: Path) -> Verdict:
    from outcomebox.reward.thinkingbox.processes import _PlainProcess

    @asynccontextmanager
    async def opener() -> Any:
        stderr = program.with_suffix(".txt")
        with stderr.open("wb") as words:
            process = await anyio.open_process(
                [sys.executable, str(program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        assert isinstance(StapledByteStream(process.stdin, process.stdout), StapledByteStream)
        try:
            yield _PlainProcess(process, stderr)
        finally:
            if process.returncode is None:
                process.kill()
            await process.aclose()

    return await CheckGrader(opener).grade(order("passes", context={}))
