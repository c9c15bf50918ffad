"""Which call of one reader is which call of the other."""

from collections.abc import Sequence

from outcomebox.interpret.replay.jsonvalues import same
from outcomebox.interpret.replay.readings import Call
from outcomebox.interpret.turn import Span

Pair = tuple[int | None, int | None]
"""Indices of one call on the left and on the right; None where that side has none."""

_MOST_CELLS = 10_000


def pair_calls(
    left: Sequence[Call],
    right: Sequence[Call],
    left_spans: Sequence[Span | None],
    right_spans: Sequence[Span | None],
) -> list[Pair]:
    """Return the pairs of calls, in order, every call in exactly one.

    The pairing is the one of greatest likeness that keeps both orders: calls are alike by name,
    by arguments and by where they stand. A turn of very many calls is paired by position.

    Args:
        left: The calls of the left reader.
        right: Those of the right one.
        left_spans: Where the left calls stand.
        right_spans: Where the right calls stand.
    """
    # What is the same at both ends is paired at once: most turns are read alike.
    head = 0
    while (
        head < min(len(left), len(right))
        and _equal(left[head], right[head])
        and _meet(left_spans[head], right_spans[head]) is not False
    ):
        head += 1
    rest_left, rest_right = len(left) - head, len(right) - head
    pairs: list[Pair] = [(index, index) for index in range(head)]
    if rest_left * rest_right > _MOST_CELLS:
        return pairs + [
            (index if index < len(left) else None, index if index < len(right) else None)
            for index in range(head, max(len(left), len(right)))
        ]
    scores = [
        [
            _likeness(left[head + i], right[head + j], left_spans[head + i], right_spans[head + j])
            for j in range(rest_right)
        ]
        for i in range(rest_left)
    ]
    return pairs + [
        (None if i is None else head + i, None if j is None else head + j)
        for i, j in _best(scores, rest_left, rest_right)
    ]


def _best(scores: list[list[int]], rows: int, columns: int) -> list[Pair]:
    """Return the order-keeping pairing of the greatest sum; a score of 0 never pairs."""
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            paired = best[i + 1][j + 1] + scores[i][j] if scores[i][j] else 0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[Pair] = []
    i = j = 0
    while i < rows and j < columns:
        if scores[i][j] and best[i][j] == best[i + 1][j + 1] + scores[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    pairs += [(index, None) for index in range(i, rows)]
    pairs += [(None, index) for index in range(j, columns)]
    return pairs


def _likeness(left: Call, right: Call, left_span: Span | None, right_span: Span | None) -> int:
    meet = _meet(left_span, right_span)
    if left.name != right.name:
        return 1 if meet else 0
    if meet is False:
        return 0
    return 4 + (4 if _equal(left, right) else 0) + (2 if meet else 0)


def _equal(left: Call, right: Call) -> bool:
    if left.name != right.name or left.executable != right.executable:
        return False
    if left.arguments is None or right.arguments is None:
        return left.wire == right.wire
    return same(left.arguments, right.arguments)


def _meet(left: Span | None, right: Span | None) -> bool | None:
    """Say whether two places overlap; None where one is not known."""
    if left is None or right is None:
        return None
    return left[0] < right[1] and right[0] < left[1]
