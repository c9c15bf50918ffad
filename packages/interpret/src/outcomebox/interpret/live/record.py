"""Records what a live parser answers: rows in, answers out, one JSON object a line.

    python -m outcomebox.interpret.live.record vllm ROWS.jsonl ANSWERS.jsonl --stream

It needs nothing but this package's source and the parser's release, so it runs in that release's
environment. A row holds `pieces` (the text of each token) or `text`, and may hold `tools`,
`format`, `prompt_state`, `finish_reason`. An answer holds `reasoning`, `content`, `calls` (name and
wire of each), and `error` where the parser raised one.
"""

import argparse
import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from outcomebox.interpret.live.base import Answer, LiveParser, Recorded
from outcomebox.interpret.live.pieces import recorded

_OWN = ("vllm", "verl", "sglang")


def recorded_row(row: Mapping[str, Any]) -> Recorded:
    """Make the record of a row."""
    return recorded(
        row["pieces"] if "pieces" in row else row["text"],
        tools=row.get("tools"),
        format=row.get("format", "qwen3_xml"),
        prompt_state=row.get("prompt_state", "think_closed"),
        finish_reason=row.get("finish_reason", "stop"),
    )


def answer_row(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON; no `error` where there was none."""
    row: dict[str, Any] = {
        "reasoning": answer.reasoning,
        "content": answer.content,
        "calls": [list(call) for call in answer.calls],
    }
    if answer.error is not None:
        row["error"] = answer.error
    return row


def answers(parser: LiveParser, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the answer to each row."""
    for row in rows:
        yield answer_row(parser.parse(recorded_row(row)))


def own_parser(name: str, *, stream: bool) -> LiveParser:
    """Make one of this package's live parsers without its entry point, which a source tree lacks.

    Raises:
        ImportError: The parser's release is not installed.
        ValueError: The parser has no such mode.
    """
    made: LiveParser = import_module(f"outcomebox.interpret.live.{name}").make(
        stream=stream, where=""
    )
    return made


def main(arguments: list[str] | None = None) -> int:
    """Record the answers of one parser in one mode."""
    options = argparse.ArgumentParser(prog="record", description=(__doc__ or "").splitlines()[0])
    options.add_argument("parser", choices=_OWN)
    options.add_argument("rows", type=Path)
    options.add_argument("answers", type=Path)
    options.add_argument("--stream", action="store_true", help="one token at a time")
    given = options.parse_args(arguments)
    parser = own_parser(given.parser, stream=given.stream)
    # The parsers log each output that they cannot read; here most are meant to be such.
    logging.disable(logging.CRITICAL)
    started, count = time.monotonic(), 0
    with (
        given.rows.open(encoding="utf-8") as rows,
        given.answers.open("w", encoding="utf-8", newline="\n") as out,
    ):
        for answer in answers(parser, map(json.loads, rows)):
            out.write(json.dumps(answer) + "\n")
            count += 1
    seconds = time.monotonic() - started
    sys.stderr.write(f"record: {count} answers of {parser.name} in {seconds:.1f} s" + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
