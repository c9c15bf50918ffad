"""Planted secrets: wherever one comes in, it comes out nowhere."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.reward import secrets
from outcomebox.rollout.errors import PolicyError, classify
from scripted_policy import SHELF

KEY = 'sk-pl4nted/key+"odd'
HEADER = "h34der-s3cret"
PASSWORD = "p4ss:w0rd"
CODE = "c0de-of-the-query"
PLANTED = (KEY, HEADER, PASSWORD, CODE)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Nothing is a secret in the tests that follow."""
    yield
    secrets._known.clear()
    secrets._pattern.cache_clear()


def written_forms(value: str) -> list[str]:
    """Ways in which a secret may stand in a file."""
    return [
        value,
        quote(value, safe=""),
        json.dumps(value)[1:-1],
        json.dumps(json.dumps(value))[3:-3],
        base64.b64encode(value.encode()).decode().rstrip("=")[:-1],
    ]


def found_in(data: str) -> list[str]:
    """The planted secrets that a text holds."""
    return [value for value in PLANTED if any(form in data for form in written_forms(value))]


class Echo(BaseHTTPRequestHandler):
    """Refuses each request, and repeats everything that came with it."""

    requests: ClassVar[list[str]] = []
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """The models: none, but it is up."""
        self._answer(404)

    def do_POST(self) -> None:
        """A refusal. What processes can be seen to have been told is looked at now."""
        self.rfile.read(int(self.headers["Content-Length"]))
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                told = line.read_bytes().decode("utf-8", "replace")
            except OSError:
                continue  # it has ended
            self.seen.extend(found_in(told))
        # Where the episode's turns are counted, each answer is another kind of trouble.
        self._answer((400, 429, 200)[len(self.requests) % 3])

    def _answer(self, status: int) -> None:
        told = f"{self.path}\n{self.headers}"
        basic = self.headers.get("Authorization", "").removeprefix("Basic ")
        self.requests.append(told)
        body = json.dumps({"error": {"message": f"bad: {KEY} {basic}\n{told}"}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def port() -> Iterator[int]:
    """Port of a running server."""
    Echo.requests.clear()
    Echo.seen.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def command(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run our command."""
    return subprocess.run(
        [sys.executable, "-m", "outcomebox.rollout.commands.app", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("with_password", [False, True])
def test_a_run_against_a_server_that_repeats_all_it_is_told(
    port: int, tmp_path: Path, with_password: bool
) -> None:
    user = f"me:{quote(PASSWORD)}@" if with_password else ""
    env = {
        "PLANTED_KEY": KEY,
        "PLANTED_HEADER": HEADER,
        "OPENAI_BASE_URL": f"http://{user}127.0.0.1:{port}/v1?api-version=2026-01&code={CODE}",
    }
    out = tmp_path / "run"
    options = ("model=m", "key_variable=PLANTED_KEY", "headers=X-Team=PLANTED_HEADER", "attempts=2")
    told = [part for option in options for part in ("--policy-option", option)]
    ran = command(
        "run", "--tasks", str(SHELF), "--limit-tasks", "1", "--attempts", "2", "--policy", "openai",
        *told, "--out", str(out), env=env,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    # They did come to the server, which is what makes their absence elsewhere worth something.
    came = "\n".join(Echo.requests)
    assert HEADER in came
    assert CODE in came
    assert ("Basic " in came) if with_password else (KEY in came)
    shown = command("show", str(out), "--failed", env={})
    page = command("html", str(out), env={})
    assert page.returncode == 0, page.stderr
    rows = (out / "episodes.jsonl").read_text(encoding="utf-8")
    assert '"system_error"' in rows
    assert "***" in rows
    assert "api-version" in came
    texts = [ran.stdout, ran.stderr, shown.stdout, shown.stderr, page.stdout, page.stderr]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"run.json", "episodes.jsonl"} <= {path.name for path in files}
    texts += [path.read_bytes().decode("utf-8", "replace") for path in files]
    assert [found for text in texts for found in found_in(text)] == []
    assert Echo.seen == []


@pytest.mark.parametrize(
    "option", [f"base_url=http://me:{PASSWORD}@h/v1", f"key_variable={KEY}", f"headers=X={HEADER}"]
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_repeated(
    option: str, tmp_path: Path
) -> None:
    told = ("--policy-option", "model=m", "--policy-option", option)
    ran = command("run", "--policy", "openai", *told, "--out", str(tmp_path / "run"), env={})
    assert ran.returncode == 2
    assert found_in(ran.stdout + ran.stderr) == []
    assert not (tmp_path / "run").exists()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=6, max_size=40))
def test_a_secret_is_found_however_it_is_written(value: str) -> None:
    if len(value.strip()) < 6 or set(value) <= set('*\\"'):
        return  # no secret, or what stands in its place
    secrets._known.clear()
    secrets.remember(value)
    basic = base64.b64encode(f"me:{value}".encode()).decode()
    forms = [value, quote(value, safe=""), json.dumps(value), repr(value), basic]
    for form in forms:
        said = classify(PolicyError(f"[{form}]")).message
        assert said != f"[{form}]", form
        assert value not in said
