"""Finds every pair of tasks that say nearly the same.

Similarity is Jaccard's: what two sets share, over all that is in either. No pair at or above the
threshold is missed: candidates come from prefix filtering (Bayardo, Ma and Srikant, 2007, "Scaling
up all pairs similarity search"; Chaudhuri, Ganti and Kaushik, 2006), which is exact, and not from
hashes that find a pair with some probability. Sets are written with their rarest members first;
two sets of similarity t or more have then a common member among the first |x| - ceil(t |x|) + 1 of
each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from outcomebox.selection.content import Content


class NearCopy(NamedTuple):
    """Two tasks that say nearly the same.

    Attributes:
        uid: a task.
        of: another one.
        text: similarity of their texts, 0 to 1.
        state: similarity of their initial states; None where one of them has none.
    """

    uid: str
    of: str
    text: float
    state: float | None


def jaccard(one: frozenset[int], other: frozenset[int]) -> Fraction:
    """Similarity of two sets, exactly; 1 for two empty ones."""
    whole = len(one | other)
    return Fraction(len(one & other), whole) if whole else Fraction(1)


def near_copies(
    tasks: Mapping[str, Content],
    others: Mapping[str, Content],
    similarity: float,
    state_similarity: float,
) -> list[NearCopy]:
    """Every near copy of other tasks.

    Args:
        tasks: by uid.
        others: by uid; a task is never its own copy.
        similarity: of the texts, at least, more than 0.
        state_similarity: of the initial states, at least, where both have one.

    Returns:
        The pairs, each task's most similar one first, sorted by uid. A pair stands once for each of
        its tasks that is one of `tasks`.
    """
    # The decimal that was written, not the nearest binary fraction, is the threshold.
    least, least_state = (Fraction(repr(float(each))) for each in (similarity, state_similarity))
    counts = Counter(
        each for group in (tasks, others) for content in group.values() for each in content.shingles
    )

    def prefix(content: Content) -> list[int]:
        ordered = sorted(content.shingles, key=lambda each: (counts[each], each))
        return ordered[: len(ordered) - ceil(least * len(ordered)) + 1]

    places: dict[int, list[str]] = defaultdict(list)
    for uid, content in others.items():
        for each in prefix(content):
            places[each].append(uid)
    found = []
    for uid, content in tasks.items():
        candidates = {name for each in prefix(content) for name in places.get(each, ())} - {uid}
        for name in candidates:
            other = others[name]
            text = _text_similarity(content, other, least)
            state = _state_similarity(content, other)
            if text is not None and (state is None or state >= least_state):
                found.append(
                    NearCopy(uid, name, float(text), None if state is None else float(state))
                )
    return sorted(found, key=lambda copy: (copy.uid, -copy.text, -(copy.state or 0), copy.of))


def _text_similarity(one: Content, other: Content, least: Fraction) -> Fraction | None:
    """Similarity of two texts; None where it is less."""
    few, many = sorted((len(one.shingles), len(other.shingles)))
    if few < least * many:
        return None
    found = jaccard(one.shingles, other.shingles)
    return found if found >= least else None


def _state_similarity(one: Content, other: Content) -> Fraction | None:
    """Similarity of two initial states; None where one of the tasks has none."""
    return jaccard(one.facts, other.facts) if one.facts and other.facts else None


def best_of_each(copies: Iterable[NearCopy]) -> dict[str, NearCopy]:
    """The most similar other task of each task, of what `near_copies` gave."""
    found: dict[str, NearCopy] = {}
    for copy in copies:
        found.setdefault(copy.uid, copy)
    return found
