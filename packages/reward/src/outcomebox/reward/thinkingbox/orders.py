"""What a grader is told to do, and how that travels: as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from outcomebox.reward.thinkingbox.effects import is_large
from outcomebox.reward.thinkingbox.judging import JUDGE_TYPES
from outcomebox.sandbox.errors import InputError


@dataclass(frozen=True, slots=True)
class CheckOrder:
    """One check to run.

    Attributes:
        code: Its source, lines numbered as in its file, which binds ``__tb_test_fn``.
        function: Name of its function.
        file: Its file, as messages shall name it.
        uid: The task's uid.
        context: ``response, tool_direct_responses, effects, tool_calls, messages, init_result,
            session_id, metadata``, each optional, as JSON values; messages have a ``T``.
        fixtures: Name -> ``type`` and arguments, of all fixtures it may take.
        judge_type: ``legacy`` or ``motivation``.
        path: Folders from which its fixtures may be imported.

    Raises:
        InputError: ``judge_type`` is neither.
    """

    code: str
    function: str
    file: str
    uid: str
    context: Mapping[str, Any] = field(default_factory=dict)
    fixtures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    judge_type: str = "legacy"
    path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.judge_type not in JUDGE_TYPES:
            raise InputError(
                f"write one of {', '.join(JUDGE_TYPES)}",
                file=self.file,
                task=self.uid,
                field="judge_type",
                value=self.judge_type,
            )

    @property
    def session_id(self) -> str | None:
        """The session that the check may call tools of."""
        return self.context.get("session_id")


def encode_order(order: CheckOrder, *, nonce: str, memory_bytes: int | None) -> bytes:
    """An order as a worker reads it.

    Args:
        order: The check.
        nonce: What the worker must put on its result.
        memory_bytes: Private memory that the check may take.

    Raises:
        TypeError: The context or a fixture's argument is no JSON value.
    """
    effects: dict[str, Any] = {}
    later: list[tuple[str, str]] = []
    for server, found in order.context.get("effects", {}).items():
        large = {key for key, value in found.items() if is_large(value)} if _keyed(found) else set()
        effects[server] = (
            {key: None if key in large else value for key, value in found.items()}
            if large
            else found
        )
        later += [(server, key) for key in found if key in large] if large else []
    line = {
        "nonce": nonce,
        "code": order.code,
        "function": order.function,
        "file": order.file,
        "uid": order.uid,
        "context": {**order.context, "effects": effects},
        "later": later,
        "fixtures": order.fixtures,
        "judge_type": order.judge_type,
        "path": order.path,
        "memory": memory_bytes,
    }
    return json.dumps(line).encode() + b"\n"


def _keyed(found: Any) -> bool:
    """Whether single values of a server's effects can be left behind: keys must be text for it."""
    return isinstance(found, dict) and all(isinstance(key, str) for key in found)
