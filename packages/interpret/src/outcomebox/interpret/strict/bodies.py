"""Reads the body of a JSON call: an object, a list of them, or a header and its arguments."""

import re
from typing import NamedTuple

from outcomebox.interpret.formats.base import MAX_NAME
from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.callobjects import fill_arguments, fill_object
from outcomebox.interpret.strict.decode import Decoded, DecodeFault, decode
from outcomebox.interpret.strict.headers import Found, HeaderPattern, headers_of
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.raw import RawCall, Source

_SPACE = re.compile(rf"[{WHITE_SPACE}]*")
_LISTED = re.compile(rf"\[[{WHITE_SPACE}]*\{{")
_OTHER_FORM = re.compile(rf"[{WHITE_SPACE}]*(?:\{{|\[[{WHITE_SPACE}]*\{{|<function)")
_QUOTE = r"[\"']"
_MEMBER = rf"{_QUOTE}\w{{1,20}}{_QUOTE}\s*:\s*{_QUOTE}[^\"'\\\n]{{0,{MAX_NAME}}}{_QUOTE}\s*,\s*"
_NAMED = re.compile(
    rf"[\s\[]*\{{\s*(?:{_MEMBER}){{0,2}}{_QUOTE}name{_QUOTE}\s*:\s*({_QUOTE})"
    rf"([^\"'\\\n]{{1,{MAX_NAME}}})\1"
)
_ARGUMENTS = frozenset({"arguments", "parameters"})
_LINE_OBJECT = re.compile(r"(?:\A[ \t\r\n\f\v]*|(?<=\n)[ \t]*)(?=\{)")
_BEGUN = re.compile(rf"\{{\s*(?:{_QUOTE}(?:n(?:a(?:me?)?)?)?)?")


class Body(NamedTuple):
    """What stands behind an opener.

    Attributes:
        calls: The calls that could be read.
        start: Where it starts; with a fault, where the part that has no reading starts.
        end: Where what was read ends.
        fault: Why there is no reading of what stands at `start`; empty where there is one.
        name: The name in the part without reading, where it is known.
        unfinished: Whether the fault is that the text ends.
    """

    calls: tuple[RawCall, ...] = ()
    start: int = 0
    end: int = 0
    fault: str = ""
    name: str = ""
    unfinished: bool = False


