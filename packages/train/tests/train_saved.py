"""Checkpoints as verl's FSDP engine saves them, without a tensor in them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from outcomebox.train.checkpoints.layout import KINDS, TRACKER


def shard(path: Path, content: bytes = b"weights" * 100) -> None:
    """A file as torch.save makes it: a ZIP archive, stored, with a pickle in it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{path.stem}/data.pkl", b"\x80\x02}q\x00.")
        archive.writestr(f"{path.stem}/data/0", content)


def make_checkpoint(
    checkpoints: Path, step: int = 5, world: int = 4, *, latest: bool = True
) -> Path:
    """A checkpoint as verl's FSDP engine saves it."""
    actor = checkpoints / f"global_step_{step}" / "actor"
    (actor / "huggingface").mkdir(parents=True)
    for kind in KINDS:
        for rank in range(world):
            shard(actor / f"{kind}_world_size_{world}_rank_{rank}.pt")
    (actor / "fsdp_config.json").write_text(
        json.dumps({"FSDP_version": 2, "world_size": world}), encoding="utf-8"
    )
    for name in ("config.json", "tokenizer_config.json"):
        (actor / "huggingface" / name).write_text("{}", encoding="utf-8")
    (actor.parent / "data.pt").write_bytes(b"x")
    if latest:
        (checkpoints / TRACKER).write_text(str(step), encoding="utf-8")
    return actor.parent
