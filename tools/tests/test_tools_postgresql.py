"""The throw-away server: it serves while its command runs, and nothing of it is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tools.postgresql.programs import NoServerError, find
from tools.postgresql.server import lives, stop_folder, throwaway
from tools.tree import ROOT


def _there() -> bool:
    try:
        find()
    except NoServerError:
        return False
    return True


needed = pytest.mark.skipif(not _there(), reason="there is no PostgreSQL on this machine")
RUN = [sys.executable, "-m", "tools.postgresql", "run", "--"]
SHOW = "import os; print(os.environ['OUTCOMEBOX_BACKEND'], flush=True)"


def run(*program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *program], check=False, cwd=ROOT, capture_output=True, text=True)


def socket_of(dsn: str) -> Path:
    (folder,) = parse_qs(urlsplit(dsn).query)["host"]
    return Path(folder)


@needed
def test_a_command_gets_a_server_and_its_status_is_kept() -> None:
    program = f"{SHOW}; from pathlib import Path; from urllib.parse import *; import sys; "
    program += "host = parse_qs(urlsplit(os.environ['OUTCOMEBOX_BACKEND']).query)['host'][0]; "
    program += "sys.exit(7 if (Path(host) / '.s.PGSQL.5432').is_socket() else 8)"
    done = run(sys.executable, "-c", program)
    assert done.returncode == 7, done.stderr
    assert not socket_of(done.stdout.strip()).parent.exists()


@needed
def test_a_command_that_cannot_be_run_is_told() -> None:
    done = run("no-such-program")
    assert done.returncode == 2
    assert done.stderr == "error: no-such-program cannot be run: No such file or directory\n"


def test_no_command_is_told() -> None:
    done = run()
    assert (done.returncode, done.stderr) == (
        2,
        "error: no program to run: write `run -- PROGRAM ARGUMENTS`\n",
    )


def test_no_programs_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OUTCOMEBOX_POSTGRESQL", str(tmp_path))
    with pytest.raises(NoServerError, match=r"tools\.postgresql install"):
        find()


@needed
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_however_the_command_ends_the_server_does_too(number: signal.Signals) -> None:
    program = f"{SHOW}; import time; time.sleep(60)"
    process = subprocess.Popen(
        [*RUN, sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    folder = socket_of(process.stdout.readline().strip()).parent
    pid = int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
    process.send_signal(number)
    process.wait()
    deadline = time.monotonic() + 30
    while lives(pid):
        assert time.monotonic() < deadline, "the server goes on"
        time.sleep(0.05)
    if number == signal.SIGKILL:
        assert folder.exists()
        with throwaway():
            pass  # sweeps up what the killed one has left
    assert not folder.exists()


@needed
def test_a_server_is_gone_with_its_context(tmp_path: Path) -> None:
    with throwaway() as server:
        assert server.process.poll() is None
        pid = server.process.pid
    assert not lives(pid)
    with pytest.raises(NoServerError, match="holds no running server"):
        stop_folder(tmp_path)
