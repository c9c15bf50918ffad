"""A service under load, mistreated, abandoned and killed: nothing leaks, nobody sees another."""

from __future__ import annotations

import json
import signal
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from process_states import alive, descendants
from served import Client, serve_command

CLIENTS = 64


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test, in which temporary files are made too."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def gone(pids: set[int], within_s: float = 10.0) -> bool:
    """Whether processes end within a time that only a broken system takes."""
    deadline = time.monotonic() + within_s
    while any(alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def one_client(url: str, number: int) -> None:
    """A client of its own, with a session of its own and a sum of its own."""
    with httpx.Client(base_url=url, timeout=120) as http:
        client, name = Client(http), f"c{number}"
        world = {"ledger": {"accounts": {"A": 1000 + number, f"own-{number}": 0}}}
        deadline = time.monotonic() + 100
        order = {"server_config": world, "available_tools": ["pay", "balance"]}
        while (found := client.ask("session_create", session_id=name, **order))[0] == 429:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert found[0] == 200, found
        for amount in (1, 2, number):
            arguments = {"source": "A", "target": f"own-{number}", "amount": amount}
            assert client.call(name, "pay", **arguments)[0] == 200
        state = client.value("get_effects", session_id=name)["ledger"]["result_db_state"]
        assert state["accounts"] == {"A": 997, f"own-{number}": number + 3}
        assert len(state["entries"]) == 3
        client.value("session_destroy", session_id=name)


def test_64_clients_at_once_share_24_places(folder: Path) -> None:
    flags = ("--max-sessions", "24", "--wait", "1")
    with serve_command(folder, *flags) as (process, client):
        url = str(client.http.base_url)
        resting = descendants(process.pid)
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda number: one_client(url, number), range(CLIENTS)))
        client.until("outcomebox_sessions ", 0)
        assert client.metric('outcomebox_session_events_total{event="created"}') == CLIENTS
        assert client.metric('outcomebox_session_events_total{event="destroyed"}') == CLIENTS
        assert gone(descendants(process.pid) - resting)


def test_clients_that_go_away_leave_nothing(folder: Path) -> None:
    with serve_command(folder, "--idle-minutes", "0.02") as (process, client):
        resting = descendants(process.pid)
        for number in range(12):
            if number % 2:
                client.open(f"a{number}")
            else:  # gone before the answer
                body = {"server_config": {"ledger": {}}, "available_tools": []}
                with pytest.raises(httpx.ReadTimeout):
                    client.http.post(
                        "/session_create",
                        json={"session_id": f"a{number}", **body},
                        timeout=httpx.Timeout(5, read=0.001),
                    )
        client.until('outcomebox_session_events_total{event="created"}', 12)
        client.until("outcomebox_sessions ", 0)
        assert client.metric('outcomebox_session_events_total{event="expired"}') == 12
        assert gone(descendants(process.pid) - resting)
        sessions = [path for path in (folder / "tmp").rglob("s[0-9]*") if path.is_dir()]
        assert not sessions


NOISE = [
    b"",
    b"\x00\xff\x13\x37" * 64,
    b"GET\r\n\r\n",
    b"POST /call_tool HTTP/1.1\r\nHost: localhost\r\nContent-Length: -4\r\n\r\n",
    b"POST /call_tool HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n{",
    b"POST /call_tool HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}GET",
    b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: [\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000,
]


def test_noise_instead_of_requests_hurts_nobody(folder: Path) -> None:
    with serve_command(folder) as (process, client):
        client.open("a")
        address = ("127.0.0.1", int(client.http.base_url.port or 0))
        left_open = []
        for noise in NOISE * 5:
            connection = socket.create_connection(address)
            left_open.append(connection)
            try:
                connection.sendall(noise)
            except OSError:
                continue
        status, text = client.call("a", "balance", account="A")
        assert (status, json.loads(text)["balance"]) == (200, 10)
        for connection in left_open:
            connection.close()
        assert process.poll() is None
        assert client.metric("outcomebox_sessions ") == 1


@pytest.fixture(params=[signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def how(request: pytest.FixtureRequest) -> signal.Signals:
    """A signal that ends it."""
    return request.param  # type: ignore[no-any-return]


def test_a_signal_ends_all_that_belongs_to_it(folder: Path, how: signal.Signals) -> None:
    with serve_command(folder) as (process, client):
        for number in range(6):
            client.open(f"a{number}")
        started = descendants(process.pid)
        assert len(started) >= 6
        process.send_signal(how)
        status = process.wait(timeout=20)
        assert status == (-signal.SIGKILL if how == signal.SIGKILL else 0)
        assert gone(started)
        deadline = time.monotonic() + 10
        while any((folder / "tmp").iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not list((folder / "tmp").iterdir())
