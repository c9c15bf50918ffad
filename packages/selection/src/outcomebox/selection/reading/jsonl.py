"""Reads a file of JSON rows: vectors where many rows are alike, one by one where not."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import polars as pl

from outcomebox.selection.reading.facts import Rows, add_row
from outcomebox.selection.reading.fields import OURS, Fields
from outcomebox.selection.reading.lines import Chunk, Chunks, worked
from outcomebox.selection.reading.shape import Shape, shape_of
from outcomebox.selection.rowfile import is_sealed, parse_row, short_row

# Rows longer than this are transcripts, and no two transcripts are alike.
_SHORT = 2_000
# Fewer lines than this are not worth a vector.
_MANY = 200
_SHAPES = 8


class JsonRows:
    """A file of rows that is being read.

    Args:
        path: the file.
        fields: where its rows have their facts.

    Attributes:
        torn: lines that a killed run left unfinished: the last one, or none.
        sha256: of the file when it has been read.
    """

    def __init__(self, path: Path, fields: Fields) -> None:
        self.path, self.torn, self.sha256 = path, 0, ""
        self._fields = fields
        self._shapes: list[Shape] = []
        self._alone = Lock()
        self._ours = all(fields.names[name] == OURS[name] for name in OURS)

    def frames(self) -> Iterator[pl.DataFrame]:
        """The facts, as in `FACTS`, in pieces; rows of a piece are in no particular order.

        Raises:
            InputError: naming file, line and field of a row that breaks the contract.
        """
        with Chunks(self.path) as chunks:
            # The first piece is read alone: it shows the shapes.
            for frames in worked(chunks, self._chunk, first_alone=True):
                yield from frames
            self.sha256 = chunks.sha256

    def _chunk(self, chunk: Chunk) -> list[pl.DataFrame]:
        lines = chunk.ends
        if lines >= _MANY and len(chunk.data) < _SHORT * lines:
            return list(self._alike(chunk, lines))
        return [self._one_by_one(chunk.lines())]

    def _alike(self, chunk: Chunk, count: int) -> Iterator[pl.DataFrame]:
        """The rows of a piece, those of one shape after those of another, and the rest."""
        cut = chunk.data.rfind(b"\n") + 1
        yield from self._whole_lines(Chunk(chunk.path, chunk.line, chunk.data[:cut], count), count)
        if cut < len(chunk.data):
            yield self._one_by_one(iter([(chunk.line + count, chunk.data[cut:])]))

    def _whole_lines(self, chunk: Chunk, count: int) -> Iterator[pl.DataFrame]:
        data, numbers = chunk.data, pl.int_range(chunk.line, chunk.line + count, eager=True)
        # Lines are cut at LF alone: a CR at the end of one is seen when it is put together again.
        try:
            lines = pl.read_lines(io.BytesIO(data)).to_series()
        except pl.exceptions.PolarsError:
            lines = pl.Series(dtype=pl.String)
        if lines.len() != count:
            yield self._one_by_one(chunk.lines())
            return
        for shape in self._known(data):
            read = shape.read(data, lines)
            if read is None:
                break
            facts, fits = read
            if facts.height:
                yield facts.with_columns(line=numbers.gather(facts["line"]))
            if facts.height == lines.len():
                return
            lines, numbers = lines.filter(~fits), numbers.filter(~fits)
            data = ("\n".join(lines) + "\n").encode()
            if lines.len() < _MANY:
                break
        yield self._one_by_one(
            (number, line.encode() + b"\n") for number, line in zip(numbers, lines, strict=True)
        )

    def _known(self, data: bytes) -> Iterator[Shape]:
        """The shapes seen so far, then new ones from the lines that are left."""
        yield from list(self._shapes)
        for _ in range(_SHAPES - len(self._shapes)):
            shape = shape_of(data[: data.find(b"\n") + 1], self._fields)
            if shape is None:
                return
            self._shapes.append(shape)
            yield shape

    def _one_by_one(self, lines: Iterator[tuple[int, bytes]]) -> pl.DataFrame:
        # Two threads that give each other way at the checksum of every row are slower than one.
        with self._alone:
            return self._rows(lines).frame()

    def _rows(self, lines: Iterator[tuple[int, bytes]]) -> Rows:
        rows = Rows()
        for number, line in lines:
            if line.isspace():
                continue
            where = f"{self.path}:{number}"
            row = (short_row if self._ours and is_sealed(line) else parse_row)(line, where)
            if row is None:
                self.torn += 1
            else:
                add_row(row, self._fields, where, number, rows)
        return rows
