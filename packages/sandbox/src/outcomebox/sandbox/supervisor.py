"""The supervisor of a tool server: runs it up to where it serves, then forks one process a session.

Run as ``python supervisor.py FD`` with one end of a Unix stream socket as ``FD``, by the Python the
server is meant for. It needs the standard library only, so that it works in any environment a
server is pinned to. Messages are JSON, one a line:

=========  ==============================================================================
received   ``{"op": "load", ...}`` first (see ``_Supervisor``); ``{"op": "open", "id": N,
           "env": {...}, "cwd": DIR, "seed": N, "note": FILE}`` with two descriptors
           attached (the session's stdio, its standard error); ``{"op": "kill", "pid": P}``;
           ``{"op": "warm", "modules": [...]}``
sent       ``{"ready": true, "unforkable": [...], "confined": {...}, "notes": [...]}`` with
           its listening sockets attached, or ``{"ready": false, "error": TEXT}``;
           ``{"id": N, "pid": P}`` or ``{"id": N, "error": TEXT}``;
           ``{"exit": P, "status": S, "cpu_s": T}``;
           ``{"warmed": true}``
=========  ==============================================================================

Where it forks: the program is executed as ``python`` itself would, as ``__main__``, until it first
makes an event loop or touches ``sys.stdin``. All before that (imports, tables read from disk, tools
registered) happened once and is shared copy-on-write; each session goes on from there in a process
of its own. So a session sees exactly what a fresh start would have given it.

Only this process reaps its children, so a pid it is asked to kill is never somebody else's. When
the socket closes, however its other end died, all children are killed and ``root`` is removed, and
so is the folder above it once it is empty.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import gc
import importlib
import json
import os
import random
import resource
import runpy
import selectors
import shutil
import signal
import socket
import struct
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, cast

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_MADV_COLLAPSE, _HUGE_PAGE = 25, 2 << 20
_MAX_DESCRIPTORS = 64
_TRIAL_S = 20


def main() -> None:
    """Serve the control socket whose descriptor is the first argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.setblocking(True)
    lines = _Lines(control)
    first = lines.next()
    if first is None:
        return
    order, _ = first
    supervisor = _Supervisor(control, lines, order)
    try:
        supervisor.run()
    finally:
        supervisor.end()
        # Without the program's own exit handlers, which were made for a server that has served.
        os._exit(0)


