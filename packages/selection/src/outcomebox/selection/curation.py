"""The settings of a selection: `curation.yaml`.

Every field has a default, so an empty file is a valid one. Relative paths are relative to the file
that holds them. The resolved form, with every default and every excluded uid written out, is saved
beside the pool, so that the pool can be made again from it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from outcomebox.selection.bands import BAND_NAMES, DEFAULT_EDGES, DEFAULT_RETAIN, Band, make_bands

Count = Annotated[StrictInt, Field(ge=1, le=1_000_000)]
Seed = Annotated[StrictInt, Field(ge=0, lt=2**63)]
Text = Annotated[StrictStr, Field(min_length=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sources(_Section):
    """Where tasks and episodes come from.

    Attributes:
        tasks: what the probe runs: names of domains (`retail`), or task files and folders. A
            selection from recorded episodes reads the entries that are task lists (`*.jsonl`) and
            takes the tasks of the episodes where there is none.
        episodes: `episodes.jsonl` files, folders that hold one, or globs.
        reference: episodes of the golden actions; a task they do not pass is not kept.
    """

    tasks: tuple[Text, ...] = ()
    episodes: tuple[Text, ...] = ()
    reference: tuple[Text, ...] = ()


class Probe(_Section):
    """How tasks are probed. A selection from recorded episodes uses `attempts` and `stop` alone.

    Attributes:
        policy: name of the policy whose difficulty is measured.
        policy_options: passed to the policy as they are.
        user_options: passed to the model that plays the user; empty for the scripted user.
        judge: `model` if a model answers the rubrics of tasks that have some.
        judge_options: passed to the judge.
        attempts: repetitions of each task.
        stop: `never`, or `exact` to leave a task as soon as its decision is certain.
        seed: seed of the episodes.
        concurrency: episodes at once.
        max_tries: tries of one repetition that ends in system errors.
    """

    policy: Text | None = None
    policy_options: dict[str, Any] = {}
    user_options: dict[str, Any] = {}
    judge: Literal["model"] | None = None
    judge_options: dict[str, Any] = {}
    attempts: Count = 8
    stop: Literal["never", "exact"] = "never"
    seed: Seed = 0
    concurrency: Count = 4
    max_tries: Count = 3


class BandSettings(_Section):
    """Band edges and the bands a pool is made of."""

    edges: tuple[Number, ...] = DEFAULT_EDGES
    retain: Annotated[tuple[Text, ...], Field(min_length=1)] = DEFAULT_RETAIN

    @field_validator("edges")
    @classmethod
    def _edges_make_bands(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        make_bands(edges)  # raises with the mend
        return tuple(float(edge) for edge in edges)

    @field_validator("retain")
    @classmethod
    def _retain_in_order(cls, retain: tuple[str, ...]) -> tuple[str, ...]:
        for name in retain:
            if name not in BAND_NAMES:
                raise ValueError(f"there is no band {name!r}; use some of {', '.join(BAND_NAMES)}")
        return tuple(name for name in BAND_NAMES if name in retain)

    @property
    def bands(self) -> tuple[Band, ...]:
        """The five bands between the edges."""
        return make_bands(self.edges)


class Gates(_Section):
    """What a task must have before a band may decide about it."""

    min_clean_runs: Count = 4


class Exclude(_Section):
    """Tasks that are never selected.

    Attributes:
        uids: named here.
        lists: files that name them: text with one uid a line, or a pool (`test.yaml`).
    """

    uids: tuple[Text, ...] = ()
    lists: tuple[Text, ...] = ()


class SplitSettings(_Section):
    """How the pool is parted.

    Attributes:
        test_fraction: share of the pool held out, 0 or more and less than 1.
        by: what both sides have in equal shares.
        keep_together: `family` puts each family on one side whole; None parts families.
        seed: another seed gives another split of the same pool.
    """

    test_fraction: Annotated[Number, Field(ge=0, lt=1)] = 0.2
    by: tuple[Literal["domain", "band", "family"], ...] = ("domain", "band")
    keep_together: Literal["family"] | None = None
    seed: Seed = 0

    @model_validator(mode="after")
    def _one_use_of_family(self) -> Self:
        if self.keep_together is not None and "family" in self.by:
            raise ValueError(
                "keep_together: family and by: [..., family] contradict each other; "
                "take family out of one of them"
            )
        return self


class Curation(_Section):
    """All settings of one selection.

    Attributes:
        group_size: attempts of one task in a training group, for the predicted share of mixed ones.
    """

    sources: Sources = Sources()
    probe: Probe = Probe()
    bands: BandSettings = BandSettings()
    gates: Gates = Gates()
    exclude: Exclude = Exclude()
    split: SplitSettings = SplitSettings()
    group_size: Count = 8

    def deciding(self) -> dict[str, Any]:
        """The settings that decide a selection, as plain values.

        Sources are left out (what they hold is identified by digest, not by where it lies), and so
        is how the probe was run (the episode rows say it).
        """
        plain = self.model_dump(mode="json", exclude={"sources"})
        plain["probe"] = {name: plain["probe"][name] for name in ("attempts", "stop")}
        plain["exclude"] = {"uids": sorted(set(plain["exclude"]["uids"]))}
        return plain
