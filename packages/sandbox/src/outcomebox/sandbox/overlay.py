"""A mapping over another one, with some entries replaced: made at the cost of the entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Overlay(Mapping[K, V], Generic[K, V]):
    """What ``base`` holds, but for ``patch``.

    Nothing is copied: lookups cost two, iteration is over the base. Neither may change afterwards.

    Args:
        base: Any mapping.
        patch: New entries and replaced ones; None takes an entry away.
    """

    __slots__ = ("_base", "_length", "_patch")

    def __init__(self, base: Mapping[K, V], patch: Mapping[K, V | None]) -> None:
        self._base = base
        self._patch = patch
        self._length = len(base) + sum(
            (value is not None) - (key in base) for key, value in patch.items()
        )

    def __getitem__(self, key: K) -> V:
        if key not in self._patch:
            return self._base[key]
        value = self._patch[key]
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        if key in self._patch:
            return self._patch[key] is not None  # type: ignore[index]
        return key in self._base

    def __iter__(self) -> Iterator[K]:
        for key in self._base:
            if self._patch.get(key, key) is not None:
                yield key
        for key, value in self._patch.items():
            if value is not None and key not in self._base:
                yield key

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"Overlay({self._base!r}, {self._patch!r})"
