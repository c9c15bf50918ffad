"""How a task's own ``init`` is laid over its scenario's ``world_state``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge(a: Any, b: Any) -> Any:
    """Lay one value over another.

    Two mappings: the keys of both, in the order of ``a`` and then of ``b``; under a key of both,
    the two are merged in turn. Two lists: ``a``, then ``b``. Anything else: ``b``.

    Neither is changed, and no container of the result is one that was merged. Parts that only one
    side has are shared with it, not copied: treat a merged value, and what went into it, as
    constant.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a | {key: merge(a[key], value) if key in a else value for key, value in b.items()}
    if isinstance(a, list) and isinstance(b, list):
        return [*a, *b]
    return b


def merge_servers(
    world_state: Mapping[str, Any], init: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """What each server is started with: the scenario's servers in order, then the task's own.

    A scenario's value that is empty (null, ``{}``) is replaced by the task's, whatever its type.

    Raises:
        ValueError: The scenario has something for a server that a task cannot be merged into; the
            message names the server.
    """
    servers = dict(world_state)
    for server, own in init.items():
        given = servers.get(server)
        if given and not isinstance(given, dict):
            raise ValueError(
                f"init.{server}: the scenario's world_state.{server} is a "
                f"{type(given).__name__}, into which nothing can be merged; make it a mapping"
            )
        servers[server] = merge(given, own) if given else own
    return servers
