"""The probe of tasks with rubrics: refused without a judge, repeatable with one."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner, Result

from outcomebox.rollout import digest, read_rows
from outcomebox.selection.probe_command import app

SHELF = Path(__file__).parents[2] / "sandbox" / "tests" / "domains" / "shelf"
KEY = "sk-very-secret-0123456789"
TASKS = """
domain: shelf
family: ask
tasks:
  - uid: shelf/ask/1
    query: Please move box B-008 to the right shelf.
    golden:
      - {tool: move_box, arguments: {box_id: B-008, shelf_id: S-2}}
    expect:
      boxes: {update: [{key: {box_id: B-008}, set: {shelf_id: S-2}}]}
    rubrics: [Was the customer told that it is done?]
"""


class Stub(BaseHTTPRequestHandler):
    """A stub of a judge's endpoint: no model, always the same answer."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        """The list of models."""
        self._send({"data": []})

    def do_POST(self) -> None:
        """A chat completion."""
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        content = json.dumps({"reason": "it says so", "answer": "yes"})
        message = {"role": "assistant", "content": content}
        self._send({"choices": [{"message": message, "finish_reason": "stop"}]})

    def _send(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def url() -> Iterator[str]:
    """Address of a running stub."""
    Stub.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A domain whose only task has a rubric."""
    folder = tmp_path / "shelf"
    shutil.copytree(SHELF, folder)
    for file in (folder / "tasks").iterdir():
        file.unlink()
    (folder / "tasks" / "ask.yaml").write_text(TASKS)
    return folder


def probe(tasks: Path, out: Path, *more: str, **env: str) -> Result:
    """Run the command to its end, in this process."""
    given = ["--tasks", str(tasks), "--policy", "golden", "--attempts", "2", "--out", str(out)]
    return CliRunner().invoke(
        app, [*given, *more], env={"COLUMNS": "200", **env}, catch_exceptions=False
    )


def test_a_task_with_a_rubric_is_refused_at_the_start(tasks: Path, tmp_path: Path) -> None:
    done = probe(tasks, tmp_path / "run")
    assert done.exit_code == 2
    assert (
        'shelf/ask/1: judge: asks a judge "Was the customer told that it is done?"' in done.stderr
    )
    assert "give --judge model --judge-option base_url=" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--judge", "nobody"], "probe.judge"),
        (["--judge", "model"], "needs base_url"),
        (["--judge-option", KEY], "Write NAME=VALUE"),
        (["--judge-option", f"key={KEY}"], "only of use with --judge model"),
        (["--judge", "model", "--judge-option", f"key={KEY}"], "no option key"),
        (
            ["--judge", "model", "--judge-option", f"base_url=http://x:{KEY}@h/v1"],
            "needs model",
        ),
    ],
)
def test_bad_input_is_one_clear_error_without_a_key(
    tasks: Path, tmp_path: Path, more: list[str], words: str
) -> None:
    done = probe(tasks, tmp_path / "run", *more)
    assert done.exit_code == 2
    assert words in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert not (tmp_path / "run").exists()


def test_a_run_with_a_judge_and_the_same_again_from_the_cache(
    tasks: Path, tmp_path: Path, url: str
) -> None:
    judge = ["--judge", "model", "--judge-cache", str(tmp_path / "votes.sqlite")]
    for option in (f"base_url={url}", "model=stub", "votes=3", "key_variable=JUDGE_KEY"):
        judge += ["--judge-option", option]
    first = probe(tasks, tmp_path / "first", *judge, JUDGE_KEY=KEY)
    assert first.exit_code == 0, first.stderr
    assert len(Stub.asked) == 3  # both attempts say the same
    again = probe(tasks, tmp_path / "again", *judge, JUDGE_KEY=KEY)
    assert again.exit_code == 0, again.stderr
    assert len(Stub.asked) == 3
    rows = [list(read_rows(tmp_path / name / "episodes.jsonl")) for name in ("first", "again")]
    assert digest(rows[0]) == digest(rows[1])
    assert [row["verdict"]["outcome"] for row in rows[0]] == ["passed", "passed"]
    (asked,) = rows[0][0]["verdict"]["details"]["judge"]
    assert asked["split"] == {"yes": 3, "no": 0}
    assert rows[0][0]["judge"]["model"] == "stub"
    resumed = probe(tasks, tmp_path / "first", "--resume", *judge, JUDGE_KEY=KEY)
    assert resumed.exit_code == 0, resumed.stderr
    other = probe(tasks, tmp_path / "first", "--resume", "--judge-option", "model=other")
    assert other.exit_code == 2
    assert "probe.judge_options" in other.stderr
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
