"""What is told about a pool beside the selection: what it will give, and how long.

Everything comes from one set of posterior draws of the probed tasks' pass rates (`population`), so
that the figures fit together. Nothing here decides which tasks are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from outcomebox.selection.bands import BAND_NAMES
from outcomebox.selection.decay import half_life, lifted, worn
from outcomebox.selection.decision import REFERENCE, STOPPED, UNDECIDED
from outcomebox.selection.edges import Mask, choice, kept_by
from outcomebox.selection.population import MOST_TASKS, draw_rates, draws_for, learn
from outcomebox.selection.posterior import Floats
from outcomebox.selection.prediction import Span, mixed_share, span, steps

if TYPE_CHECKING:
    from outcomebox.selection.curate import Selection
    from outcomebox.selection.curation import Curation
    from outcomebox.selection.decision import TaskDecision

# Reasons that come from the results, and so from the edges: other edges may undo them.
_BY_EDGES = frozenset({UNDECIDED, STOPPED, *BAND_NAMES})
_FOR_HALF_LIFE = 100
"""Draws that are enough for one expectation."""


@dataclass
class _Draws:
    """Values by draw, collected part by part."""

    values: dict[Any, list[Floats]] = field(default_factory=dict)

    def add(self, name: Any, values: Floats) -> None:
        self.values.setdefault(name, []).append(values)

    def span(self, name: Any) -> Span:
        return span(np.concatenate(self.values[name]))


@dataclass(frozen=True)
class _Spent:
    """What one rollout of each task of the pool takes; None where not known of all."""

    tokens: Floats | None
    cost: Floats | None
    tasks_known: int


def outlook(selection: Selection) -> dict[str, Any] | None:
    """Predicts what a pool gives.

    Args:
        selection: a finished selection.

    Returns:
        Plain JSON values; every estimate has a value and a 95 % interval. None without a pool.
        `edges` is empty where no others were asked for, and null where they cannot be compared.
    """
    probed = [d for d in selection.decisions if d.estimate is not None and d.reason != REFERENCE]
    kept = np.asarray([decision.kept for decision in probed], bool)
    if not kept.any():
        return None
    curation = selection.curation
    settings, size, edges = curation.predict, curation.group_size, curation.bands.edges
    retained = [name in curation.bands.retain for name in BAND_NAMES]
    passes = np.asarray([decision.result.passes for decision in probed])
    runs = np.asarray([decision.result.clean_runs for decision in probed])
    population = learn(passes, runs)
    candidates = _candidates(selection, probed)
    rng = np.random.default_rng((settings.seed, 1))
    drawn = _drawn(kept, rng)
    few = kept[drawn]
    scale = int(kept.sum()) / int(few.sum())
    spent = _spent(selection, [probed[place] for place in drawn if kept[place]])
    sizes = sorted({size, *settings.sizes})
    draws = _Draws()
    half = rate_then = None
    parts = draw_rates(population, passes[drawn], runs[drawn], settings.seed)
    for number, rates in enumerate(parts):
        pool = rates[:, few]
        draws.add("unselected", mixed_share(rates, size))
        for each in sizes:
            draws.add(("size", each), mixed_share(pool, each))
        _step(draws, pool, curation, spent, rng)
        for shift in (0.0, *settings.shifts):
            after = worn(pool, shift, size, edges, retained)
            draws.add(("rate", shift), after.rate)
            draws.add(("mixed", shift), after.mixed)
            draws.add(("left", shift), after.left * scale)
            draws.add(("bands", shift), after.bands * scale)
        for place, (others, mask) in enumerate(candidates):
            found = choice(rates, mask[drawn], others, curation.bands.retain, size)
            if found is not None:
                draws.add((place, "mixed"), found.mixed)
                draws.add((place, "useful"), found.mixed * mask.sum())
                draws.add((place, "inside"), found.inside)
        if number == 0:
            few_draws = pool[:_FOR_HALF_LIFE]
            half = half_life(few_draws, edges, retained)
            rate_then = None if half is None else float(lifted(few_draws, half).mean())
    return {
        "draws": draws_for(drawn.size),
        "tasks_drawn": int(drawn.size),
        "seed": settings.seed,
        "group_size": size,
        "mixed_share": draws.span(("size", size)).to_json(),
        "mixed_share_unselected": draws.span("unselected").to_json(),
        "sizes": [
            {"group_size": each, "mixed_share": draws.span(("size", each)).to_json()}
            for each in sizes
        ],
        "step": _step_json(draws, curation, spent),
        "decay": [_worn_json(draws, shift) for shift in (0.0, *settings.shifts)],
        "half_life": None
        if half is None or rate_then is None
        else {"shift": round(half, 2), "pass_rate": round(rate_then, 6)},
        "edges": None
        if curation.predict.edges and not candidates
        else [
            _choice_json(draws, place, others, mask, kept)
            for place, (others, mask) in enumerate(candidates)
        ],
    }


def _drawn(kept: Mask, rng: np.random.Generator) -> NDArray[np.intp]:
    """The places of the tasks that rates are drawn of: all, or a sample with some of the pool."""
    if kept.size <= MOST_TASKS:
        return np.arange(kept.size)
    order = rng.permutation(kept.size)
    first = order[kept[order]][:1]
    return np.unique(np.concatenate([first, order[: MOST_TASKS - 1]]))


def _spent(selection: Selection, pool: Iterable[TaskDecision]) -> _Spent:
    """Tokens and cost of a clean try of each task of the pool, by its mean."""
    uids = [decision.uid for decision in pool]
    if selection.tries is None:
        return _Spent(None, None, 0)
    clean = selection.tries.rows.filter(pl.col("outcome") != "system_error")
    means = {
        uid: (tokens, cost)
        for uid, tokens, cost in clean.group_by("uid")
        .agg(pl.col("tokens").mean(), pl.col("cost").mean())
        .iter_rows()
    }
    columns = []
    for place in (0, 1):
        found = [means.get(uid, (None, None))[place] for uid in uids]
        columns.append(None if None in found else np.asarray(found, np.float64))
    known = sum(means.get(uid, (None, None))[0] is not None for uid in uids)
    return _Spent(columns[0], columns[1], known)


def _step(
    draws: _Draws, pool: Floats, curation: Curation, spent: _Spent, rng: np.random.Generator
) -> None:
    groups, size = curation.predict.groups, curation.group_size
    state = rng.bit_generator.state
    played = steps(pool, size, groups, rng)
    draws.add("useful", played.useful)
    draws.add("wasted", played.wasted)
    for name, cost in (("tokens", spent.tokens), ("cost", spent.cost)):
        if cost is not None:
            rng.bit_generator.state = state  # the same step, priced
            draws.add(name, steps(pool, size, groups, rng, cost).wasted)


def _step_json(draws: _Draws, curation: Curation, spent: _Spent) -> dict[str, Any]:
    groups, size = curation.predict.groups, curation.group_size
    known = {"tokens": spent.tokens, "cost": spent.cost}
    return {
        "groups": groups,
        "rollouts": groups * size,
        "useful_groups": draws.span("useful").to_json(),
        "wasted_rollouts": draws.span("wasted").to_json(),
        **{
            f"wasted_{name}": None if value is None else draws.span(name).to_json()
            for name, value in known.items()
        },
        "tasks_with_known_tokens": spent.tasks_known,
    }


def _worn_json(draws: _Draws, shift: float) -> dict[str, Any]:
    bands = np.concatenate(draws.values["bands", shift]).mean(axis=0)
    return {
        "shift": shift,
        "pass_rate": draws.span(("rate", shift)).to_json(),
        "mixed_share": draws.span(("mixed", shift)).to_json(),
        "left": draws.span(("left", shift)).to_json(),
        "bands": {name: round(float(n), 6) for name, n in zip(BAND_NAMES, bands, strict=True)},
    }


def _candidates(
    selection: Selection, probed: list[TaskDecision]
) -> list[tuple[tuple[float, ...], Mask]]:
    """Each set of edges with the tasks that it would keep, those in force first.

    Where tasks were stopped there is nothing to compare: the probe decided for the edges in force.
    """
    curation = selection.curation
    others = dict.fromkeys(curation.predict.edges)
    if not others or any(decision.stopped for decision in probed):
        return []
    passes = [decision.result.passes for decision in probed]
    runs = [decision.result.clean_runs for decision in probed]
    open_to_edges = np.asarray([d.kept or d.reason in _BY_EDGES for d in probed])
    return [
        (
            edges,
            open_to_edges
            & kept_by(passes, runs, edges, curation.bands.retain, curation.gates.min_clean_runs),
        )
        for edges in dict.fromkeys((curation.bands.edges, *others))
    ]


def _choice_json(
    draws: _Draws, place: int, edges: tuple[float, ...], mask: Mask, kept: Mask
) -> dict[str, Any]:
    names: Mapping[str, str] = {
        "mixed": "mixed_share",
        "useful": "useful_groups",
        "inside": "inside_share",
    }
    return {
        "edges": list(edges),
        "in_force": place == 0,
        "kept": int(mask.sum()),
        "gained": int((mask & ~kept).sum()),
        "lost": int((kept & ~mask).sum()),
        **{
            told: draws.span((place, name)).to_json() if (place, name) in draws.values else None
            for name, told in names.items()
        },
    }
