"""Whether a checkpoint is whole: every rank's shards, each a complete archive."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.checkpoints.layout import DATA, KINDS, Checkpoint, Shard

_SMALL = 0.5
"""Shards of one kind are of one size, give or take what does not divide by the ranks. One of less
than this part of the others' is told as odd."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a checkpoint.

    Attributes:
        path: What it is wrong with.
        told: What is wrong, and the mend.
    """

    path: Path
    told: str


@dataclass(frozen=True)
class Verified:
    """What was found.

    Attributes:
        checkpoint: What was looked at.
        faults: What is wrong; empty for a whole one.
        odd: What is worth a look and breaks nothing.
        bytes: Bytes of all shards.
        digests: Name of each shard -> SHA-256 (hex), where they were asked for.
    """

    checkpoint: Checkpoint
    faults: tuple[Fault, ...]
    odd: tuple[Fault, ...]
    bytes: int
    digests: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        checkpoint = self.checkpoint
        return {
            "folder": str(checkpoint.folder),
            "step": checkpoint.step,
            "world_size": checkpoint.world_size,
            "shards": len(checkpoint.shards),
            "bytes": self.bytes,
            "whole": not self.faults,
            "faults": [{"path": str(each.path), "told": each.told} for each in self.faults],
            "odd": [{"path": str(each.path), "told": each.told} for each in self.odd],
            "digests": dict(self.digests),
        }


def verify(
    checkpoint: Checkpoint,
    *,
    deep: bool = True,
    digests: bool = False,
    tell: Callable[[int, int], None] | None = None,
) -> Verified:
    """Look at every shard.

    Args:
        checkpoint: What is looked at.
        deep: Read every byte against the archives' own checksums; else only that each archive has
            its end, which a cut-off save does not write.
        digests: Give the SHA-256 of each shard.
        tell: Told how many shards of how many are done.
    """
    faults: list[Fault] = []
    by_place = {(shard.kind, shard.rank): shard for shard in checkpoint.shards}
    odd = [
        Fault(shard.path, f"is of another save ({shard.world_size} ranks); take it out")
        for shard in checkpoint.shards
        if shard.world_size != checkpoint.world_size or shard.rank >= checkpoint.world_size
    ]
    due: list[Shard] = []
    for kind in KINDS:
        for rank in range(checkpoint.world_size):
            found = by_place.get((kind, rank))
            name = f"{kind}_world_size_{checkpoint.world_size}_rank_{rank}.pt"
            if found is None or found.path.name != name:
                told = f"is missing: the {kind} of rank {rank}; copy it from that rank's node"
                faults.append(Fault(checkpoint.actor / name, told))
            else:
                due.append(found)
    data = checkpoint.folder / DATA
    if not data.is_file():
        told = "is missing: which tasks were drawn; the run would draw from the beginning again"
        odd.append(Fault(data, told))
    sums: dict[str, str] = {}
    total = 0
    for done, shard in enumerate(due, 1):
        wrong = _archive(shard.path, deep)
        if wrong is not None:
            faults.append(Fault(shard.path, wrong))
        else:
            total += shard.path.stat().st_size
            if digests:
                sums[shard.path.name] = _digest(shard.path)
        if tell is not None:
            tell(done, len(due))
    odd += _odd_sizes(due)
    for name in ("config.json", "tokenizer_config.json"):
        file = checkpoint.huggingface / name
        if not file.is_file():
            told = "is missing: a merge needs it; copy it from the base checkpoint"
            faults.append(Fault(file, told))
    return Verified(checkpoint, tuple(faults), tuple(odd), total, sums)


def check_whole(checkpoint: Checkpoint) -> None:
    """See that every shard is there and has its end.

    Raises:
        InputError: One is missing or cut off.
    """
    found = verify(checkpoint, deep=False)
    if found.faults:
        first = found.faults[0]
        more = f" [and {len(found.faults) - 1} more]" if len(found.faults) > 1 else ""
        raise InputError(f"{first.told}{more}", file=first.path)


def _archive(path: Path, deep: bool) -> str | None:
    """What is wrong with a file of ``torch.save``, which is a ZIP archive; None for nothing."""
    try:
        with zipfile.ZipFile(path) as archive:
            if not any(name.endswith("data.pkl") for name in archive.namelist()):
                return "is an archive, but none of torch.save; copy the checkpoint again"
            broken = archive.testzip() if deep else None
    except zipfile.BadZipFile:
        return "is cut off or damaged; use an earlier checkpoint, or copy it again"
    except OSError as error:
        return f"cannot be read ({error.strerror}); mend the storage"
    if broken is not None:
        return f"is damaged ({broken} has another checksum); copy it again"
    return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _odd_sizes(shards: list[Shard]) -> list[Fault]:
    found = []
    for kind in KINDS:
        sizes = {shard.path: shard.path.stat().st_size for shard in shards if shard.kind == kind}
        if len(sizes) < 3:
            continue
        usual = median(sizes.values())
        found += [
            Fault(path, f"has {size} bytes, and the others about {usual:.0f}; look at its rank")
            for path, size in sizes.items()
            if size < _SMALL * usual
        ]
    return found
