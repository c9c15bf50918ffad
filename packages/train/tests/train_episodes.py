"""A small run to train on: the shelf's tasks as a pool, and a server that plays a test's script."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from outcomebox.interpret import render
from outcomebox.interpret.tokens import Vocabulary
from outcomebox.rollout import RunSpec
from outcomebox.sandbox import SQLITE
from outcomebox.train.settings import (
    PoolSettings,
    RefillSettings,
    WorkerSettings,
    load_settings,
)
from outcomebox.train.verl.numbering import Asked

SHELF = Path(__file__).parents[2] / "sandbox" / "tests" / "domains" / "shelf"
MOVE = "shelf/move/1"
"""Move B-008 to S-2: one call."""
ADD = "shelf/move/2"
"""Add a box of weight 7 to S-1, noted as new; the user says yes."""
LOOK = "shelf/move/3"
"""Nothing is to change."""

BANDS = {MOVE: "intermediate", ADD: "difficult", LOOK: None}


def write_pool(path: Path, side: str, uids: Sequence[str], spec: RunSpec) -> str:
    """Write one side of a pool; returns its digest.

    Args:
        path: The file.
        side: ``train`` or ``test``.
        uids: Its tasks.
        spec: Knows them.
    """
    known = spec.tasks_on(SQLITE)
    tasks = []
    for task in (known.by_uid[uid] for uid in uids):
        plain = {"uid": task.uid, "domain": task.domain, "family": task.family}
        tasks.append({**plain, "hash": known.versions(task)["task"]})
    told = {"pool": {"format": "outcomebox-pool/1", "side": side}, "tasks": tasks}
    path.write_text(yaml.safe_dump(told), encoding="utf-8")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_run(
    folder: Path,
    model: Path,
    sides: tuple[Sequence[str], Sequence[str]] = ((MOVE, ADD), (LOOK,)),
    **changes: Any,
) -> WorkerSettings:
    """A run's folder with its pool and settings.

    Args:
        folder: Where it is to be.
        model: The model's folder.
        sides: Tasks to train on, and to test.
        **changes: Settings that are to be others.
    """
    folder.mkdir(parents=True, exist_ok=True)
    train, test = folder / "train.yaml", folder / "test.yaml"
    spec = RunSpec(**{"tasks": (str(SHELF),), "seed": 7, **changes.pop("spec", {})})
    plain = {
        "run_id": "test",
        "out": str(folder),
        "spec": spec.to_json(),
        "pool": PoolSettings(
            path=str(train),
            sha256=write_pool(train, "train", sides[0], spec),
            test_path=str(test),
            test_sha256=write_pool(test, "test", sides[1], spec),
            bands=BANDS,
            mixed_chances=dict.fromkeys(BANDS, 0.5),
        ),
        "model_path": str(model),
        "turn_tokens": 600,
        "prompt_tokens": 6000,
        "response_tokens": 3000,
        "context_tokens": 9000,
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "group_size": 2,
        "groups_per_step": 1,
        "predicted_useful_share": 0.5,
        "refill": RefillSettings(max_rounds=2, max_wasted_groups=4, max_silence_s=60),
        "verl_version": "0.9.1",
        "versions": {},
        **changes,
    }
    file = folder / "worker.json"
    file.write_text(WorkerSettings.model_validate(plain).to_text(), encoding="utf-8")
    return load_settings(file)


def asked(uid: str = MOVE, **changes: Any) -> Asked:
    """What verl asks for."""
    plain = {"side": "train", "draw": 0, "step": 1, "group": "g", "session": 0, **changes}
    return Asked(uid, **plain)


def call(tool: str, **arguments: object) -> str:
    """A turn that calls one tool."""
    return render(reasoning=None, content=None, tool_calls=[(tool, arguments)])


RIGHT = (call("move_box", box_id="B-008", shelf_id="S-2"), "Done. <DONE>")
WRONG = (call("move_box", box_id="B-009", shelf_id="S-1"), "Done. <DONE>")
END = "<|im_end|>"

Turn = str | tuple[int, ...] | BaseException | Callable[[dict[str, Any]], Any]
"""What a server does when it is asked: a text to sample with its end, ids, an error, or an output
made of the request."""


def spelled(vocabulary: Any, text: str) -> tuple[int, ...]:
    """The ids of a text: control tokens where they are spelled, else letter by letter.

    No pair of letters is one id, so that a template which encodes anew would write other ids.
    """
    tokens = vocabulary.get_vocab()
    marks = sorted((each for each in tokens if each.startswith("<") and len(each) > 1), key=len)
    ids: list[int] = []
    while text:
        mark = next((each for each in reversed(marks) if text.startswith(each)), None)
        if mark is not None:
            ids.append(tokens[mark])
            text = text[len(mark) :]
            continue
        ids += [tokens[each] for each in _letters(text[0])]
        text = text[1:]
    return tuple(ids)


def _letters(character: str) -> Iterator[str]:
    """A character as byte-level tokenizers spell its bytes."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in plain]
    for byte in character.encode():
        yield chr(byte) if byte in plain else chr(256 + others.index(byte))


def output(ids: Sequence[int], **changes: Any) -> SimpleNamespace:
    """What verl's servers answer with."""
    plain: dict[str, Any] = {
        "token_ids": list(ids),
        "log_probs": [-0.01 * (at % 90 + 1) for at in range(len(ids))],
        "stop_reason": "completed",
        "num_preempted": None,
        "routed_experts": None,
        "extra_fields": {"global_steps": 3, "min_global_steps": 3, "max_global_steps": 3},
    }
    return SimpleNamespace(**{**plain, **changes})


class Server:
    """Plays scripts, one for each episode, told apart by the request's id.

    No dataclass: Hydra, by which verl makes its loops, takes those for configuration.

    Args:
        vocabulary: The model's tokenizer.
        scripts: Request id -> turns; ``*`` for all others.
        make: Makes an output; a test with the real verl gives its class.

    Attributes:
        asked: Requests, as they came.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        scripts: dict[str, Sequence[Turn]],
        make: Callable[..., Any] = output,
    ) -> None:
        self.vocabulary = vocabulary
        self.scripts = scripts
        self.make = make
        self.asked: list[dict[str, Any]] = []
        self._next: dict[str, int] = {}

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> Any:
        """The next turn of an episode's script."""
        request = {"id": request_id, "prompt": list(prompt_ids), **sampling_params}
        self.asked.append(request)
        script = self.scripts.get(request_id, self.scripts.get("*", ()))
        number = self._next.get(request_id, 0)
        self._next[request_id] = number + 1
        turn = script[number]
        if isinstance(turn, BaseException):
            raise turn
        if callable(turn):
            return turn(request)
        ids = turn if isinstance(turn, tuple) else spelled(self.vocabulary, turn + END)
        return self.make(ids[: sampling_params["max_tokens"]])


def rows_of(settings: WorkerSettings) -> list[dict[str, Any]]:
    """All rows of a run, in the order of their files and lines."""
    return [
        json.loads(line)
        for path in sorted(settings.rows.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
