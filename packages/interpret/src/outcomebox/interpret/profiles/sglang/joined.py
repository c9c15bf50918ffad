"""What a client joins from the deltas of a stream."""

from outcomebox.interpret.profiles.sglang.xml_whole import Reading, Sent


class Joined:
    """Joins text and pieces of calls; pieces of one index are one call."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._names: dict[int, list[str]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._spans: dict[int, tuple[int, int]] = {}

    def text(self, text: str) -> None:
        """Take visible text."""
        self._content.append(text)

    def call(self, index: int, start: int, end: int, *, name: str = "", piece: str = "") -> None:
        """Take a name or a piece of the arguments, whose markup is at `start` to `end`."""
        self._names.setdefault(index, []).append(name)
        self._pieces.setdefault(index, []).append(piece)
        first, last = self._spans.get(index, (start, end))
        self._spans[index] = (min(first, start), max(last, end))

    def reading(self) -> Reading:
        """Return the whole, the calls in the order of their indices."""
        return Reading(
            "".join(self._content),
            [
                Sent("".join(self._names[index]), "".join(self._pieces[index]), self._spans[index])
                for index in sorted(self._names)
            ],
        )
