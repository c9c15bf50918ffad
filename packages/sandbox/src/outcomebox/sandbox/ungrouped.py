"""Task groups that serve one body raise the body's own error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise what a task group has wrapped as itself where it is the only failure.

    The groups here serve one body; who opens a session wants the body's error, not a group of one.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        only: BaseException = group
        while isinstance(only, BaseExceptionGroup) and len(only.exceptions) == 1:
            only = only.exceptions[0]
        if only is group:
            raise
        raise only from only.__cause__