class _Lines:
    """Lines of JSON from a stream socket, each with the descriptors that came along."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._data = b""
        self._descriptors: list[int] = []

    def next(self) -> tuple[dict[str, Any], list[int]] | None:
        while b"\n" not in self._data:
            data, descriptors, _, _ = socket.recv_fds(self._control, 65536, _MAX_DESCRIPTORS)
            self._descriptors += descriptors
            if not data:
                return None
            self._data += data
        line, _, self._data = self._data.partition(b"\n")
        order = json.loads(line)
        count = order.get("descriptors", 0)
        attached, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        return order, attached

    @property
    def waiting(self) -> bool:
        return b"\n" in self._data


class _Forked(BaseException):
    """Unwinds nothing: raised only to leave the program when the supervisor has to end."""


class _Supervisor:
    """One server kind: its program, and the processes forked (or started) for its sessions.

    Fields of the first order: ``arguments`` (what follows ``python`` and its flags: ``-m MODULE``
    or a script, then its own arguments), ``command`` (the whole command, to start it anew),
    ``fork`` (whether to run the program here up to its fork point), ``path`` (search path to use
    as it is, or null for Python's own), ``root``, ``leavings`` (files to remove at the end),
    ``confine`` (take away the network but for a
    loopback of its own), ``ports`` (to listen on there), ``memory`` (bytes of private writable
    memory a session may add) and ``files`` (descriptors it may open).
    """

    def __init__(self, control: socket.socket, lines: _Lines, order: dict[str, Any]) -> None:
        self.control = control
        self.lines = lines
        self.order = order
        self.children: set[int] = set()
        self.is_child = False
        self.reached = False
        self.libc = _libc()
        self.selector = selectors.DefaultSelector()
        self.listening: list[socket.socket] = []
        self.notes: list[str] = []
        self.wake_read, self.wake_write = os.pipe()
        # The write end lives as long as this process: its end is how a child sees it die.
        self.alive_read, self.alive_write = os.pipe()
        for descriptor in (self.wake_read, self.wake_write, self.alive_read):
            os.set_blocking(descriptor, False)
        self.confined: dict[str, Any] = {"network": False, "processes": False, "reason": ""}
        self.pid_namespace: int | None = None
        self.shared_bytes = 0

    # -- the supervisor's own life ---------------------------------------------------------

    def run(self) -> None:
        """Load the program, then serve until the client hangs up; in a child, run the session."""
        try:
            self._confine()
            for port in self.order.get("ports", ()):
                listener = _listen(port)
                if listener is None:
                    self.notes.append(f"port {port} is another program's here, and is left to it")
                else:
                    self.listening.append(listener)
        except OSError as error:
            self._send({"ready": False, "error": str(error)})
            return
        if not self.order["fork"]:
            self._serve()
            return
        try:
            self._execute()
        except BaseException as error:  # noqa: BLE001 -- reported to the client, whatever it is
            if self.is_child:
                self._finish_child(error)
            if not self.reached:
                text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
                self._send({"ready": False, "error": text[-4000:]})
            return
        if self.is_child:
            self._finish_child(None)
        if not self.reached:
            text = "it ended without ever reading its standard input or starting an event loop"
            self._send({"ready": False, "error": text, "unforkable": [text]})

    def end(self) -> None:
        """Kill what is left and remove the folder of the sessions."""
        if self.is_child:
            return
        for pid in list(self.children):
            self._kill(pid)
        for pid in self.children:
            os.waitpid(pid, 0)
        self._kill_orphans()
        for path in self.order.get("leavings", ()):
            with contextlib.suppress(OSError):
                Path(path).unlink()
        root = self.order.get("root")
        if root:
            shutil.rmtree(root, ignore_errors=True)
            with contextlib.suppress(OSError):  # the last supervisor of a sandbox takes its folder
                Path(root).parent.rmdir()

    def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        data = json.dumps(message).encode() + b"\n"
        try:
            if descriptors:
                sent = socket.send_fds(self.control, [data], descriptors)
                data = data[sent:]
            self.control.sendall(data)
        except OSError:
            # The other end is gone; the next read sees that and ends this process.
            return

    # -- isolation -------------------------------------------------------------------------

    def _confine(self) -> None:
        if self.libc is None:
            self.confined["reason"] = "only Linux has namespaces"
            return
        self.libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if self.order.get("confine"):
            self._confine_network()
        namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        if self.libc.setns(namespace, _CLONE_NEWPID) == 0 and (
            self.libc.unshare(_CLONE_NEWPID) == 0
        ):
            # Back again, until a session is forked: see `_new_pid_namespace`.
            self.libc.setns(namespace, _CLONE_NEWPID)
            self.pid_namespace = namespace
            self.confined["processes"] = True
        else:
            os.close(namespace)

    def _confine_network(self) -> None:
        libc = self.libc
        uid, gid = os.getuid(), os.getgid()
        if libc.unshare(_CLONE_NEWNET) != 0:
            if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
                self.confined["reason"] = os.strerror(ctypes.get_errno())
                return
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            request = struct.pack("16sh", b"lo", 0)
            flags = struct.unpack("16sh", fcntl.ioctl(probe, _SIOCGIFFLAGS, request))[1]
            fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))
        self.confined["network"] = True
        # Nobody can be reached whose certificate could be verified, and clients that read all
        # certificates of the world for each request spend more on that than on the session.
        os.environ.setdefault("SSL_CERT_DIR", self.order["root"])

    def _new_pid_namespace(self) -> None:
        """Make the next fork the first process of a namespace: its end is the end of all in it."""
        if self.pid_namespace is None:
            return
        if self.libc.setns(self.pid_namespace, _CLONE_NEWPID) != 0 or (
            self.libc.unshare(_CLONE_NEWPID) != 0
        ):
            raise OSError(ctypes.get_errno(), "no process namespace for the session")

    # -- the program, up to its fork point -------------------------------------------------

    def _execute(self) -> None:
        """Run the program as ``__main__``; returns only if it ends, or in a child when it does."""
        arguments = self.order["arguments"]
        if self.order.get("path"):
            sys.path[:] = self.order["path"]
        elif sys.path[:1] == [str(Path(__file__).parent)]:
            del sys.path[0]
        self._watch_for_serving()
        if arguments[0] == "-m":
            if not getattr(sys.flags, "safe_path", False) and not self.order.get("path"):
                sys.path.insert(0, str(Path.cwd()))
            sys.argv[:] = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            if not getattr(sys.flags, "safe_path", False) and not self.order.get("path"):
                sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
            sys.argv[:] = arguments
            runpy.run_path(arguments[0], run_name="__main__")

    def _watch_for_serving(self) -> None:
        import asyncio  # noqa: PLC0415 -- after the namespaces, and only where a program is run

        reach = self.fork_point
        sys.stdin = cast(Any, _Stdin(reach))
        name = "BaseDefaultEventLoopPolicy"
        policy: Any = getattr(asyncio.events, name, None) or getattr(asyncio.events, f"_{name}")
        _before(policy, "new_event_loop", reach)
        if hasattr(asyncio, "Runner"):  # 3.11; uvloop and the like go through it
            _before(asyncio.Runner, "__init__", reach)

    def fork_point(self) -> None:
        """Where the program starts to serve: sessions fork here. Returns only in a session."""
        if self.is_child or self.reached:
            return
        self.reached = True
        self._serve()
        if not self.is_child:
            raise _Forked

    def _unforkable(self) -> list[str]:
        """Why sessions must not be forked from here: what a fork would share or lose."""
        reasons = []
        tasks = Path("/proc/self/task")
        threads = len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()
        if threads > 1:
            reasons.append(f"it has {threads} threads after its import")
        own = {0, 1, 2, self.control.fileno(), self.wake_read, self.wake_write}
        own |= {self.alive_read, self.alive_write, self.pid_namespace or 0}
        own |= {item.fileno() for item in self.listening} | {self.selector.fileno()}
        folder = Path("/proc/self/fd")
        for entry in sorted(folder.iterdir()) if folder.exists() else ():
            if int(entry.name) in own:
                continue
            with contextlib.suppress(OSError):  # the listing's own descriptor is gone again
                what = str(entry.readlink())
                if what.startswith(("socket:", "anon_inode:", "pipe:")):
                    reasons.append(f"it holds an open {what.partition(':')[0]} after its import")
                elif _writes(entry.name) and what not in self.order.get("leavings", ()):
                    reasons.append(f"it holds {what} open for writing after its import")
        return reasons

    # -- sessions --------------------------------------------------------------------------

    def _serve(self) -> None:
        """Take orders until the client hangs up; returns early in a forked child."""
        # A SIGCHLD wakes the selector through this pipe; reaping is done in the loop.
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the runner, which closes us
        unforkable = self._unforkable() if self.order["fork"] else []
        listening = [item.fileno() for item in self.listening]
        ready = {"ready": True, "unforkable": unforkable, "confined": self.confined}
        self._send({**ready, "notes": self.notes}, listening)
        for item in self.listening:
            item.close()
        self.listening = []
        if self.order["fork"]:
            self._settle()
        self.selector.register(self.control, selectors.EVENT_READ)
        self.selector.register(self.wake_read, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fd == self.wake_read:
                    os.read(self.wake_read, 65536)
                    self._reap()
                    continue
                while True:
                    received = self.lines.next()
                    if received is None:
                        return
                    self._obey(*received)
                    if self.is_child:
                        return
                    if not self.lines.waiting:
                        break

    def _obey(self, order: dict[str, Any], descriptors: list[int]) -> None:
        if order["op"] == "kill":
            self._kill(order["pid"])
        elif order["op"] == "warm":
            self._warm(order["modules"])
        else:
            self._open(order, descriptors)

    def _warm(self, modules: list[str]) -> None:
        """Import what a session needed, so that later ones find it there, unless it does harm."""
        if self._harmless(modules):
            _import(modules)
            self._settle()
        self._send({"warmed": True})

    def _settle(self) -> None:
        """Make the memory that sessions will share cheap to share."""
        gc.collect()
        gc.freeze()  # keeps the collector from writing to, and so copying, the shared pages
        self.shared_bytes = _data_bytes()
        if self.libc is not None:
            _collapse(self.libc.madvise)

    def _harmless(self, modules: list[str]) -> bool:
        """Whether a fork that imports these could still be forked; tried in one that ends then."""
        try:
            self._new_pid_namespace()
            pid = os.fork()
        except OSError:
            return False
        if pid == 0:
            signal.alarm(_TRIAL_S)  # ends it: what hangs here would hang all sessions there
            _import(modules)
            os._exit(len(self._unforkable()) > 0)
        return os.waitpid(pid, 0)[1] == 0

    def _reap(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.children:  # anything else is an orphan that a session left behind
                self.children.discard(pid)
                spent = used.ru_utime + used.ru_stime
                code = os.waitstatus_to_exitcode(status)
                self._send({"exit": pid, "status": code, "cpu_s": spent})

    def _kill(self, pid: int) -> None:
        if pid not in self.children:
            return
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)  # forked, but not yet the leader of its group

    def _kill_orphans(self) -> None:
        """End what sessions have left behind where no process namespace has ended it already."""
        path = Path("/proc/self/task") / str(os.getpid()) / "children"
        while True:
            try:
                orphans = [int(pid) for pid in path.read_text().split()]
            except OSError:
                return
            if not orphans:
                return
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _open(self, order: dict[str, Any], descriptors: list[int]) -> None:
        try:
            self._new_pid_namespace()
            pid = os.fork()
        except OSError as error:
            self._send({"id": order["id"], "error": f"cannot fork: {error}"})
            pid = -1
        if pid == 0:
            self.is_child = True
            try:
                self._become(order, descriptors)
            except BaseException as error:  # noqa: BLE001 -- ends this process, and only this one
                self._finish_child(error)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        if pid > 0:
            self.children.add(pid)
            self._send({"id": order["id"], "pid": pid})

    # -- in a session's process ------------------------------------------------------------

    def _become(self, order: dict[str, Any], descriptors: list[int]) -> None:
        """Turn this fork into the session's process (which goes on when this returns)."""
        os.setsid()
        if self.libc is not None:
            self.libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            os.close(self.alive_write)
            try:
                if os.read(self.alive_read, 1) == b"":
                    os._exit(1)  # the supervisor died between the fork and the line above
            except BlockingIOError:
                pass  # it lives: nothing is ever written there
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # These objects would otherwise close, some day, what has got their number by then.
        self.selector.close()
        self.control.close()
        stdio, stderr = descriptors
        os.dup2(stdio, 0)
        os.dup2(stdio, 1)
        os.dup2(stderr, 2)
        os.closerange(3, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))
        os.chdir(order["cwd"])
        self._limit()
        if not self.order["fork"]:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            environment = {**os.environ, **order["env"]}
            command = self.order["command"]
            os.execvpe(command[0], command, environment)  # noqa: S606 -- the server's own command
        os.environ.update(order["env"])
        # The inherited objects remember what their descriptors were; mcp 1 asks them to seek.
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.__stdin__, sys.__stdout__ = sys.stdin, sys.stdout  # type: ignore[misc]
        random.seed(order["seed"])
        if order.get("note"):
            sys.meta_path.insert(0, _ImportLog(order["note"]))

    def _limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        files = self.order.get("files")
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        memory = self.order.get("memory")
        if memory:
            # Private writable memory, not address space: runtimes reserve far more than they use.
            limit = memory + self.shared_bytes
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    def _finish_child(self, error: BaseException | None) -> None:
        """End this session's process with the status the program would have ended with."""
        status = 0
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
            if isinstance(error.code, str):
                sys.stderr.write(f"{error.code}\n")
        elif error is not None:
            status = 1
            traceback.print_exception(type(error), error, error.__traceback__)
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            status = status or 1  # the client has hung up: nobody is left to read it
        # Without the interpreter's own shutdown, which costs more than a whole session.
        os._exit(status)


