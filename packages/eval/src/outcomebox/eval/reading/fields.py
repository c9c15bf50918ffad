"""Columns of ours from dotted fields of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.eval.reading.values import Place
from outcomebox.sandbox.errors import InputError


class Fields:
    """Where the columns of a kind of rows stand.

    Args:
        defaults: Column -> dotted paths, of which the first that is there counts.
        chosen: Column -> dotted path, as a person gives it; wins over the default.

    Raises:
        InputError: A chosen column is none of this kind.
    """

    def __init__(self, defaults: Mapping[str, Sequence[str]], chosen: Mapping[str, str]) -> None:
        for column in chosen:
            if column not in defaults:
                raise InputError(
                    f"there is no such column; use one of {', '.join(sorted(defaults))}",
                    field="field",
                    value=column,
                )
        self._paths = {
            column: [tuple(path.split(".")) for path in paths] for column, paths in defaults.items()
        }
        self._chosen = {column: tuple(path.split(".")) for column, path in chosen.items()}

    def name(self, column: str) -> str:
        """The path of a column, for errors."""
        return ".".join(self._chosen.get(column) or self._paths[column][0])

    def get(self, row: Mapping[str, Any], column: str, place: Place) -> Any:
        """The value of a column; None where it is not there.

        Raises:
            InputError: A person chose a path that no row of this kind can have: a part of it is
                neither an object nor a list.
        """
        chosen = self._chosen.get(column)
        if chosen is not None:
            return _walk(row, chosen, place)
        for path in self._paths[column]:
            found = _walk(row, path, place)
            if found is not None:
                return found
        return None


def _walk(row: Any, path: Sequence[str], place: Place) -> Any:
    # A name with dots of its own, whole, wins over steps.
    if isinstance(row, dict) and len(path) > 1 and ".".join(path) in row:
        return row[".".join(path)]
    found = row
    for number, step in enumerate(path):
        if found is None:
            return None
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isdecimal():
            found = found[int(step)] if int(step) < len(found) else None
        else:
            raise place.refuse(
                "is neither an object nor a list; mend the row or the --field",
                field=".".join(path[:number]),
                value=found,
            )
    return found


class Ids:
    """Ids that a system writes as texts or as numbers, as texts; never two of them as one."""

    def __init__(self) -> None:
        self._kinds: dict[str, type[Any]] = {}

    def text(self, value: Any, field: str, place: Place) -> str:
        """An id as a text.

        Raises:
            InputError: It is neither a text nor a whole number, or the number 1 and the text "1"
                both stand for tasks.
        """
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise place.refuse("must be a text or a whole number", field=field, value=value)
        found = str(value)
        kind = self._kinds.setdefault(found, type(value))
        if kind is not type(value):
            raise place.refuse(
                f"the number {found} and the text {found!r} both name a task; write the ids in one "
                "way",
                field=field,
            )
        return found
