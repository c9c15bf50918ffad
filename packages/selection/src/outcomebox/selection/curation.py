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
    StrictBool,
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
RowField = Literal[
    "uid",
    "repetition",
    "try",
    "domain",
    "family",
    "tags",
    "outcome",
    "system_error",
    "policy",
    "hash",
    "content",
]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sources(_Section):
    """Where tasks and episodes come from.

    Attributes:
        tasks: what the probe runs: names of domains (`retail`), or task files and folders. A
            selection from recorded episodes reads the entries that are task lists (`*.jsonl`) and
            takes the tasks of the episodes where there is none.
        episodes: `episodes.jsonl` files, their indexes, Parquet files, run folders, or globs.
        policy: whose episodes decide, where the rows are of several policies: its name, its model,
            or both with a space between.
        reference: episodes of the golden actions; a task they do not pass is not kept.
        reference_model: episodes of a stronger model, for `gates.reference_model`.
        form: who wrote the rows: `outcomebox`, or `thinkingbox` for those of `tb infer`.
        fields: where a row has a field, by its dotted name, as in `{domain: meta.area}`. It is for
            `episodes` and `reference_model`; what is not named lies where the form has it.
    """

    tasks: tuple[Text, ...] = ()
    episodes: tuple[Text, ...] = ()
    policy: Text | None = None
    reference: tuple[Text, ...] = ()
    reference_model: tuple[Text, ...] = ()
    form: Literal["outcomebox", "thinkingbox"] = "outcomebox"
    fields: dict[RowField, Text] = {}


class BayesStop(_Section):
    """When `stop: bayes` leaves a task.

    Attributes:
        keep: the posterior probability of the retained bands above which a task is kept.
        drop: the posterior probability of the other bands above which it is dropped.
        least: clean runs before a task may be left.
        most: attempts at a task whose decision stays open; its band then decides.
    """

    keep: Annotated[Number, Field(ge=0.5, lt=1)] = 0.8
    drop: Annotated[Number, Field(ge=0.5, lt=1)] = 0.75
    least: Count = 3
    most: Count = 16

    @model_validator(mode="after")
    def _least_to_most(self) -> Self:
        if self.least > self.most:
            raise ValueError(
                f"least is {self.least} and most is {self.most}; let least be at most most"
            )
        return self


class Probe(_Section):
    """How tasks are probed.

    A selection from recorded episodes uses `attempts`, `stop` and `bayes` alone.

    Attributes:
        policy: name of the policy whose difficulty is measured.
        policy_options: passed to the policy as they are.
        user_options: passed to the model that plays the user; empty for the scripted user.
        judge: `model` if a model answers the rubrics of tasks that have some.
        judge_options: passed to the judge.
        attempts: repetitions of each task.
        stop: `never`; `exact` to leave a task as soon as its decision is certain; `bayes` to leave
            it as soon as its decision is likely enough.
        bayes: what `bayes` calls likely enough, and how many attempts it makes.
        seed: seed of the episodes.
        record: whether what is said to models and back is kept.
        replay: a recording that answers instead of models.
        concurrency: episodes at once.
        min_concurrency: episodes at once, at least, while an endpoint pushes back.
        max_tries: tries of one repetition that ends in system errors.
        patience_s: seconds that an endpoint that is down is waited for.
        executor: where episodes run.
        executor_options: its settings.
    """

    policy: Text | None = None
    policy_options: dict[str, Any] = {}
    user_options: dict[str, Any] = {}
    judge: Literal["model"] | None = None
    judge_options: dict[str, Any] = {}
    attempts: Count = 8
    stop: Literal["never", "exact", "bayes"] = "never"
    bayes: BayesStop = BayesStop()
    seed: Seed = 0
    record: StrictBool = False
    replay: Text | None = None
    concurrency: Count = 4
    min_concurrency: Count = 1
    max_tries: Count = 3
    patience_s: Annotated[Number, Field(ge=0)] = 600.0
    executor: Text = "local"
    executor_options: dict[str, Any] = {}


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


