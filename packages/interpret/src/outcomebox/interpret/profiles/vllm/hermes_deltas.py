"""How the part of an output that the tool parser gets arrives: one token a delta."""

from bisect import bisect_right
from functools import cached_property

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.vllm.deltas import deltas_of


class Deltas:
    """The text of an output from some place on, and where it was cut into deltas.

    Attributes:
        text: All of it.
        start: Where it begins in the output.
    """

    def __init__(self, output: Output, start: int) -> None:
        """Take the output, as the engine hands it out, from `start` on."""
        self.text = output.text[start:]
        self.start = start
        self._output = output

    def before(self, start: int, end: int) -> int:
        """Return where the last delta ends that does not complete the marker from start to end."""
        # Without ids a marker that is spelled is one token.
        return start if self._output.tokens is None else self.at_or_before(end - 1)

    def at_or_before(self, position: int) -> int:
        """Return the last place up to `position` where a delta ends."""
        index = bisect_right(self._ends, position)
        return self._ends[index - 1] if index else 0

    @cached_property
    def last(self) -> int:
        """Where the last delta begins; the length of the text where that brought none.

        An output that ended by itself ends in a delta without text, as does one that was cut
        within a character.
        """
        if not self._output.cut:
            return len(self.text)
        return self._ends[-2] if len(self._ends) > 1 else 0

    @cached_property
    def _ends(self) -> list[int]:
        """Where each delta ends."""
        start, tokens = self.start, self._output.tokens
        if tokens is not None:
            return [end - start for end in tokens.ends[bisect_right(tokens.ends, start) :]]
        rest = self._output._replace(text=self.text)
        return [
            at + len(text) + len(marker) for _, text, marker, at in deltas_of(rest, frozenset())
        ]
