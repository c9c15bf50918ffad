"""Collections of documents, held in memory and searched through SQLite's FTS5.

Each collection has databases of its own, so that no collection's ranking depends on what others
hold and a collection is gone when it is closed; with thousands of full-text tables in one database,
each statement that makes or drops one takes a tenth of a second. They are made at the first search:
most sessions fill their collection and never ask it anything.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.search.query import Term, expression
from outcomebox.sandbox.search.refusal import already_exists, bad_request, not_found, too_much
from outcomebox.sandbox.search.schema import Schema

_log = logging.getLogger(__name__)

MAX_COLLECTIONS = 4096
MAX_COLLECTION_BYTES = 64 * 1024 * 1024
MAX_BYTES = 512 * 1024 * 1024
# Between the values of a list: a separator to the tokenizer, as all of ASCII's controls are.
BETWEEN = "\x1e"
# Around what a query found: code points that Unicode keeps for a program's own use.
START, END = "\ufdd1", "\ufdd2"
# None of them comes from a document, nor a NUL, at which SQLite's own functions would stop.
_RESERVED = dict.fromkeys(map(ord, f"{BETWEEN}{START}{END}\x00"), " ")

_FTS5_LEAST_IDF = 1e-6
# Combinations of fields that one collection keeps an index for.
_MAX_INDEXES = 4
_TOKENIZER = "porter unicode61 remove_diacritics 2"


@dataclass(frozen=True, slots=True)
class Entry:
    """One document, its place in the order of arrival and its size in bytes."""

    number: int
    document: dict[str, Any]
    size: int


class Collection:
    """The documents of one collection.

    Args:
        schema: What its documents look like.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.created_at = int(time.time())
        self.size = 0
        self._by_id: dict[str, Entry] = {}
        self._by_number: dict[int, Entry] = {}
        self._indexes: OrderedDict[tuple[str, ...], sqlite3.Connection] = OrderedDict()
        self._next = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def entries(self) -> Iterable[Entry]:
        """All documents, oldest first."""
        return self._by_number.values()

    def entry(self, number: int) -> Entry:
        """The document with this place in the order of arrival."""
        return self._by_number[number]

    def get(self, key: str) -> dict[str, Any]:
        """The document with this id.

        Raises:
            SearchRefused: There is none.
        """
        if (entry := self._by_id.get(key)) is None:
            raise not_found(f"Could not find a document with id: {key}")
        return entry.document

    def put(self, document: object, size: int, action: str = "create") -> dict[str, Any]:
        """Take in a document.

        Args:
            document: Its JSON value.
            size: Bytes of its JSON text, which count against the limit.
            action: ``create``, ``upsert`` (create or replace), ``update`` (change fields) or
                ``emplace`` (create or change).

        Returns:
            The document as it is kept.

        Raises:
            SearchRefused: It does not fit the schema, the action or the memory.
        """
        if not isinstance(document, Mapping):
            raise bad_request("Document must be a JSON object.")
        key = document.get("id", str(self._next))
        if not isinstance(key, str) or not key:
            raise bad_request("Document's `id` field should be a string.")
        old = self._by_id.get(key)
        if old is not None and action == "create":
            raise already_exists(f"A document with id {key} already exists.")
        if old is None and action == "update":
            raise not_found(f"Could not find a document with id: {key}")
        if old is not None and action in {"update", "emplace"}:
            document, size = old.document | dict(document), size + old.size
        kept = self.schema.fit({**document, "id": key})
        freed = old.size if old else 0
        if self.size + size - freed > MAX_COLLECTION_BYTES:
            raise too_much(
                f"Collection `{self.schema.name}` would pass {MAX_COLLECTION_BYTES} bytes, the "
                "most that the embedded index keeps; give the run a Typesense by URL."
            )
        if old is not None:
            self._drop(key, old)
        entry = Entry(self._next, kept, size)
        self._next += 1
        self._by_id[key] = self._by_number[entry.number] = entry
        self.size += size
        for fields, index in self._indexes.items():
            _insert(index, fields, [entry])
        return kept

    def remove(self, key: str) -> dict[str, Any]:
        """Take a document out.

        Raises:
            SearchRefused: There is none with this id.
        """
        document = self.get(key)
        self._drop(key, self._by_id[key])
        return document

    def ranking(
        self, fields: Sequence[str], weights: Sequence[float], terms: Sequence[Term]
    ) -> list[tuple[int, float]]:
        """The documents that match, best first; of equals, the youngest first.

        The score is BM25 with the inverse document frequency ln(1 + (N - n + 1/2) / (n + 1/2)), as
        Lucene has it. FTS5's own, ln((N - n + 1/2) / (n + 1/2)), is held at 1e-6 for what stands in
        half of the documents or more: in a dozen of them, that is what they are about. So each term
        is looked for by itself, and its share taken out of FTS5's score and weighed anew.

        Args:
            fields: Names of string fields to look in.
            weights: How much a match in each counts.
            terms: What to look for.

        Returns:
            Number and score (greater is better) of each.
        """
        index = self._index(tuple(fields))
        statement = (
            f"SELECT rowid, -bm25(entry, {','.join('?' * len(weights))}) "
            "FROM entry WHERE entry MATCH ?"
        )
        scores: dict[int, float] = {}
        for term in terms:
            rows = index.execute(statement, (*weights, term.match)).fetchall()
            odds = (len(self) - len(rows) + 0.5) / (len(rows) + 0.5)
            share = term.weight * math.log1p(odds) / max(math.log(odds), _FTS5_LEAST_IDF)
            for number, score in rows:
                scores[number] = scores.get(number, 0.0) + share * score
        return sorted(scores.items(), key=lambda item: (-item[1], -item[0]))

    def marked(self, fields: Sequence[str], terms: Sequence[Term], number: int) -> list[str]:
        """The text of each field of a document, what a query found between ``START`` and ``END``.

        Args:
            fields: As in the ranking that found it.
            terms: The same.
            number: The document's.
        """
        columns = ", ".join(f"highlight(entry, {i}, :start, :end)" for i in range(len(fields)))
        row = (
            self._index(tuple(fields))
            .execute(
                f"SELECT {columns} FROM entry WHERE entry MATCH :query AND rowid = :number",
                {"start": START, "end": END, "query": expression(terms), "number": number},
            )
            .fetchone()
        )
        return list(row)

    def close(self) -> None:
        """Give the memory of the indexes back."""
        while self._indexes:
            self._indexes.popitem()[1].close()

    def _drop(self, key: str, entry: Entry) -> None:
        for index in self._indexes.values():
            index.execute("DELETE FROM entry WHERE rowid = ?", (entry.number,))
        del self._by_id[key], self._by_number[entry.number]
        self.size -= entry.size

    def _index(self, fields: tuple[str, ...]) -> sqlite3.Connection:
        if (index := self._indexes.get(fields)) is None:
            index = _new_index(len(fields))
            _insert(index, fields, self.entries())
            self._indexes[fields] = index
            if len(self._indexes) > _MAX_INDEXES:
                self._indexes.popitem(last=False)[1].close()
        self._indexes.move_to_end(fields)
        return index


