"""Task files as text: where a task's `expect` stands, and putting another one there.

Only the lines of the block change; comments, order, quoting and line ends of everything else stay
byte for byte. A file is replaced in one step, and only if nobody wrote to it meanwhile.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import yaml

from outcomebox.reward.derive.present import Place
from outcomebox.sandbox import NO_CHANGE, InputError
from outcomebox.sandbox.changes import Op

_OPS: tuple[Op, ...] = ("insert", "update", "delete")
_ENDS = "\n\r\x85\u2028\u2029"
_LINE = re.compile(f"[^{_ENDS}]*(?:\r\n|[{_ENDS}])|[^{_ENDS}]+\\Z")


@dataclass(frozen=True)
class BlockPlace:
    """Where a task's `expect` stands, or is to stand.

    Attributes:
        start: Index of its first line.
        end: Index of the line behind it; ``start`` where there is none yet.
        indent: Columns before ``expect``.
        rows: Place of a row -> first line of its comments or of itself, and the line behind it.
    """

    start: int
    end: int
    indent: int
    rows: dict[Place, tuple[int, int]]


@dataclass(frozen=True)
class TaskSource:
    """The text of a task file.

    Attributes:
        file: Where it stands.
        data: Its bytes when it was read.
        text: The same as text.
    """

    file: Path
    data: bytes
    text: str

    @classmethod
    def read(cls, file: Path) -> TaskSource:
        """Read a file.

        Raises:
            InputError: It cannot be read.
        """
        try:
            data = file.read_bytes()
            return cls(file, data, data.decode("utf-8"))
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=file) from error
        except UnicodeDecodeError as error:
            raise InputError(f"is not UTF-8 text: {error}; save it as UTF-8", file=file) from error

    @cached_property
    def lines(self) -> list[str]:
        """Its lines with their ends, as YAML counts them."""
        return _LINE.findall(self.text)

    def drafted(self, uid: str) -> bool:
        """Whether a task says nothing of its end yet: neither changes nor that none is due."""
        given = {key.value: value for key, value in self._task(uid).value}
        empty = "expect" not in given or not given["expect"].value
        return empty and not ("expect" in given and NO_CHANGE in self.tags(uid))

    def tags(self, uid: str) -> tuple[str, ...]:
        """The tags that a task has in the file."""
        given = {key.value: value for key, value in self._task(uid).value}
        return tuple(tag.value for tag in given["tags"].value) if "tags" in given else ()

    def place(self, uid: str) -> BlockPlace:
        """Where a task's block stands.

        Raises:
            InputError: The task is written so that lines cannot be put into it.
        """
        task = self._task(uid)
        if task.flow_style:
            raise self._refusal(uid, "is written in braces; write it one field a line")
        pairs = [(key.value, key, value) for key, value in task.value]
        found = next(((key, value) for name, key, value in pairs if name == "expect"), None)
        lines = self.lines
        if found is None:
            # Behind the golden calls, where the bundled tasks have it.
            names = [name for name, _, _ in pairs]
            after = pairs[names.index("golden") if "golden" in names else -1][2]
            line = _last_line(after, lines) + 1
            return BlockPlace(line, line, pairs[0][1].start_mark.column, {})
        key, value = found
        first, last = key.start_mark.line, max(key.start_mark.line, _last_line(value, lines))
        before, behind = lines[first][: key.start_mark.column], lines[first][key.end_mark.column :]
        if before.strip(" ") or "&" in behind:
            raise self._refusal(uid, "has an `expect` that shares its line; start a line with it")
        return BlockPlace(first, last + 1, key.start_mark.column, dict(_rows(value, lines)))

    def with_block(self, uid: str, block: Sequence[str]) -> TaskSource:
        """The same text with other lines where the task's `expect` stands.

        Raises:
            InputError: As for :meth:`place`.
        """
        place = self.place(uid)
        lines = self.lines
        ending = "\r\n" if lines[0].endswith("\r\n") else "\n"
        before, behind = lines[: place.start], lines[place.end :]
        if not before[-1].endswith(("\n", "\r")):
            before[-1] += ending  # the file's last line, and it had no end
        new = [line + ending for line in block]
        return TaskSource(self.file, self.data, "".join([*before, *new, *behind]))

    def row_texts(self, place: BlockPlace) -> dict[Place, list[str]]:
        """The lines of each row of a block, its comments above it."""
        lines = self.lines
        return {
            row: [line.rstrip("\r\n") for line in lines[start:end]]
            for row, (start, end) in place.rows.items()
        }

    def write(self, check: Callable[[Path], None]) -> None:
        """Put this text into the file.

        Args:
            check: Looks at the new file before it takes the place of the old one, and raises if
                it must not.

        Raises:
            InputError: The file changed since it was read, or cannot be written.
        """
        target = self.file.resolve()
        try:
            handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            temporary = Path(name)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(self.text.encode("utf-8"))
                    stream.flush()
                    os.fsync(stream.fileno())
                check(temporary)
                temporary.chmod(target.stat().st_mode & 0o7777)
                if target.read_bytes() != self.data:
                    raise InputError(
                        "changed while it was looked at, so nothing was written; run it again",
                        file=self.file,
                    )
                temporary.replace(target)
            finally:
                with suppress(FileNotFoundError):
                    temporary.unlink()
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self.file) from error

    @cached_property
    def _root(self) -> yaml.MappingNode:
        return cast(yaml.MappingNode, yaml.compose(self.text, yaml.CSafeLoader))

    def _task(self, uid: str) -> yaml.MappingNode:
        for key, value in self._root.value:
            if key.value != "tasks":
                continue
            for task in value.value:
                if any(name.value == "uid" and given.value == uid for name, given in task.value):
                    return cast(yaml.MappingNode, task)
        raise self._refusal(uid, "is not in this file any more; run it again")

    def _refusal(self, uid: str, message: str) -> InputError:
        return InputError(message, file=self.file, task=uid)


def _last_line(node: yaml.Node, lines: Sequence[str]) -> int:
    """The last line that a node has anything on, comments and blank lines behind it left out."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last, lines)
    end = node.end_mark
    line = end.line if end.column else end.line - 1
    line = min(max(line, node.start_mark.line), len(lines) - 1)
    while line > node.start_mark.line and not lines[line].strip():
        line -= 1
    return line


def _rows(block: yaml.Node, lines: Sequence[str]) -> Iterator[tuple[Place, tuple[int, int]]]:
    for table, entry in block.value if isinstance(block, yaml.MappingNode) else ():
        for op, rows in entry.value if isinstance(entry, yaml.MappingNode) else ():
            if op.value not in _OPS or not isinstance(rows, yaml.SequenceNode) or rows.flow_style:
                continue
            for index, row in enumerate(rows.value):
                start = row.start_mark.line
                if not lines[start].lstrip().startswith("-"):
                    continue
                end = _last_line(row, lines) + 1
                while start > op.start_mark.line + 1 and lines[start - 1].lstrip().startswith("#"):
                    start -= 1
                yield (table.value, op.value, index), (start, end)
