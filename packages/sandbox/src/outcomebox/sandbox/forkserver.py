"""The warm parent of a tool server: imports it once, then forks one process per session.

Run as ``python -I forkserver.py FD`` with one end of a Unix stream socket as ``FD``. It needs the
standard library only, so that it can run inside any environment a server is pinned to. Messages are
JSON, one a line:

=========  ==============================================================================
received   ``{"op": "import", "path": [...], "module": M, "file": F, "root": DIR}`` first;
           ``{"op": "open", "id": N, "env": {...}, "cwd": DIR}`` with two descriptors
           attached (the session's stdio, its standard error); ``{"op": "kill", "pid": P}``
sent       ``{"ready": true, "threads": N}`` or ``{"ready": false, "error": TEXT}``;
           ``{"id": N, "pid": P}`` or ``{"id": N, "error": TEXT}``; ``{"exit": P, "status": S}``
=========  ==============================================================================

Only this process reaps its children, so a pid it is asked to kill is never somebody else's. When
the socket closes, however its other end died, all children are killed and ``root`` is removed, and
so is the folder above it once it is empty.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import resource
import selectors
import shutil
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_MAX_DESCRIPTORS = 64


def main() -> None:
    """Serve the control socket whose descriptor is the first argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.setblocking(True)
    buffer = _Lines(control)
    first = buffer.next()
    if first is None:
        return
    order, _ = first
    try:
        try:
            run = _load(order)
        except BaseException as error:  # noqa: BLE001 -- reported to the client, whatever it is
            text = "".join(traceback.format_exception(error))
            _send(control, {"ready": False, "error": text[-4000:]})
            return
        _send(control, {"ready": True, "threads": _threads()})
        _serve(control, buffer, run)
    finally:
        if order.get("root"):
            shutil.rmtree(order["root"], ignore_errors=True)
            with contextlib.suppress(OSError):  # the last warm parent of a sandbox takes its folder
                Path(order["root"]).parent.rmdir()


def _load(order: dict[str, Any]) -> Any:
    sys.path[:] = order.get("path") or sys.path
    if order.get("file"):
        spec = importlib.util.spec_from_file_location("outcomebox_tool_server", order["file"])
        if spec is None or spec.loader is None:
            raise ImportError(f"not a Python file: {order['file']}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(order["module"])
    server = getattr(module, "server", None)
    if server is None or not callable(getattr(server, "run", None)):
        raise TypeError(f"{module.__name__} has no object `server` with a method `run`")
    return server.run


def _threads() -> int:
    """Threads of this process (not only Python's): a fork is safe with exactly one."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()


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


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        # The other end is gone; the next read sees that and ends this process.
        return


def _serve(control: socket.socket, lines: _Lines, run: Any) -> None:
    # A SIGCHLD wakes the selector through this pipe; reaping happens in the loop, not the handler.
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the runner, which then closes us
    prctl = _prctl()
    gc.collect()
    gc.freeze()  # keeps the collector from writing to, and so copying, the shared pages
    children: set[int] = set()
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    selector.register(wake_read, selectors.EVENT_READ)
    try:
        while True:
            for key, _ in selector.select():
                if key.fd == wake_read:
                    os.read(wake_read, 65536)
                    _reap(control, children)
                    continue
                while True:
                    item = lines.next()
                    if item is None:
                        return
                    order, descriptors = item
                    if order["op"] == "kill":
                        _kill(order["pid"], children)
                    else:
                        pid = _open(control, order, descriptors, run, prctl)
                        if pid is not None:
                            children.add(pid)
                    if not lines.waiting:
                        break
    finally:
        for pid in list(children):
            _kill(pid, children)
        for pid in children:
            os.waitpid(pid, 0)


def _reap(control: socket.socket, children: set[int]) -> None:
    while children:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        children.discard(pid)
        _send(control, {"exit": pid, "status": os.waitstatus_to_exitcode(status)})


def _kill(pid: int, children: set[int]) -> None:
    if pid not in children:
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)  # forked, but not yet the leader of its group


def _open(
    control: socket.socket, order: dict[str, Any], descriptors: list[int], run: Any, prctl: Any
) -> int | None:
    try:
        pid = os.fork()
    except OSError as error:
        _send(control, {"id": order["id"], "error": f"cannot fork: {error}"})
        pid = None
    if pid == 0:
        _child(order, descriptors, run, prctl)
    for descriptor in descriptors:
        os.close(descriptor)
    if pid is not None:
        _send(control, {"id": order["id"], "pid": pid})
    return pid


def _child(order: dict[str, Any], descriptors: list[int], run: Any, prctl: Any) -> None:
    """Become the session's server; never returns."""
    status = 1
    try:
        parent = os.getppid()
        os.setsid()
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        stdio, stderr = descriptors
        os.dup2(stdio, 0)
        os.dup2(stdio, 1)
        os.dup2(stderr, 2)
        # The inherited objects remember what their descriptors were; mcp 1 asks them to seek.
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        os.closerange(3, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))
        os.chdir(order["cwd"])
        os.environ.update(order["env"])
        run()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 -- what ends a session goes to its standard error
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            status = status or 1  # the client has hung up: nobody is left to read it
        # Without the interpreter's own shutdown, which costs more than a whole session.
        os._exit(status)


def _prctl() -> Any:
    """The libc call that ties a child's life to its parent's, where the system has it."""
    if not sys.platform.startswith("linux"):
        return None
    return ctypes.CDLL(None, use_errno=True).prctl


if __name__ == "__main__":
    main()