class ReferenceModelGate(_Section):
    """What a stronger model must show of a task: counts, a posterior probability, or both.

    Attributes:
        passes: clean runs of the reference model that passed, at least.
        runs: its clean runs, at least.
        rate: with `probability`: P(pass rate > rate) under Jeffreys' prior.
        probability: at least so much.
    """

    passes: Annotated[StrictInt, Field(ge=0, le=1_000_000)] = 1
    runs: Count = 1
    rate: Annotated[Number, Field(ge=0, lt=1)] | None = None
    probability: Annotated[Number, Field(gt=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _rate_and_probability(self) -> Self:
        if (self.rate is None) != (self.probability is None):
            raise ValueError("rate and probability belong together; write both or none")
        return self


class Gates(_Section):
    """What a task must have before a band may decide about it.

    Attributes:
        min_clean_runs: clean runs without which a task has no band.
        reference_model: what `sources.reference_model` must show; without that it is not used.
        duplicates: `exact` keeps one of several tasks with equal content; `near` also one of
            several whose texts and states are as similar as `exclude` says.
    """

    min_clean_runs: Count = 4
    reference_model: ReferenceModelGate = ReferenceModelGate()
    duplicates: Literal["exact", "near"] = "exact"


class Exclude(_Section):
    """Tasks that are never selected.

    Attributes:
        uids: named here.
        lists: files that name them: text with one uid a line, or a pool (`test.yaml`).
        content: files of tasks with their texts (a benchmark): neither they nor near copies of
            them are selected. Task files (YAML), task lists or hydrated datasets (JSONL).
        similarity: share of common word triples from which on two texts are near copies.
        state_similarity: share of common facts from which on two initial states are, where both
            tasks have one.
    """

    uids: tuple[Text, ...] = ()
    lists: tuple[Text, ...] = ()
    content: tuple[Text, ...] = ()
    similarity: Annotated[Number, Field(ge=0.3, le=1)] = 0.8
    state_similarity: Annotated[Number, Field(ge=0, le=1)] = 0.5


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


class Predict(_Section):
    """What is told about the pool beside the selection; nothing here decides it.

    Attributes:
        groups: groups that one training step holds.
        sizes: other group sizes to predict mixed groups for, beside `group_size`.
        edges: other band edges to compare with the ones in force, six numbers each.
        shifts: how much better the policy gets, in log-odds of each task's pass rate.
        seed: seed of the posterior draws and of the audit's permutations.
    """

    groups: Count = 32
    sizes: tuple[Count, ...] = (4, 16)
    edges: tuple[tuple[Number, ...], ...] = ()
    shifts: tuple[Number, ...] = (0.5, 1.0, 2.0)
    seed: Seed = 0

    @field_validator("edges")
    @classmethod
    def _edges_make_bands(
        cls, edges: tuple[tuple[float, ...], ...]
    ) -> tuple[tuple[float, ...], ...]:
        for each in edges:
            make_bands(each)  # raises with the mend
        return tuple(tuple(float(edge) for edge in each) for each in edges)


class Curation(_Section):
    """All settings of one selection.

    Attributes:
        group_size: attempts of one task in a training group, for the predicted share of mixed ones.
        predict: what is told about the pool beside the selection.
    """

    sources: Sources = Sources()
    probe: Probe = Probe()
    bands: BandSettings = BandSettings()
    gates: Gates = Gates()
    exclude: Exclude = Exclude()
    split: SplitSettings = SplitSettings()
    group_size: Count = 8
    predict: Predict = Predict()

    def deciding(self) -> dict[str, Any]:
        """The settings that decide a selection, as plain values.

        Sources are left out (what they hold is identified by digest, not by where it lies), and so
        is how the probe was run (the episode rows say it), and so is what is told beside it.
        """
        plain = self.model_dump(mode="json", exclude={"sources", "predict"})
        plain["probe"] = {name: plain["probe"][name] for name in ("attempts", "stop", "bayes")}
        plain["exclude"]["uids"] = sorted(set(plain["exclude"]["uids"]))
        del plain["exclude"]["lists"], plain["exclude"]["content"]
        return plain
