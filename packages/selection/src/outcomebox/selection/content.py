"""What tasks say and where they start, so that copies of a benchmark's tasks are known.

A task's *text* is everything a person wrote into its request: the first message and the user's
context. Its *state* is what its initial state adds to or changes in the backend. Both are compared
without what does not matter: letter case, white space, punctuation, Unicode form, order of rows.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.rowfile import parse_row
from outcomebox.selection.yamlfile import read_yaml

WORDS = 3
_WORD = re.compile(r"\w+")
_TEXT_FIELDS = ("text", "query", "user_context")
_STATE_FIELDS = ("state", "init")
_YAML = (".yaml", ".yml")
_MEND = "Give a task its query (and user_context, init), or text and state"


@dataclass(frozen=True, slots=True)
class Content:
    """What a task says, in the form in which it is compared.

    Attributes:
        shingles: hashes of all runs of three words of the text (of the whole text if it is
            shorter).
        facts: hashes of what the initial state says, one for each value and where it stands; empty
            where it says nothing.
    """

    shingles: frozenset[int]
    facts: frozenset[int]


def content_of(text: Any, state: Any = None) -> Content:
    """Makes the comparable form.

    Args:
        text: a text, or lists and mappings that hold some.
        state: plain JSON values.
    """
    words = _WORD.findall(unicodedata.normalize("NFKC", "\n".join(_texts(text))).casefold())
    runs = zip(*(words[n:] for n in range(WORDS)), strict=False)
    shingles = {" ".join(run) for run in runs} or ({" ".join(words)} if words else set())
    return Content(frozenset(map(_hash, shingles)), frozenset(map(_hash, _facts(state, ""))))


def _hash(text: str) -> int:
    # 64 bits of a hash that is the same in every process; Python's own is not.
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name in sorted(value):
            yield from _texts(value[name])
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _facts(value: Any, place: str) -> Iterator[str]:
    """Every value with the names above it; places in lists do not count."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _facts(inner, f"{place}/{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _facts(inner, place)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"{place}={' '.join(unicodedata.normalize('NFKC', text).casefold().split())}"


@dataclass(frozen=True)
class Contents:
    """The contents of the tasks of some files.

    Attributes:
        by_uid: each task's.
        files: name and SHA-256 of each file, sorted.
    """

    by_uid: Mapping[str, Content]
    files: tuple[tuple[str, str], ...] = ()


def read_contents(paths: Iterable[Path]) -> Contents:
    """Reads what tasks say out of files of tasks.

    A file is YAML (`tasks:` or `test_cases:`, or a list), or JSONL with a task a line: task lists
    with `text` and `state`, hydrated datasets, or recorded episodes' task listings. A task without
    any text is passed over; a folder stands for the files in it.

    Args:
        paths: files and folders.

    Raises:
        InputError: a file cannot be read, or tells two contents for one uid.
    """
    found: dict[str, Content] = {}
    files: set[tuple[str, str]] = set()
    for path in _files(paths):
        for task, where in _tasks(path):
            uid = task.get("uid", task.get("name"))
            text = [task[name] for name in _TEXT_FIELDS if task.get(name)]
            if not text:
                continue
            if not isinstance(uid, str) or not uid:
                raise InputError(where, "uid", f"is {shown(uid)}", "Give the task its uid")
            content = content_of(text, [task[n] for n in _STATE_FIELDS if task.get(n)])
            if found.setdefault(uid, content) != content:
                raise InputError(
                    where, "uid", f"{shown(uid)} stands twice and differs", "Keep one of the two"
                )
        files.add((path.name, hashlib.sha256(path.read_bytes()).hexdigest()))
    return Contents(found, tuple(sorted(files)))


def _files(paths: Iterable[Path]) -> list[Path]:
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            inside = {p for p in path.rglob("*") if p.suffix in (*_YAML, ".jsonl")}
            found |= {p for p in inside if not p.name.endswith(".meta.yaml")}
        else:
            found.add(path)
    return sorted(found)


def _tasks(path: Path) -> Iterator[tuple[Mapping[str, Any], str]]:
    if path.suffix in _YAML:
        plain = read_yaml(path)
        entries = plain
        if isinstance(plain, dict):
            entries = next((plain[n] for n in ("tasks", "test_cases") if n in plain), None)
        if not isinstance(entries, list):
            raise InputError(str(path), "tasks", "is no list of tasks", _MEND)
        for number, entry in enumerate(entries):
            if isinstance(entry, dict):
                yield entry, f"{path}: tasks.{number}"
        return
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(
            str(path), "", f"cannot be read ({error.strerror})", "Check the path"
        ) from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            row = parse_row(line + b"\n", f"{path}:{number}")
            if row is not None:
                yield row, f"{path}:{number}"
