"""Effects that come when a check first looks at them.

A server's effects can hold its whole database, twice, where most checks read a hash and a list of
differences. Moving and parsing a megabyte costs more than all else a check does, so large values
stay with the runner until they are asked for. Everything but that is as with a plain dict.
"""

from __future__ import annotations

import gc
import json
import marshal
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsIndex, TypeAlias

Fetch: TypeAlias = Callable[[str, str], Any]
"""Gives the value of a server's effects under a key."""

_PENDING = object()  # stands where a value has not come yet; nothing can serialize it unnoticed
_MANY = 250  # values from which another round trip is cheaper than moving them for nothing
_LONG = 16_384  # characters, the same


def is_large(value: Any) -> bool:
    """Whether a value is to stay with the runner until it is asked for."""
    left, todo = _MANY, [value]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            if len(each) > _LONG:
                return True
        elif isinstance(each, dict):
            left -= len(each)
            todo += each.values()
        elif isinstance(each, (list, tuple)):
            left -= len(each)
            todo += each
        if left < 0:
            return True
    return False


def encode(value: Any) -> tuple[str, bytes]:
    """A value and the codec it is in.

    Marshal keeps every JSON value as it is (also numbers of any size and text that is no UTF-8),
    in a tenth of the time of json; both ends are one interpreter. It takes no subclasses.

    Raises:
        TypeError: It is no JSON value.
    """
    try:
        return "marshal", marshal.dumps(value)
    except ValueError:
        return "json", json.dumps(value).encode()


def decode(codec: str, data: bytes) -> Any:
    """The value that :func:`encode` has encoded.

    Raises:
        ValueError: There is no such codec.
    """
    if codec not in {"marshal", "json"}:
        raise ValueError(f"effects come as marshal or json, not {codec!r}")
    # All of it lives until the check ends: a collection on the way would find nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        # Marshal is only ever read from the runner that started this process, never from a check.
        return marshal.loads(data) if codec == "marshal" else json.loads(data)  # noqa: S302
    finally:
        if collecting:
            gc.enable()


def effects_of(
    values: Mapping[str, Any], later: Iterable[tuple[str, str]], fetch: Fetch
) -> dict[str, Any]:
    """Server -> effects, of which some values are fetched on first use.

    Args:
        values: Server -> effects, with anything where a value is to be fetched.
        later: Server and key of those.
        fetch: Where they come from.
    """
    pending: dict[str, set[str]] = {}
    for server, key in later:
        pending.setdefault(server, set()).add(key)
    return {
        server: LazyEffects(server, found, pending[server], fetch) if server in pending else found
        for server, found in values.items()
    }


class LazyEffects(dict[str, Any]):
    """A server's effects, of which some values are fetched on first use.

    Reading one key fetches that one; whatever could look at several fetches all first.

    Args:
        server: Whose they are.
        values: All keys, with anything where a value is to be fetched.
        pending: The keys of those.
        fetch: Where they come from.
    """

    def __init__(
        self, server: str, values: Mapping[str, Any], pending: set[str], fetch: Fetch
    ) -> None:
        super().__init__({key: _PENDING if key in pending else values[key] for key in values})
        self._server = server
        self._pending = pending
        self._fetch = fetch

    def _have(self, key: Any) -> None:
        if key in self._pending:
            super().__setitem__(key, self._fetch(self._server, key))
            self._pending.discard(key)

    def _all(self) -> LazyEffects:
        for key in [*self._pending]:
            self._have(key)
        return self

    def __getitem__(self, key: str) -> Any:
        self._have(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """As for a dict."""
        self._have(key)
        return super().get(key, default)

    def __setitem__(self, key: str, value: Any) -> None:
        self._pending.discard(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._pending.discard(key)
        super().__delitem__(key)

    # Copies made in C (dict(x), {**x}) ask for the keys and items only if iteration is not dict's.
    def __iter__(self) -> Any:
        return super().__iter__()

    def items(self) -> Any:
        """As for a dict."""
        return dict.items(self._all())

    def values(self) -> Any:
        """As for a dict."""
        return dict.values(self._all())

    def pop(self, key: str, *default: Any) -> Any:
        """As for a dict."""
        self._have(key)
        return super().pop(key, *default)

    def popitem(self) -> tuple[str, Any]:
        """As for a dict."""
        return dict.popitem(self._all())

    def setdefault(self, key: str, default: Any = None) -> Any:
        """As for a dict."""
        self._have(key)
        return super().setdefault(key, default)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As for a dict."""
        dict.update(self._all(), *args, **kwargs)

    def clear(self) -> None:
        """As for a dict."""
        self._pending.clear()
        super().clear()

    def copy(self) -> dict[str, Any]:
        """A plain dict."""
        return {**self._all()}

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyEffects):
            other._all()
        return dict.__eq__(self._all(), other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # as for every dict

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return dict.__repr__(self._all())

    def __reduce_ex__(self, _protocol: SupportsIndex) -> tuple[Any, ...]:
        return dict, (self.copy(),)
