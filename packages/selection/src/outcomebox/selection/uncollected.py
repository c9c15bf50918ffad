"""Work on very many records without looking for cycles among them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Within it, or in a function that bears it, no cycles are looked for.

    Records of tasks and rows refer to nothing that refers to them: looking through a million of
    them takes seconds and finds nothing.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
