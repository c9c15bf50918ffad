"""The corpus: generated turns with the recorded answer of every live parser, as committed files.

`corpus.jsonl.xz` holds the tool sets on its first line and a turn on each other; `answers.jsonl.xz`
holds on line n the answers to turn n, each different one once, and which parser gave which;
`manifest.json` says what made them.
"""

import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oracle_turns import Row

FOLDER = Path(__file__).parent / "oracle"

ParserKey = str
"""A live parser with its mode: the name of the profile that it certifies."""

RECORDERS: Mapping[ParserKey, tuple[str, str, bool]] = {
    "vllm-0.24": ("vllm024", "vllm", False),
    "vllm-0.24-stream": ("vllm024", "vllm", True),
    "vllm-0.32": ("vllm032", "vllm", False),
    "vllm-0.32-stream": ("vllm032", "vllm", True),
    "sglang-0.5": ("sglang", "sglang", False),
    "sglang-0.5-stream": ("sglang", "sglang", True),
    "verl-0.9": ("vllm024", "verl", False),
}
"""Profile -> the lock that holds its release, the live parser's name, whether it streams."""


class Corpus(NamedTuple):
    """The corpus, read.

    Attributes:
        toolboxes: The tool sets.
        rows: The turns.
        answers: For each profile, the answer to each turn, as the recorder writes it.
    """

    toolboxes: list[list[dict[str, Any]]]
    rows: list[Row]
    answers: dict[ParserKey, list[dict[str, Any]]]


def manifest() -> dict[str, Any]:
    """Return the manifest."""
    found: dict[str, Any] = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    return found


def row_lines(toolboxes: list[list[dict[str, Any]]], rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of `corpus.jsonl`."""
    yield _line(toolboxes)
    yield from (_line(list(row)) for row in rows)


def digest(lines: Iterable[str]) -> str:
    """Return the SHA-256 of lines."""
    found = hashlib.sha256()
    for line in lines:
        found.update(line.encode())
    return found.hexdigest()


def read() -> Corpus:
    """Read the committed corpus."""
    lines = list(_read("corpus.jsonl.xz"))
    rows = [_row(line) for line in lines[1:]]
    parsers: list[str] = manifest()["parsers"]
    answers: dict[ParserKey, list[dict[str, Any]]] = {name: [] for name in parsers}
    for line in _read("answers.jsonl.xz"):
        different, chosen = json.loads(line)
        for name, index in zip(parsers, chosen, strict=True):
            answers[name].append(different[index])
    return Corpus(json.loads(lines[0]), rows, answers)


def write(
    seed: str,
    toolboxes: list[list[dict[str, Any]]],
    rows: Sequence[Row],
    answers: Mapping[ParserKey, Sequence[dict[str, Any]]],
    releases: Mapping[ParserKey, str],
) -> None:
    """Write the corpus.

    Raises:
        ValueError: A parser did not answer every turn.
    """
    for name, given in answers.items():
        if len(given) != len(rows):
            raise ValueError(f"{name} answered {len(given)} of {len(rows)} turns")
    lines = list(row_lines(toolboxes, rows))
    _write("corpus.jsonl.xz", lines)
    _write("answers.jsonl.xz", map(_answers_line, zip(*answers.values(), strict=True)))
    about = {
        "version": 1,
        "seed": seed,
        "turns": len(rows),
        "sha256": digest(lines),
        "parsers": dict(releases),
    }
    text = json.dumps(about, indent=2) + "\n"
    (FOLDER / "manifest.json").write_text(text, encoding="utf-8")


def _row(line: str) -> Row:
    format_name, state, finish, toolbox, pieces, damages = json.loads(line)
    return Row(format_name, state, finish, toolbox, tuple(pieces), tuple(damages))


def _answers_line(given: tuple[dict[str, Any], ...]) -> str:
    different: list[dict[str, Any]] = []
    for answer in given:
        if answer not in different:
            different.append(answer)
    return _line([different, [different.index(answer) for answer in given]])


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def _read(name: str) -> Iterator[str]:
    with lzma.open(FOLDER / name, "rt", encoding="ascii", newline="\n") as lines:
        yield from lines


def _write(name: str, lines: Iterable[str]) -> None:
    data = "".join(lines).encode("ascii")
    # The same bytes for the same lines: no time and no name go in.
    packed = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / name).write_bytes(packed)
