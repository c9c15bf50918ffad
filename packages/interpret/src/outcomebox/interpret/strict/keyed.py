"""Reads `keyed` calls as functions with parameters, by saying so in markers.

`<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>` has the structure of
an XML call: the name opens a function, a key and the opener of its value open a parameter, and the
call's closer ends the function as well. Markers that form none of these are text.
"""

import re

from outcomebox.interpret.formats.base import MAX_NAME
from outcomebox.interpret.scanner import Marker
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.raw import RawTurn, Source
from outcomebox.interpret.strict.xmlturn import read_xml

_NAME = re.compile(rf"[^\s<>{{}}\[\]\"']{{1,{MAX_NAME}}}")
_LINE_ENDS = "\r\n"


def read_keyed(source: Source) -> RawTurn:
    """Read a turn of keyed calls. Takes time linear in the text."""
    return read_xml(source._replace(markers=_Translator(source).run()))


class _Translator:
    """Walks the markers once and writes those of the same structure in XML."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._in = source.markers
        self._out: list[Marker] = []
        self._unclosed = False  # whether a function was opened and no call's closer came since
        self._in_value = False  # whether a value was opened and no value's closer came since

    def run(self) -> list[Marker]:
        i = 0
        while i < len(self._in):
            i += self._take(i, self._in[i])
        return self._out

    def _take(self, i: int, marker: Marker) -> int:
        """Translate marker `i`; return how many were taken."""
        kind = marker.kind
        if kind == "key_open":
            return self._parameter(i, marker)
        if kind == "value_close":
            self._write(Marker("parameter_close", "", marker.start, marker.end))
            self._in_value = False
        elif kind == "call_close":
            if self._unclosed or self._in_value or self._closes_after_value(marker):
                self._write(Marker("function_close", "", marker.start, marker.start))
            self._write(marker)
            self._unclosed = False
        elif kind not in ("key_close", "value_open"):
            self._write(marker)
            if kind == "call_open":
                self._name(i, marker)
        return 1

    def _write(self, marker: Marker) -> None:
        self._out.append(marker)

    def _parameter(self, i: int, opener: Marker) -> int:
        """Take `<arg_key>KEY</arg_key><arg_value>` as the opener of a parameter."""
        following = self._in[i + 1 : i + 3]
        if [each.kind for each in following] != ["key_close", "value_open"]:
            return 1
        key_close, value_open = following
        text = self._source.text
        key = text[opener.end : key_close.start]
        if len(key) > MAX_NAME or text[key_close.end : value_open.start].strip(WHITE_SPACE):
            return 1
        self._write(Marker("parameter_open", key.strip(WHITE_SPACE), opener.start, value_open.end))
        self._in_value = True
        return 3

    def _closes_after_value(self, marker: Marker) -> bool:
        """Say whether a call's closer directly follows the closer of a value."""
        if not self._out or self._out[-1].kind != "parameter_close":
            return False
        return not self._source.text[self._out[-1].end : marker.start].strip(WHITE_SPACE)

    def _name(self, i: int, opener: Marker) -> None:
        """Take the name behind a call's opener as the opener of a function."""
        source = self._source
        following = self._in[i + 1] if i + 1 < len(self._in) else None
        end = following.start if following else source.end
        if end - opener.end > 2 * MAX_NAME:
            return
        text = source.text[opener.end : end]
        name = text.strip(WHITE_SPACE)
        if not _NAME.fullmatch(name):
            return
        alone = name == text.strip(_LINE_ENDS)  # no blanks around it, as a sentence would have
        kind = following.kind if following else "end"
        if kind == "key_open":
            opens = True
        elif kind == "call_close":
            opens = alone
        elif kind == "end" and source.cut:
            opens = alone and text.endswith("\n")
        else:
            opens = kind in ("end", "call_open") and alone and bool(source.offered(name))
        if opens:
            start = opener.end + text.index(name)
            self._write(Marker("function_open", name, start, start + len(name)))
            self._unclosed = True
            self._in_value = False
