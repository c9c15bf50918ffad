"""Shared memory that is closed while tensors still look into it.

verl 0.9.0 and 0.9.1 hand weights to vLLM through a segment of shared memory, and the receiver
moves each tensor to its device before the segment is closed. On a CPU that move copies nothing: the
tensors still lie in the segment, and closing it raises ``BufferError`` ("cannot close exported
pointers exist"). The weights have been copied into the model by then, and each transfer uses a
segment of its own. So it may stay mapped until its last tensor goes, when Python unmaps it; its
file is closed at once, or each update would leave one open.
"""

from __future__ import annotations

import functools
import os
from multiprocessing.shared_memory import SharedMemory
from typing import Any


def fix() -> None:
    """Wrap ``SharedMemory.close``, once: memory that is still looked into is left to Python."""
    made = SharedMemory.close
    if getattr(made, "leaves_what_is_used", False):
        return

    @functools.wraps(made)
    def close(self: SharedMemory) -> None:
        try:
            made(self)
        except BufferError:
            descriptor = self._fd  # type: ignore[attr-defined]
            if descriptor >= 0:
                os.close(descriptor)
                self._fd = -1  # type: ignore[attr-defined]

    wrapper: Any = close
    wrapper.leaves_what_is_used = True
    SharedMemory.close = wrapper  # type: ignore[method-assign]
