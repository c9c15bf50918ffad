"""Fixtures: what a check takes by the names of its parameters.

``{"name": {"type": "package.module.attribute", **arguments}}``. The attribute is called with the
arguments and, for required parameters that they leave open, with other fixtures, ``judge`` and
``x``. What it gives is entered if it is a context manager, and left when the check is over.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class FixtureError(RuntimeError):
    """A fixture cannot be made; the message names it and, where one can, says what to mend."""


@dataclass(frozen=True, slots=True)
class _Fixture:
    name: str
    make: Callable[..., Any]
    arguments: Mapping[str, Any]
    needs: tuple[str, ...]


@contextmanager
def fixtures_for(
    names: Iterable[str], configs: Mapping[str, Any], given: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Some fixtures, made after whatever they need, left in the opposite order.

    Args:
        names: The fixtures wanted.
        configs: Name -> ``type`` and arguments, of all there are.
        given: Values that can be asked for by name like a fixture.

    Raises:
        FixtureError: One is unknown, needs itself or something unknown, or cannot be made.
    """
    wanted = list(names)
    made: dict[str, Any] = dict(given)
    with ExitStack() as stack:
        for fixture in _ordered(wanted, configs, given):
            arguments = {**fixture.arguments, **{name: made[name] for name in fixture.needs}}
            try:
                value = fixture.make(**arguments)
            except Exception as error:
                raise FixtureError(
                    f"fixture {fixture.name} cannot be made: {type(error).__name__}: {error}"
                ) from error
            if hasattr(type(value), "__enter__") and hasattr(type(value), "__exit__"):
                value = stack.enter_context(value)
            made[fixture.name] = value
        yield {name: made[name] for name in wanted}


def _ordered(
    names: Iterable[str], configs: Mapping[str, Any], given: Mapping[str, Any]
) -> list[_Fixture]:
    order: dict[str, _Fixture] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in order:
            return
        if name in path:
            circle = " -> ".join([*path[path.index(name) :], name])
            raise FixtureError(f"fixtures need each other in a circle: {circle}")
        if name not in configs:
            who = f"fixture {path[-1]}" if path else "the check"
            known = ", ".join(sorted({*configs, *given})) or "none"
            raise FixtureError(
                f"{who} needs {name}, and there is no such fixture; define it in conftest.yaml or "
                f"the scenario, or give the parameter a default (there are: {known})"
            )
        fixture = _load(name, configs[name])
        for need in fixture.needs:
            if need not in given:
                visit(need, (*path, name))
        order[name] = fixture

    for name in names:
        visit(name, ())
    return list(order.values())


def _load(name: str, config: Any) -> _Fixture:
    if not isinstance(config, Mapping) or not isinstance(config.get("type"), str):
        raise FixtureError(f"fixture {name} has no `type`; write type: package.module.attribute")
    where: str = config["type"]
    module, dot, attribute = where.rpartition(".")
    if not dot or not module:
        raise FixtureError(f"fixture {name}: type {where} names no module; write module.attribute")
    try:
        make = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise FixtureError(
            f"fixture {name}: {where} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    arguments = {key: value for key, value in config.items() if key != "type"}
    return _Fixture(name, make, arguments, _needs(make, arguments))


def _needs(make: Callable[..., Any], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The required parameters that the arguments leave open."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # a callable in C that does not tell
        return ()
    return tuple(
        each.name
        for each in parameters
        if each.kind in _NAMED and each.default is each.empty and each.name not in arguments
    )
