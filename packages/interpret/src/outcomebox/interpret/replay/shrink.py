"""A smallest example of a class: an output from which nothing can be taken without losing it.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE
TSE 28(2), 2002) over markup and words, then over characters. A step may not bring in a class that
the output did not have before, so that an example never drifts from one fault into another.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from outcomebox.interpret.output import PromptState
from outcomebox.interpret.replay.causes import ClassKey, Finding
from outcomebox.interpret.replay.compare import compare
from outcomebox.interpret.replay.readings import Reader, Reading
from outcomebox.interpret.replay.recorded import RecordedTurn
from outcomebox.interpret.tools import Toolbox

DEFAULT_TRIES = 4_000
"""Most readings of one class; a turn of a few thousand characters needs about a tenth."""

_MOST_CHARACTERS = 20_000_000
"""Most characters to read for one class, so that a huge output takes no huge time."""

_PIECE = re.compile(r"<[^<>\n]*>|\w+|\n|[^\w\n]")
_OPENER = re.compile(r"<(\w+)[^<>\n]*>")
_MOST_ELEMENTS = 200

_PLAIN_STATES: tuple[PromptState, ...] = ("think_closed", "think_open")


class Shrunk(NamedTuple):
    """A smallest example.

    Attributes:
        turn: The output and its surroundings.
        left: What the left reader makes of it.
        right: What the right one does.
        findings: All that differs in it, the class it stands for among them.
        tries: How many outputs were read to find it.
        minimal: Whether no character can be left out; False where the tries ran out.
    """

    turn: RecordedTurn
    left: Reading
    right: Reading
    findings: tuple[Finding, ...]
    tries: int
    minimal: bool


class _SpentError(Exception):
    """The tries are used up."""


def shrink(
    turn: RecordedTurn,
    key: ClassKey,
    left: Reader,
    right: Reader,
    *,
    decode: Callable[[Sequence[int]], str] | None = None,
    tries: int = DEFAULT_TRIES,
    texts: bool = True,
) -> Shrunk:
    """Return a smallest output, in the smallest surroundings, that still shows a class.

    The same turn gives the same example.

    Args:
        turn: An output that shows the class.
        key: The class.
        left: The left reader.
        right: The right one.
        decode: Returns the text of ids, for turns that are read from ids.
        tries: Most outputs to read.
        texts: Whether reasoning and content are compared too.

    Raises:
        ValueError: The turn does not show the class.
    """
    work = _Shrinking(turn, key, (left, right), tries, texts=texts)
    minimal = True
    try:
        if turn.ids is not None and not work.take(turn._replace(ids=None)):
            work.ids(decode)
        else:
            work.both_ways()
    except _SpentError:
        minimal = False
    best = work.best
    one, other = left.read(best), right.read(best)
    return Shrunk(
        best, one, other, tuple(compare(best, one, other, texts=texts)), work.spent, minimal
    )


class _Shrinking:
    def __init__(
        self,
        turn: RecordedTurn,
        key: ClassKey,
        readers: tuple[Reader, Reader],
        tries: int,
        *,
        texts: bool,
    ) -> None:
        self.best = turn
        self.spent = 0
        self._characters = 0
        self._key = key
        self._readers = readers
        self._texts = texts
        self._tries = tries
        self._backwards = False
        self._errors: tuple[str, str] | None = None
        self._allowed, self._names_called = self._look(turn)
        if key not in self._allowed:
            raise ValueError(f"the turn does not show {key.cause} by {key.by}")

    def _look(self, turn: RecordedTurn) -> tuple[frozenset[ClassKey], set[tuple[str, ...]]]:
        """Return the classes that a turn shows, and the names of its calls and arguments."""
        if self.spent >= self._tries or self._characters > _MOST_CHARACTERS:
            raise _SpentError
        self.spent += 1
        self._characters += len(turn.text)
        left, right = (reader.read(turn) for reader in self._readers)
        errors = left.error, right.error
        if self._errors is None:
            self._errors = errors
        if errors != self._errors:
            return frozenset(), set()  # another failure is another example
        names: set[tuple[str, ...]] = set()
        for reading in (left, right):
            for call in reading.calls:
                if call.executable:
                    names.add((call.name,))
                    names |= {(call.name, name) for name in call.arguments or ()}
                    if turn.toolbox.offered(call.name) is False:
                        names.add((call.name, "", "is not offered"))
        found = compare(turn, left, right, texts=self._texts)
        return frozenset(finding.key for finding in found), names

    def take(self, turn: RecordedTurn) -> bool:
        """Keep a turn if it still shows the class, and no other class or call than before."""
        found, names = self._look(turn)
        if self._key not in found or not found <= self._allowed:
            return False
        if not names <= self._names_called:
            return False
        self.best, self._allowed, self._names_called = turn, found, names
        return True

    def both_ways(self) -> None:
        """Take away from the front first, then again from the back first; keep the shorter end."""
        start = self.best, self._allowed, self._names_called
        self._rounds()
        front = self.best, self._allowed, self._names_called
        self.best, self._allowed, self._names_called = start
        self._backwards = True
        try:
            self._rounds()
        finally:
            if _size(front[0]) <= _size(self.best):
                self.best, self._allowed, self._names_called = front

    def _rounds(self) -> None:
        """Take away until a whole round takes nothing."""
        while True:
            before = self.best
            self._surroundings()
            self._elements()
            self._pieces(_PIECE.findall(self.best.text))
            self._pieces(list(self.best.text))
            self._pairs()
            self._tools()
            self._names()
            if self.best == before:
                return

    def ids(self, decode: Callable[[Sequence[int]], str] | None) -> None:
        """Take ids away; only what ids tell shows the class."""
        if decode is None or self.best.ids is None:
            return

        def made(ids: Sequence[Any]) -> RecordedTurn:
            return self.best._replace(ids=tuple(ids), text=decode(ids))

        self._surroundings()
        self._least(list(self.best.ids), made)
        self._tools()

    def _pieces(self, pieces: list[str]) -> None:
        self._least(pieces, lambda kept: self.best._replace(text="".join(kept)))

    def _least(self, units: list[Any], made: Callable[[Sequence[Any]], RecordedTurn]) -> None:
        """Take away runs of units, long ones first, then ever shorter, down to single ones."""
        length = max(1, len(units) // 2)
        while True:
            took = False
            start = max(0, len(units) - length) if self._backwards else 0
            while 0 <= start < len(units):
                fewer = units[:start] + units[start + length :]
                if self.take(made(fewer)):
                    units[:] = fewer
                    took = True
                    start -= length if self._backwards else 0
                elif self._backwards:
                    start = start - length if start >= length else -1 if not start else 0
                else:
                    start += length
            if length == 1 and not took:
                return
            length = max(1, length // 2)

    def _elements(self) -> None:
        """Take away whole elements, the longest first: a call, then a parameter."""
        took = True
        while took:
            took = False
            for start, end in _elements(self.best.text):
                text = self.best.text
                if self.take(self.best._replace(text=text[:start] + text[end:])):
                    took = True
                    break

    def _pairs(self) -> None:
        """Take away two pieces of markup at once: an opener and its closer."""
        pieces = _PIECE.findall(self.best.text)
        marked = [place for place, piece in enumerate(pieces) if len(piece) > 1 and piece[0] == "<"]
        for position, first in enumerate(marked):
            for second in marked[position + 1 :]:
                rest = [p for place, p in enumerate(pieces) if place not in {first, second}]
                if self.take(self.best._replace(text="".join(rest))):
                    return

    def _surroundings(self) -> None:
        if self.best.finish_reason != "stop":
            self.take(self.best._replace(finish_reason="stop"))
        for state in _PLAIN_STATES:
            if self.best.prompt_state == state:
                break
            if self.take(self.best._replace(prompt_state=state)):
                break

    def _tools(self) -> None:
        """Take away tools, then parameters, then what schemas say beside their type."""
        if self.best.tools is None:
            return
        self._least(list(self.best.tools), self._offering)
        for index in range(len(self.best.tools or ())):
            for path in ("properties", ""):
                self._least_schema(index, path)
            tool = (self.best.tools or ())[index]
            function = tool.get("function", tool)
            if set(function) - {"name", "parameters"}:
                bare = {name: function[name] for name in ("name", "parameters") if name in function}
                self.take(self._with_tool(index, bare))

    def _offering(self, tools: Sequence[Any]) -> RecordedTurn:
        return self.best._replace(tools=list(tools), toolbox=Toolbox(list(tools)))

    def _least_schema(self, index: int, path: str) -> None:
        tool = (self.best.tools or ())[index]
        function = tool.get("function", tool)
        schema = function.get("parameters")
        if not isinstance(schema, dict):
            return
        properties = schema.get("properties")
        names = list(properties) if path and isinstance(properties, dict) else list(schema)

        def made(kept: Sequence[str]) -> RecordedTurn:
            if path and isinstance(properties, dict):
                smaller = {**schema, "properties": {name: properties[name] for name in kept}}
            else:
                smaller = {name: schema[name] for name in kept}
            return self._with_tool(index, {**function, "parameters": smaller})

        self._least(names, made)

    def _with_tool(self, index: int, function: dict[str, Any]) -> RecordedTurn:
        tools = list(self.best.tools or ())
        tools[index] = {"type": "function", "function": function}
        return self._offering(tools)

    def _names(self) -> None:
        """Give tools and arguments names of one letter."""
        for path in sorted(self._names_called):
            if len(path) == 1:
                self._rename(path[0], "f")
        letters = iter("abcdeghijklmnop")
        for name in sorted({path[1] for path in self._names_called if len(path) > 1}):
            if name:
                self._rename(name, next(letters, name))

    def _rename(self, old: str, new: str) -> None:
        """Give one name a new one, in the output and in the tools."""
        paths = self._names_called
        if len(old) < 2 or any(new in path for path in paths):
            return
        text = re.sub(rf"(?<![\w.-]){re.escape(old)}(?![\w.-])", new, self.best.text)
        turn = self.best._replace(text=text)
        if self.best.tools is not None:
            tools = [_renamed(tool, old, new) for tool in self.best.tools]
            try:
                turn = turn._replace(tools=tools, toolbox=Toolbox(tools))
            except ValueError:
                return  # two tools of one name
        self._names_called = {tuple(new if n == old else n for n in path) for path in paths}
        if not self.take(turn):
            self._names_called = paths


def _size(turn: RecordedTurn) -> tuple[int, int, str]:
    """Order turns: a shorter output first, then fewer tools."""
    return len(turn.text), len(turn.tools or ()), turn.text


def _elements(text: str) -> list[tuple[int, int]]:
    """Return the places of markup from an opener to its closer, the longest first."""
    found = []
    for opener in _OPENER.finditer(text):
        closer = f"</{opener[1]}>"
        end = text.find(closer, opener.end())
        if end >= 0:
            found.append((opener.start(), end + len(closer)))
    return sorted(found, key=lambda place: (place[0] - place[1], place))[:_MOST_ELEMENTS]


def _renamed(tool: Any, old: str, new: str) -> Any:
    function = dict(tool.get("function", tool))
    if function["name"] == old:
        function["name"] = new
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(schema, dict) and isinstance(properties, dict) and old in properties:
        named = {new if name == old else name: each for name, each in properties.items()}
        function["parameters"] = {**schema, "properties": named}
    return {"type": "function", "function": function}