class Store:
    """All collections of a service, the longest unused of which goes when they are too many.

    A client deletes its collection when its session ends; one that is killed cannot.

    Args:
        max_collections: How many are kept.
        max_bytes: How many bytes of documents are kept.

    Raises:
        InputError: This Python's SQLite lacks FTS5.
    """

    def __init__(self, max_collections: int = MAX_COLLECTIONS, max_bytes: int = MAX_BYTES) -> None:
        _new_index(1).close()
        self._collections: OrderedDict[str, Collection] = OrderedDict()
        self._max_collections = max_collections
        self._max_bytes = max_bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._collections)

    def __iter__(self) -> Iterator[Collection]:
        return iter(list(self._collections.values()))

    def create(self, schema: Schema) -> Collection:
        """Add an empty collection.

        Raises:
            SearchRefused: There is one of this name.
        """
        if schema.name in self._collections:
            raise already_exists(f"A collection with name `{schema.name}` already exists.")
        collection = self._collections[schema.name] = Collection(schema)
        self._make_room()
        return collection

    def get(self, name: str) -> Collection:
        """The collection of this name, which counts as used now.

        Raises:
            SearchRefused: There is none.
        """
        if (collection := self._collections.get(name)) is None:
            raise not_found()
        self._collections.move_to_end(name)
        return collection

    def put(self, name: str, document: object, size: int, action: str = "create") -> dict[str, Any]:
        """Take a document into a collection; see :meth:`Collection.put`."""
        collection = self.get(name)
        before = collection.size
        try:
            return collection.put(document, size, action)
        finally:
            self._bytes += collection.size - before
            self._make_room()

    def remove(self, name: str, key: str) -> dict[str, Any]:
        """Take a document out of a collection; see :meth:`Collection.remove`."""
        collection = self.get(name)
        before = collection.size
        document = collection.remove(key)
        self._bytes += collection.size - before
        return document

    def delete(self, name: str) -> Collection:
        """Take a collection out.

        Raises:
            SearchRefused: There is none of this name.
        """
        collection = self.get(name)
        self._forget(name)
        return collection

    def close(self) -> None:
        """Forget everything."""
        for name in list(self._collections):
            self._forget(name)

    def _make_room(self) -> None:
        # The last one is the one in use; a single collection has its own limit.
        while len(self._collections) > 1 and (
            len(self._collections) > self._max_collections or self._bytes > self._max_bytes
        ):
            name = next(iter(self._collections))
            _log.warning(
                "search: the longest unused of %d collections, %s, made room for a new one",
                len(self._collections),
                name,
            )
            self._forget(name)

    def _forget(self, name: str) -> None:
        collection = self._collections.pop(name)
        self._bytes -= collection.size
        collection.close()


def _new_index(columns: int) -> sqlite3.Connection:
    index = sqlite3.connect(":memory:", isolation_level=None)
    names = ", ".join(f"c{i}" for i in range(columns))
    try:
        index.execute(f"CREATE VIRTUAL TABLE entry USING fts5({names}, tokenize='{_TOKENIZER}')")
    except sqlite3.OperationalError as error:
        index.close()
        raise InputError(
            f"the embedded search needs SQLite's FTS5, and this Python's SQLite "
            f"{sqlite3.sqlite_version} lacks it ({error}); use a Python whose SQLite has it, or "
            "give the run a Typesense by URL"
        ) from error
    return index


def _insert(index: sqlite3.Connection, fields: tuple[str, ...], entries: Iterable[Entry]) -> None:
    places = ",".join("?" * (len(fields) + 1))
    index.execute("BEGIN")
    index.executemany(
        f"INSERT INTO entry(rowid, {','.join(f'c{i}' for i in range(len(fields)))}) "
        f"VALUES ({places})",
        ((e.number, *(_text(e.document.get(field)) for field in fields)) for e in entries),
    )
    index.execute("COMMIT")


def _text(value: object) -> str:
    """A field's text as it is indexed."""
    parts = value if isinstance(value, list) else [value or ""]
    return BETWEEN.join(str(part).translate(_RESERVED) for part in parts)
