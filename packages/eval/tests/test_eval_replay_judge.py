"""A replay whose checks ask a judge model: both protocols, majority, cache, and no answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import stamina
from typer.testing import CliRunner

from outcomebox.eval.replay_command import app

DESK = Path(__file__).parents[3] / "examples" / "desk"
ASKING = "desk_refunds.py:part_refund_with_note"


class Stub(BaseHTTPRequestHandler):
    """A stub of a judge's endpoint: no model, says what a test wants."""

    asked: ClassVar[list[dict[str, Any]]] = []
    says: ClassVar[Callable[[dict[str, Any]], tuple[int, str]]]

    def do_GET(self) -> None:
        """The list of models."""
        self._send(200, {"data": []})

    def do_POST(self) -> None:
        """A chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        status, content = type(self).says(body)
        message = {"role": "assistant", "content": content}
        self._send(status, {"choices": [{"message": message, "finish_reason": "stop"}]})

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def url() -> Iterator[str]:
    """Address of a running stub; retries do not wait."""
    Stub.asked.clear()
    stamina.set_testing(True, attempts=2)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()
    stamina.set_testing(False)


def replay(out: Path, url: str, *more: str) -> dict[str, Any]:
    """The row of the one task that asks a judge."""
    given = [ASKING, "--dataset", str(DESK), "--servers", str(DESK / "servers.yaml")]
    given += ["--out", str(out), "--judge", "model", "--json"]
    for option in (f"base_url={url}", "model=stub"):
        given += ["--judge-option", option]
    done = CliRunner().invoke(app, [*given, *more], catch_exceptions=False)
    assert done.exit_code in {0, 1}, done.stderr
    (line,) = out.read_text().splitlines()
    row: dict[str, Any] = json.loads(line)
    return row


def always(text: str, status: int = 200) -> Callable[[dict[str, Any]], tuple[int, str]]:
    """Says one thing."""
    return lambda _body: (status, text)


def test_a_reply_is_read_by_the_datas_own_protocol(tmp_path: Path, url: str) -> None:
    Stub.says = always('{"motivation": "m", "answer": "Yes"}')
    row = replay(tmp_path / "rows.jsonl", url, "--judge-option", "protocol=motivation")
    assert row["verdict"] == "passed"
    assert (row["judge"]["name"], row["judge"]["model"]) == ("model", "stub")
    assert row["judge"]["protocol"] == "motivation"
    assert url.split("/")[2] not in json.dumps(row)


def test_the_majority_is_of_replies_as_the_check_reads_them_and_is_cached(
    tmp_path: Path, url: str
) -> None:
    replies = {0: "no", 1: "Yes, it does", 2: "It is so: yes"}
    Stub.says = lambda body: (200, replies[body["seed"]])
    more = ["--judge-option", "votes=3", "--judge-cache", str(tmp_path / "votes.sqlite")]
    row = replay(tmp_path / "rows.jsonl", url, *more)
    assert row["verdict"] == "passed"
    assert row["judge"]["replies"] == [{"cached": 0, "votes": 3, "split": {"yes": 2, "no": 1}}]
    assert len(Stub.asked) == 3
    row = replay(tmp_path / "again.jsonl", url, *more)
    assert row["verdict"] == "passed"
    assert row["judge"]["replies"] == [{"cached": 3, "votes": 3, "split": {"yes": 2, "no": 1}}]
    assert len(Stub.asked) == 3


def test_no_reply_is_no_verdict(tmp_path: Path, url: str) -> None:
    Stub.says = always("yes", 500)
    row = replay(tmp_path / "rows.jsonl", url)
    assert row["verdict"] == "system_error"
    assert (row["error"]["type"], row["error"]["phase"]) == ("JudgeError", "judge")


def test_a_judge_that_is_not_there_is_seen_before_the_run(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    given = ["--dataset", str(DESK), "--servers", str(DESK / "servers.yaml"), "--out", str(out)]
    given += ["--judge", "model", "--judge-option", "base_url=http://127.0.0.1:9/v1"]
    done = CliRunner().invoke(app, [*given, "--judge-option", "model=m"], catch_exceptions=False)
    assert done.exit_code == 2
    assert "does not answer" in done.stderr
    assert not out.exists()
