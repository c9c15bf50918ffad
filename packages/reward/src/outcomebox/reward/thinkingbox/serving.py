"""Serving one check: take an order, run it, report, end."""

from __future__ import annotations

import contextlib
import gc
import importlib
import linecache
import os
import resource
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outcomebox.reward.thinkingbox import channel as channels
from outcomebox.reward.thinkingbox import names
from outcomebox.reward.thinkingbox.asking import RunnersModel
from outcomebox.reward.thinkingbox.context import TestContext
from outcomebox.reward.thinkingbox.effects import Fetch, effects_of
from outcomebox.reward.thinkingbox.judging import Judge
from outcomebox.reward.thinkingbox.running import MODULE, run_check

# What test code imports most; a check that finds it here need not read it from disk.
_OFTEN_IMPORTED = ("collections", "copy", "datetime", "decimal", "difflib", "json", "math", "re")
_REHEARSALS = 10  # the interpreter adapts a function's code to its use after eight calls
_REHEARSED: Mapping[str, Any] = {
    "response": "text",
    "effects": {"server": {"diff": []}},
    "messages": [
        {"T": "Text", "role": "user", "content": "text"},
        {"T": "ToolCall", "name": "tool", "arguments": {}, "id": "1"},
        {"T": "ToolResponse", "name": "tool", "content": "text", "id": "1"},
    ],
}
_REHEARSAL = """
import json

from thinkingbox.common import Judge, TestContext

class Kind:
    size: int = 1

def check(x: TestContext, judge: Judge) -> None:
    found = [f"{name}: {json.dumps(each)}" for name, each in x.effects.items()]
    print(found, x.transcript(), x.query())
    x.metadata["found"] = {"all": found}
    assert not found, f"found {len(found)}"
"""


def serve() -> None:
    """Serve one check on standard input and output; does not return once it has."""
    names.install()
    _rehearse()
    channel = channels.Channel.of_stdio()
    gc.disable()  # what an order holds lives as long as this process
    order = channel.order()
    if order is None:
        return
    nonce = order.pop("nonce")
    channels.use(channel)
    channel.report(_run(order, channel.effects), nonce)
    # Without the interpreter's own shutdown: it costs more than the check, and threads or exit
    # handlers that the check has left behind must not go on.
    os._exit(0)


def _rehearse() -> None:
    """Run a check for nothing, so that what Python sets up on first use is there before a fork."""
    for name in _OFTEN_IMPORTED:
        importlib.import_module(name)
    for _ in range(_REHEARSALS):
        run_check(
            _REHEARSAL,
            function="check",
            file="<rehearsal>",
            context=TestContext.model_validate(_REHEARSED),
            judge=Judge(RunnersModel()),
            fixtures={},
        )
    del sys.modules[MODULE]
    linecache.cache.pop("<rehearsal>", None)


def _run(order: dict[str, Any], fetch: Fetch) -> dict[str, Any]:
    effects = effects_of(order["context"].get("effects", {}), order.get("later", ()), fetch)
    context = TestContext.model_validate({**order["context"], "effects": effects})
    sys.path[:0] = order.get("path", ())
    gc.freeze()
    gc.enable()
    with _limited(order.get("memory")):
        return run_check(
            order["code"],
            function=order["function"],
            file=order["file"],
            context=context,
            judge=Judge(RunnersModel(), order.get("judge_type", "legacy")),
            fixtures=order.get("fixtures", {}),
        )


@contextlib.contextmanager
def _limited(memory: int | None) -> Iterator[None]:
    """Let this process take so many bytes of private memory more; ask for more is MemoryError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    held = _data_bytes()
    if memory is None or held is None:
        yield
        return
    limits = [each for each in (held + memory, soft, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        # There must be room to report that there was none.
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_bytes() -> int | None:
    """Private writable memory of this process now, or None where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return None
