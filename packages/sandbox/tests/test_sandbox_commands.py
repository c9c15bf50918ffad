"""`outcomebox-sandbox` as a person at a terminal, or a client that starts it, meets it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from outcomebox.sandbox.commands import app
from served import SHELF

SERVERS = "servers: {}\n"


def run(*given: str, env: dict[str, str] | None = None) -> Result:
    """The program with some arguments."""
    return CliRunner().invoke(app.program(), list(given), env=env)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (["serve"], "give --servers servers.yaml or --domain NAME"),
        (["serve", "--servers", "no.yaml"], "no.yaml"),
        (["serve", "--domain", "no"], "no such domain"),
        (["serve", "--domain", "retail", "--host", "203.0.113.7"], "add --token-env NAME"),
        (["serve", "--domain", "retail", "--token-env", "NOT_SET"], "NOT_SET"),
        (["serve", "--domain", "retail", "--host", "203.0.113.7", "--token-env", "T"], "--port"),
        (["mcp", "shelf/move/1", "--transport", "sse"], "write stdio or http"),
        (["mcp", "retail/no/such"], "there is no such task among"),
        (["mcp", "shelf/move/1", "--servers", "x.yaml"], "add --dataset"),
        (["mcp", "x.py:y", "--dataset", "no"], "no"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(given: list[str], part: str) -> None:
    result = run(*given, env={"T": "s3cret"})
    assert (result.exit_code, result.stdout) == (2, "")
    assert part in result.stderr
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    servers = tmp_path / "servers.yaml"
    servers.write_text(SERVERS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = run("serve", "--servers", str(servers), "--port", port)
    assert result.exit_code == 2
    assert "take another --port" in result.stderr


def test_other_packages_add_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("hello", "test_sandbox_commands:hello", app.GROUP)
    monkeypatch.setattr(app, "entry_points", lambda group: [point] if group == app.GROUP else [])
    assert "hello" in run("--help").stdout
    assert run("hello").stdout == "hello there\n"


def hello() -> None:
    """Says hello."""
    sys.stdout.write("hello there\n")


def lines(*messages: Any) -> bytes:
    """Messages, one a line."""
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def test_a_task_over_standard_streams() -> None:
    command = [sys.executable, "-m", "outcomebox.sandbox.commands", "mcp", "shelf/move/1"]
    command += ["--tasks", str(SHELF)]
    move = {"name": "move_box", "arguments": {"box_id": "B-008", "shelf_id": "S-2"}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": move},
        {"id": 4, "method": "tools/call", "params": {"name": "__reserved__init"}},
    ]
    data = lines(*({"jsonrpc": "2.0", **message} for message in asked)) + b"{\n"
    ran = subprocess.run(command, input=data, capture_output=True, timeout=60, check=True)
    started, listed, moved, refused, broken = map(json.loads, ran.stdout.splitlines())
    assert started["result"]["protocolVersion"] == "2025-03-26"
    assert "Please move box B-008" in started["result"]["instructions"]
    assert "expect" not in started["result"]["instructions"]
    assert "move_box" in {tool["name"] for tool in listed["result"]["tools"]}
    assert moved["result"]["isError"] is False
    assert refused["result"]["isError"] is True
    assert broken["error"]["code"] == -32700
