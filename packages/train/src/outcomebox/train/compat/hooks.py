"""Calls something right behind the import of a module.

verl runs in a dozen processes, and each imports only what it needs. A change to a module that is
made when that module is imported costs nothing elsewhere, and it is there before anybody can take
a name out of the module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Callback = Callable[[ModuleType], object]


class _TellingLoader(Loader):
    """Loads as another loader does, then calls back."""

    def __init__(self, loader: Any, callbacks: list[Callback]) -> None:
        self._loader = loader
        self._callbacks = callbacks

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        # The module belongs to its own loader, which also finds its source and its data.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for callback in self._callbacks:
            callback(module)


class _TellingFinder(MetaPathFinder):
    """Finds what the other finders find, for the modules that somebody waits for."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Callback]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        callbacks = self.waiting.get(fullname)
        if callbacks is None:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _TellingLoader(spec.loader, callbacks)
                return spec
        return None


_finder = _TellingFinder()


def after_import(name: str, callback: Callback) -> None:
    """Call back with a module as soon as it is imported; at once if it is there already.

    What the callback raises fails the import: a process goes on with a change or not at all.

    Args:
        name: Dotted name of the module. The packages above it may not be imported yet.
        callback: Takes the module, with all its names.
    """
    there = sys.modules.get(name)
    if there is not None:
        callback(there)
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.waiting.setdefault(name, []).append(callback)
