"""Starts verl and stays with it until it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Self

from outcomebox.sandbox import InputError
from outcomebox.train.launch.plan import Plan, process_environment

LOG_FILE = "train.log"
_SHIMS = "outcomebox.train.cpu.shims"


def prepare(plan: Plan) -> None:
    """Make what verl's processes find on their path.

    Raises:
        InputError: The training environment lacks something.
    """
    config = plan.config
    if config.cluster.device != "cpu" or config.rollout.backend != "vllm":
        return
    done = subprocess.run(
        [plan.python, "-m", _SHIMS, str(plan.out / "shims")],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        told = (done.stderr.strip().splitlines() or ["it told nothing"])[-1]
        raise InputError(told, file=plan.loaded.file, field="python", value=plan.python)


def start(plan: Plan) -> int:
    """Run verl; all it prints goes to standard output and to ``train.log`` in the run's folder.

    SIGINT and SIGTERM are handed on, once, and its end is waited for: Ray needs a moment to take
    its processes down.

    Args:
        plan: The run, written.

    Returns:
        Its exit status; where a signal ended it, 128 and the signal's number. verl itself ends
        with 1 then, for Ray turns the signal into an error of its own.

    Raises:
        InputError: It cannot be started.
    """
    try:
        process = subprocess.Popen(
            plan.command,
            env=process_environment(plan),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise InputError(
            f"cannot be started ({error.strerror}); name the training environment's Python",
            file=plan.loaded.file,
            field="python",
            value=plan.python,
        ) from error
    with (plan.out / LOG_FILE).open("ab") as log, _handed_on(process) as handed:
        assert process.stdout is not None  # noqa: S101 -- a pipe was asked for
        for line in process.stdout:
            log.write(line)
            log.flush()
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    status = process.wait()
    if status and handed.number is not None:
        return 128 + handed.number
    return status if status >= 0 else 128 - status


class _handed_on:  # noqa: N801 -- a context manager, used as a word
    """Hands signals on to a process while it runs.

    Attributes:
        number: The signal that was handed on last; None before.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.number: int | None = None
        self._process = process
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._hand_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hand_on(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._process.poll() is None:
            self.number = number
            os.killpg(self._process.pid, number)
