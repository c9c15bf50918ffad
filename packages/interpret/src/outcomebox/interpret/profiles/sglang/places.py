"""Where a stream's text stands in the output."""

from bisect import bisect_right
from collections.abc import Sequence

from outcomebox.interpret.profiles.sglang.reasoning import Step
from outcomebox.interpret.turn import Span


class Places:
    """Finds places of the steps' joined content in the output."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._offsets: list[int] = []
        self._starts: list[int] = []
        size = 0
        for step in steps:
            if step.content:
                self._offsets.append(size)
                self._starts.append(step.start)
                size += len(step.content)

    def of(self, span: Span) -> Span:
        """Return where a part of the joined content stands in the output."""
        start, end = span
        return self._of(start), self._of(max(start, end - 1)) + min(1, end - start)

    def _of(self, position: int) -> int:
        index = bisect_right(self._offsets, position) - 1
        return self._starts[index] + position - self._offsets[index]
