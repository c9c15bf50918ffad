"""What a user can get wrong in a selection, as errors that say how to mend it.

Two kinds cross this package's border, and a command turns both into one line on stderr and exit
status 2:

* `InputError`: a file, a row or a setting is not what the contract says.
* `EmptyPoolError`: everything was readable and no task passed the gates. It is an error because a
  training run over no tasks looks, from the outside, like a training run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outcomebox.selection.curate import Selection

_SHOWN = 120


class SelectionError(Exception):
    """Base of everything this package raises on purpose."""


class InputError(SelectionError):
    """A file, field and value that cannot be used, with the mend.

    Attributes:
        where: the file, with `:line` for a row, or `command line` for a flag.
        field: dotted name of the field; empty when the whole file or row is meant.
        problem: what is wrong, as a clause without a full stop.
        mend: what to do about it, as a sentence without a full stop.
    """

    def __init__(self, where: str, field: str, problem: str, mend: str) -> None:
        self.where = where
        self.field = field
        self.problem = problem
        self.mend = mend
        place = f"{where}: {field}" if field else where
        super().__init__(f"{place}: {problem}. {mend}.")


class EmptyPoolError(SelectionError):
    """No task was kept.

    Attributes:
        selection: the decisions, to be shown; it must not be written as a pool.
        reasons: how many tasks each reason kept out.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.reasons = selection.reasons()
        counts = ", ".join(f"{name} {count}" for name, count in self.reasons.items())
        super().__init__(
            f"no task was kept, so no pool is written ({counts or 'there were no tasks'}). "
            "Widen bands.retain, lower gates.min_clean_runs, or probe more tasks."
        )


def shown(value: Any) -> str:
    """Writes a value as JSON, shortened, for an error message.

    Args:
        value: anything that came out of a JSON or YAML file.

    Returns:
        At most about 120 characters.
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
