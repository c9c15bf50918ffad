"""A PostgreSQL server of one's own: made in a folder, reached through a socket, gone afterwards.

It keeps nothing and listens to no network, so it skips all that makes a server survive a power cut.
PostgreSQL refuses to run as root; root's server runs as an unprivileged user of the machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.postgresql.programs import NoServerError, find

_PREFIX = "outcomebox-pg-"
_PID = "pid"  # the server's own such file goes with it
_SUPERUSER = "outcomebox"
_STARTS_WITHIN_S = 60
_STOPS_WITHIN_S = 20
_PR_SET_PDEATHSIG = 1
# A socket's path has 107 characters, of which `/socket/.s.PGSQL.5432` takes some.
_LONGEST_FOLDER = 80
# A file system in memory (Linux). A database takes 8 MB, and some hundred may be there at a time.
_MEMORY, _MEMORY_BYTES = "/dev/shm", 4 << 30  # noqa: S108 -- mkdtemp is what makes files there

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0777",
    "max_connections": "200",
    # Nothing here outlives the server.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    # Its workers enter template databases, which then cannot be copied.
    "autovacuum": "off",
    "jit": "off",
    "max_prepared_transactions": "10",
    "log_min_messages": "warning",
}
"""Settings of the server, on top of PostgreSQL's own."""


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes:
        folder: Everything of it: data, socket and log.
        process: Its first process.
    """

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def dsn(self) -> str:
        """Where it is reached, as its superuser."""
        return f"postgresql:///postgres?host={self.folder / 'socket'}&user={_SUPERUSER}"


@contextlib.contextmanager
def throwaway() -> Iterator[Server]:
    """A fresh server; stopped and removed when the context ends, whatever happened in it.

    Raises:
        NoServerError: There is no PostgreSQL here, or it does not start.
    """
    folder = new_folder()
    _sweep(folder.parent)
    try:
        server = start(folder)
        try:
            yield server
        finally:
            stop(server.process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_folder() -> Path:
    """A fresh temporary folder: in memory where there is room, else on disk."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(_MEMORY).free >= _MEMORY_BYTES:
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_MEMORY))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    if len(str(folder)) > _LONGEST_FOLDER:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp"))
    return folder


def _sweep(parent: Path) -> None:
    """Remove the folders of servers that are gone: what a run that was killed has left."""
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            gone = not lives(int((folder / _PID).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue  # being made, being removed, or somebody else's
        if gone:
            shutil.rmtree(folder, ignore_errors=True)


def lives(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # gone since, or a system without /proc
        return not Path("/proc/self/stat").exists()
    return stat.rsplit(") ", 1)[1][0] != "Z"


def start(folder: Path, *, outlive: bool = False) -> Server:
    """Make and start a server in an empty folder.

    Args:
        folder: Where everything of it goes.
        outlive: Whether it goes on when this process ends.

    Raises:
        NoServerError: There is no PostgreSQL here, or it does not start.
    """
    programs, account = find(), _account()
    data, socket, log = folder / "data", folder / "socket", folder / "log"
    socket.mkdir()
    if account is not None:
        for path in (folder, socket):
            os.chown(path, account["user"], account["group"])
    folder.chmod(0o755)  # whoever runs tests may be another user
    made = subprocess.run(
        [
            *(programs / "initdb", "--pgdata", data, "--username", _SUPERUSER),
            *("--encoding", "UTF8", "--locale", "C", "--auth", "trust", "--no-sync"),
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=_environment(),
        **(account or {}),
    )
    if made.returncode:
        raise NoServerError(f"{programs / 'initdb'} failed: {made.stderr.strip()[-2000:]}")
    settings = [f"-c{name}={value}" for name, value in SETTINGS.items()]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", socket, *settings],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_environment(),
            start_new_session=True,
            preexec_fn=None if outlive else _die_with_parent,  # noqa: PLW1509 -- no threads here
            **(account or {}),
        )
    try:
        (folder / _PID).write_text(str(process.pid), encoding="utf-8")
        _await(process, data, log)
    except BaseException:
        stop(process)
        raise
    return Server(folder, process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a server at once: what it would still write down is not needed."""
    for number in (signal.SIGQUIT, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOPS_WITHIN_S)


def stop_folder(folder: Path) -> None:
    """Stop the server that :func:`start` made in a folder, and remove the folder.

    Raises:
        NoServerError: There is none.
    """
    try:
        pid = int((folder / _PID).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoServerError(
            f"{folder} holds no running server: give the folder that `start` printed"
        ) from error
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGQUIT)
    deadline = time.monotonic() + _STOPS_WITHIN_S
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    shutil.rmtree(folder)


def _await(process: subprocess.Popen[bytes], data: Path, log: Path) -> None:
    """Wait until the server takes connections, as it notes in the last line of its pid file."""
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except OSError:
            lines = []
        if len(lines) >= 8 and lines[7].strip() == "ready":
            return
        time.sleep(0.02)
    told = log.read_text(encoding="utf-8", errors="replace").strip()[-2000:]
    raise NoServerError(f"the server did not start: {told or 'it says nothing'}")


def _account() -> dict[str, Any] | None:
    """Arguments that start a process as an unprivileged user; None where this one is."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise NoServerError(
        "PostgreSQL does not run as root, and this machine has neither a user `postgres` nor "
        "`nobody` to run it as: add one"
    )


def _environment() -> dict[str, str]:
    """This process's environment without what would point PostgreSQL's programs elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _die_with_parent() -> None:
    """Have the kernel stop the server when whoever started it is killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
