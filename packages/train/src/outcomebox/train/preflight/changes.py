"""The changes that a run makes to verl, against the verl that is there."""

from __future__ import annotations

from outcomebox.train.compat import check
from outcomebox.train.preflight.context import Context


def check_changes(context: Context) -> str:
    """Every function that is changed is the one that its change was written for.

    Raises:
        InputError: One is not: verl was edited, or is another.
    """
    source = context.plan.source
    done = check(source.version, folder=source.package)
    words = {"patched": "will be made", "not needed": "is not needed"}
    return "; ".join(f"{each.name} {words[each.state]}" for each in done)
