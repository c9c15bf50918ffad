"""What a client holds of a call's arguments when vLLM has streamed them.

At every piece of a call's text the server writes the arguments anew, as far as they cannot change,
and sends what is longer than what it sent before; what does not begin with that, it does not send.
So a value that turns out to be another one stops the stream for good, and the arguments stay cut.

This module comes to the same end without writing them anew. Between two changes of the parameters
each version is the beginning of the next, so it is enough to look at the last piece before each
change, and of the arguments only at what the change touched.

Not reproduced: an opener whose halves stand around a whole parameter (`<para`, the parameter,
`meter=x>`), which the server takes for one once it has cut that parameter out.
"""

import json
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from outcomebox.interpret.profiles.vllm.xml_arguments import Arguments, json_object
from outcomebox.interpret.profiles.vllm.xml_parameters import Parameter, parameters_in

_EARLY = 32
_NEAR = 8
"""How many pieces of a value are looked at, at its beginning and around the length of another."""


def sent(pieces: Sequence[str], named: int, arguments: Arguments, *, closed: bool) -> str:
    """Return what was sent of a call's arguments.

    Args:
        pieces: The text of the call's arguments, in the pieces it was read in.
        named: The index of the piece at which its name was sent; that sends no arguments.
        arguments: How the arguments are written.
        closed: Whether the call ended: then the rest is sent, of the parameters that have an end.
    """
    body = "".join(pieces)
    ends = list(accumulate(map(len, pieces)))
    parameters = parameters_in(body)
    version = _Version(arguments)
    whole: dict[str, str] = {}
    starts = [each.start for each in parameters[1:]]
    for index, parameter in enumerate(parameters):
        first = max(named + 1, bisect_left(ends, parameter.start))
        last = _last(ends, parameter.known)
        if first <= last:
            version.try_out(parameter, body, ends[first : last + 1])
        if parameter.known is not None:
            value = arguments.value(parameter.name, body[parameter.start : parameter.end])
            whole[parameter.name] = value
            version.put(parameter.name, value)
            if _last(ends, starts[index] if index < len(starts) else None) > named:
                version.send()
    out = version.sent()
    if closed:
        final = json_object(whole)
        if len(final) > len(out) and final.startswith(out):
            return final
    return out


def _last(ends: Sequence[int], before: int | None) -> int:
    """Return the index of the last piece that ends before a place; None: of the last one."""
    return len(ends) - 1 if before is None else bisect_left(ends, before) - 1


class _Version:
    """The arguments as they stand, beside what was sent.

    Both are lists of members in the same order. Of what was sent all but the last are whole. A set
    holds the places where what stands no longer begins with what was sent.
    """

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._places: dict[str, int] = {}
        self._keys: list[str] = []
        self._values: list[str] = []
        self._sent: list[str] = []
        self._changed: set[int] = set()
        self._lost: str | None = None

    def put(self, key: str, value: str) -> None:
        """Set a member."""
        place = self._places.setdefault(key, len(self._keys))
        if place == len(self._keys):
            self._keys.append(json.dumps(key, ensure_ascii=False))
            self._values.append(value)
            return
        self._values[place] = value
        if place < len(self._sent):
            self._compare(place)

    def try_out(self, parameter: Parameter, body: str, ends: Sequence[int]) -> None:
        """Send what can be sent while a parameter has no end.

        Args:
            parameter: The parameter.
            body: The text of the arguments.
            ends: Where the pieces end that come before its end is known.
        """
        key = parameter.early_name
        if key is None:
            self.send()
            return
        place = self._places.get(key)
        before = None if place is None else self._values[place]
        for end in self._moments(place, parameter.start, ends):
            self.put(key, self._arguments.value(key, body[parameter.start : end]))
            self.send()
            if not self._changed:
                break
        if key == parameter.name:
            return
        if before is not None:
            self.put(key, before)
            return
        if self._lost is None and len(self._sent) == len(self._keys):
            # It was sent and is not there any more: nothing begins with it again.
            self._lost = self.sent()
        del self._places[key]
        self._keys.pop()
        self._values.pop()

    def _moments(self, place: int | None, start: int, ends: Sequence[int]) -> Sequence[int]:
        """Return where a growing value has to be looked at: at its longest, as a rule.

        A parameter that is there again may pass through the very value that was sent before, and
        grow on: then the rest is sent at that moment. That is looked for at the first pieces, and
        where the value becomes as long as that one.
        """
        if place is None or place == len(self._keys) - 1 or self._changed != {place}:
            return ends[-1:]
        near = bisect_left(ends, start + len(self._sent[place]) - 2)
        return [*ends[:_EARLY], *ends[max(near - _NEAR, _EARLY) : near + _NEAR], ends[-1]]

    def send(self) -> None:
        """Send what is new, if what stands begins with what was sent."""
        if self._lost is not None or self._changed or not self._keys:
            return
        last = len(self._keys) - 1
        del self._sent[-1:]
        self._sent += self._values[len(self._sent) : last]
        grows = self._arguments.grows(self._keys[last])
        self._sent.append(self._values[last][:-1] if grows else "")

    def sent(self) -> str:
        """Return what was sent."""
        if self._lost is not None:
            return self._lost
        members = zip(self._keys, self._sent, strict=False)
        joined = ", ".join(f"{key}: {value}" for key, value in members)
        return "{" + joined if self._sent else ""

    def _compare(self, place: int) -> None:
        value, sent = self._values[place], self._sent[place]
        whole = place < len(self._sent) - 1
        if value == sent if whole else value.startswith(sent):
            self._changed.discard(place)
        else:
            self._changed.add(place)