class BodyReader:
    """Reads the bodies of one output.

    Attributes:
        wanted: What to say of a body of another form.
    """

    def __init__(self, source: Source) -> None:
        form = source.format
        self._source = source
        self._form = form
        # Nothing behind the turn's end belongs to a value.
        self._text = source.text[: source.end]
        self._headers = headers_of(form) if "headed" in form.bodies else ()
        self._json = "json" in form.bodies
        closers = ("call_close", "section_close")
        self._closers = {m.start for m in source.markers if m.kind in closers}
        self._closes = "call_close" in form.spellings
        written = form.headers[0].before if form.headers else '{"name": ..., "%s": ...}'
        keys = form.argument_keys[0]
        self.wanted = f"its body has another form; write {written.replace('%s', keys)}"

    def begins(self, i: int) -> bool:
        """Say whether a body, or the beginning of one that was cut, stands behind opener `i`."""
        at = self.skip(self._source.markers[i].end)
        if self._json and (self._text.startswith("{", at) or _LISTED.match(self._text, at)):
            return True
        return any(self._begins(pattern, i) for pattern in self._headers)

    def foreign(self, i: int) -> bool:
        """Say whether a call of another form stands behind opener `i`."""
        return _OTHER_FORM.match(self._text, self._source.markers[i].end) is not None

    def read(self, i: int) -> Body:
        """Read the body behind opener `i`."""
        opener = self._source.markers[i]
        at = self.skip(opener.end)
        if self._json and self._text.startswith(("{", "["), at):
            return self._objects(at)
        chosen: tuple[HeaderPattern, Found] | None = None
        for pattern in self._headers:
            found = pattern.find(self._source, i)
            if found and self._text.startswith("{", self.skip(found.end)):
                chosen = pattern, found
                break
            if found and chosen is None:  # the one that the template writes, if none has arguments
                chosen = pattern, found
        if chosen is None:
            raise AssertionError("no body begins here")
        return self._headed(*chosen, opener)

    def bare(self, at: int, end: int) -> Body | None:
        """Read the next call between `at` and `end` that stands at the start of a line."""
        while match := _LINE_OBJECT.search(self._text, at, end):
            start = match.end()
            body = self._bare_object(start, first=not self._text[: match.start()])
            if body.calls or body.fault:
                return body
            at = max(body.end, start + 1)
        return None

    # -- objects ----------------------------------------------------------------------------------

    def _bare_object(self, start: int, *, first: bool) -> Body:
        """Read a line's object: a call where a tool of that name is offered, or at the start."""
        text, cut = self._text, self._source.cut
        try:
            found = self._decode(start)
        except DecodeFault as fault:
            name = _name_at(text, start)
            begun = first and cut and _BEGUN.fullmatch(text, start)
            known = self._source.offered(name)
            if begun or (name and (known or (first and known is None))):
                return Body((), start, len(text), str(fault), name, fault.unfinished)
            return Body(end=fault.at)
        named = found.value.get("name")
        if not isinstance(named, str) or _ARGUMENTS.isdisjoint(found.value):
            return Body(end=found.end)
        calls = first or self._source.offered(named)
        return self._objects(start) if calls else Body(end=found.end)

    def _objects(self, at: int) -> Body:
        """Read one object or several."""
        text = self._text
        listed = text.startswith("[", at)
        calls: list[RawCall] = []
        start, end = at, at
        at = self.skip(at + 1 if listed else at)
        while text.startswith("{", at):
            try:
                found = self._decode(at)
            except DecodeFault as fault:
                name = _name_at(text, at)
                where = at if calls else start
                return Body(tuple(calls), where, end, str(fault), name, fault.unfinished)
            call = RawCall("", at)
            call.end = end = found.end
            fill_object(call, found, self._form)
            calls.append(call)
            separator_end = self._separator(end, listed=listed)
            if separator_end is None:
                break
            at = self.skip(separator_end)
            if text.startswith("{", at):
                call.end = separator_end
        if not calls:
            return Body((), start, end, "its list holds no object")
        return self._after(calls, end, listed=listed)

    def _separator(self, end: int, *, listed: bool) -> int | None:
        """Return where the separator behind an object ends; None where no other can follow."""
        text = self._text
        at = self.skip(end)
        if (listed or self._form.bare) and text.startswith("," if listed else ";", at):
            return at + 1
        return end if not listed and "\n" in text[end:at] else None

    def _after(self, calls: list[RawCall], end: int, *, listed: bool) -> Body:
        """Take what stands behind the last object, and say what several in one body mean."""
        alone = calls[1:]
        if listed:
            at = self.skip(end)
            if self._text.startswith(",", at):
                rest = self.skip(at + 1)
                if rest == len(self._text):
                    return Body(tuple(calls), at, end, "its list never ends", "", unfinished=True)
                calls[-1].repairs.append("a comma too many stands in its list")
                at = rest
            if self._text.startswith("]", at):
                end = at + 1
            else:
                calls[-1].repairs.append("its list has no ]")
            alone = calls
        if not (self._form.bare if not listed else self._form.listed):
            for call in alone:
                call.repairs.append(f"it has no {self._form.write('call_open')} of its own")
        return Body(tuple(calls), calls[0].start, end)

    # -- headers ----------------------------------------------------------------------------------

    def _begins(self, pattern: HeaderPattern, i: int) -> bool:
        found = pattern.find(self._source, i)
        if found is None or pattern.certain or found.unfinished:
            return found is not None
        at = self.skip(found.end)
        return at == len(self._text) or at in self._closers or self._text.startswith("{", at)

    def _headed(self, pattern: HeaderPattern, header: Found, opener: Marker) -> Body:
        text = self._text
        call = RawCall(header.name, opener.start)
        at = self.skip(header.end)
        call.end = end = header.end
        if header.unfinished or (at == len(text) and self._source.cut):
            return Body((), opener.start, end, "it never ends", header.name, unfinished=True)
        if text.startswith("{", at):
            try:
                found = self._decode(at, pattern.close)
            except DecodeFault as fault:
                return Body((), opener.start, end, str(fault), header.name, fault.unfinished)
            end = found.end
            fill_arguments(call, found)
        elif at in self._closers or text.startswith(pattern.close or "\0", at):
            call.values = {}
            call.repairs.append("it has no arguments")
        else:
            return Body((), opener.start, end, "its arguments are no object", header.name)
        if pattern.close:
            at = self.skip(end)
            if text.startswith(pattern.close, at):
                end = at + len(pattern.close)
            elif self._source.cut and pattern.close.startswith(text[at : at + len(pattern.close)]):
                end = len(text)
            else:
                call.repairs.append(f"it has no {pattern.close}")
        call.end = end
        return Body((call,), opener.start, end)

    # -- places -----------------------------------------------------------------------------------

    def _decode(self, at: int, close: str = "") -> Decoded:
        """Decode the value at `at`, one closing bracket missing at most."""
        text = self._text
        try:
            return decode(text, at)
        except DecodeFault as fault:
            end = fault.at
            closed = fault.unclosed and (
                end in self._closers or (close and text.startswith(close, end))
            )
            if not closed and not (fault.unfinished and not self._closes and not self._source.cut):
                raise
            try:
                found = decode(text[at:end] + "}", 0)
            except DecodeFault:
                raise fault from None
            if found.end != end - at + 1:
                raise
            return found._replace(end=end, repair="its last } is missing")

    def skip(self, at: int) -> int:
        """Return where the white space at `at` ends."""
        match = _SPACE.match(self._text, at)
        return match.end() if match else at


def _name_at(text: str, at: int) -> str:
    """Return the name that an object at `at` begins with; empty where it begins otherwise."""
    match = _NAMED.match(text, at)
    return match.group(2) if match else ""