class _Stdin:
    """Standard input before there is one: its first use is where the program starts to serve."""

    def __init__(self, reach: Any) -> None:
        self._reach = reach

    def __getattr__(self, name: str) -> Any:
        self._reach()
        return getattr(sys.stdin, name)

    def __iter__(self) -> Any:
        self._reach()
        return iter(sys.stdin)


class _ImportLog:
    """Writes down the modules that a rehearsed session imports, in their order."""

    def __init__(self, file: str) -> None:
        self._file = Path(file).open("a", encoding="utf-8")  # noqa: SIM115 -- as long as this

    def find_spec(self, name: str, *_: Any) -> None:
        self._file.write(f"{name}\n")
        self._file.flush()


def _import(modules: list[str]) -> None:
    for name in modules:
        # One that a running server may import, but that cannot be imported like this, is left to
        # each session, which imports it as it always would.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _before(owner: Any, name: str, action: Any) -> None:
    original = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        action()
        return original(*args, **kwargs)

    setattr(owner, name, wrapped)


def _writes(descriptor: str) -> bool:
    """Whether a descriptor can overwrite (appending is safe: log files of many do it)."""
    try:
        flags = fcntl.fcntl(int(descriptor), fcntl.F_GETFL)
    except OSError:
        return False
    writes = flags & os.O_ACCMODE in {os.O_WRONLY, os.O_RDWR} and not flags & os.O_APPEND
    return writes and Path(f"/proc/self/fd/{descriptor}").is_file()


def _listen(port: int) -> socket.socket | None:
    """A socket that listens on the loopback; None where somebody else does already."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    listener.listen(512)
    return listener


def _collapse(madvise: Any) -> None:
    """Put private memory into huge pages where it fits: a fork copies the tables of all pages.

    Best effort: a kernel that cannot or will not says so, and nothing is lost.
    """
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in maps.read_text().splitlines():
        place, access, *_, inode = line.split()[:5]
        if access[1] == "w" and access[3] == "p" and inode == "0":
            start, end = (int(part, 16) for part in place.split("-"))
            first = -(-start // _HUGE_PAGE) * _HUGE_PAGE
            for at in range(first, end - _HUGE_PAGE + 1, _HUGE_PAGE):
                madvise(at, _HUGE_PAGE, _MADV_COLLAPSE)


def _data_bytes() -> int:
    """Private writable memory of this process now, in bytes (as RLIMIT_DATA counts it)."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def _libc() -> Any:
    """The C library, where it has the calls that tie and confine processes."""
    if not sys.platform.startswith("linux"):
        return None
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main()
