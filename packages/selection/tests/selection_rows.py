"""Episode rows, results and tasks for the tests of selection."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from outcomebox.selection import Curation, TaskInfo, TaskResult

OUTCOMES = {"P": "passed", "F": "failed", "E": "system_error"}
POLICY = {"name": "simulated", "simulated": True, "skill": 1.0}


def task(uid: str, domain: str = "retail", family: str = "returns", **changes: Any) -> TaskInfo:
    """A task whose hash and content follow from its uid."""
    known = {"tags": (), "hash": f"hash of {uid}", "content": f"content of {uid}"} | changes
    return TaskInfo(uid, domain, family, **known)


def result(uid: str, passes: int, clean_runs: int, **changes: Any) -> TaskResult:
    """A result without system errors."""
    info = {
        key: changes.pop(key) for key in ("domain", "family", "hash", "content") if key in changes
    }
    counts = {"passes": passes, "clean_runs": clean_runs, "tries": clean_runs} | changes
    return TaskResult(task(uid, **info), **counts)


def probed(uid: str, outcomes: str, **info: Any) -> TaskResult:
    """A result from a text of P, F and E, one repetition each."""
    errors = outcomes.count("E")
    clean = len(outcomes) - errors
    return TaskResult(
        task(uid, **info), outcomes.count("P"), clean, errors, errors, len(outcomes), superseded=0
    )


def row(uid: str, repetition: int, outcome: str, **changes: Any) -> dict[str, Any]:
    """An episode row with what selection reads, and some of what it must not mind."""
    word = OUTCOMES.get(outcome, outcome)
    failure = {"type": "BackendError", "message": "down", "phase": "tool"}
    plain = {
        "uid": uid,
        "repetition": repetition,
        "try": 0,
        "domain": "retail",
        "family": "returns",
        "tags": ["two-systems"],
        "verdict": {"outcome": word, "score": None, "reasons": [], "details": {}},
        "messages": [{"role": "assistant", "content": "Done.\u2028Anything else?"}],
        "timing": {"total": 1.25},
        "policy": POLICY,
        "error": failure if word == "system_error" else None,
        "versions": {"task": f"hash of {uid}", "content": f"content of {uid}"},
    }
    return plain | changes


def probe_rows(uid: str, outcomes: str, **changes: Any) -> list[dict[str, Any]]:
    """Rows from a text of P, F and E, one repetition each."""
    return [row(uid, index, letter, **changes) for index, letter in enumerate(outcomes)]


def sealed(plain: Mapping[str, Any]) -> bytes:
    """A row as the store of a run writes it, with its checksum."""
    body = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()
    return body[:-1] + b',"checksum":"%08x"}\n' % zlib.crc32(body)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Writes an episodes file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(sealed(plain) for plain in rows))
    return path


def curation(**sections: Any) -> Curation:
    """Settings from plain sections."""
    return Curation.model_validate(sections)
