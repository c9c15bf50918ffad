"""Two small assignment problems: who can have a partner, and who should have which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def complete_matching(
    options: Sequence[Iterable[int]], allowed: Callable[[int, int], bool] | None = None
) -> list[int] | None:
    """A partner for every row, each partner taken once; None if that cannot be.

    Augmenting paths (Kuhn), breadth first. Exact: if there is a complete matching, one is found.

    Args:
        options: For each row the partners it may have.
        allowed: A further condition on (row, partner), asked only for pairs that are tried.

    Returns:
        The partner of each row.
    """
    owner: dict[int, int] = {}
    for start in range(len(options)):
        came: dict[int, int] = {}  # partner -> the row that reached it
        queue = [start]
        end = None
        for row in queue:
            for partner in options[row]:
                if partner in came or (allowed is not None and not allowed(row, partner)):
                    continue
                came[partner] = row
                if partner not in owner:
                    end = partner
                    break
                queue.append(owner[partner])
            if end is not None:
                break
        if end is None:
            return None
        partners = {row: partner for partner, row in owner.items()}
        row, partner = came[end], end
        while True:  # hand partners over along the path, back to the row it started from
            owner[partner] = row
            if row == start:
                break
            partner = partners[row]
            row = came[partner]
    found = {row: partner for partner, row in owner.items()}
    return [found[row] for row in range(len(options))]


def cheapest_assignment(costs: Sequence[Sequence[int]]) -> list[int]:
    """The partner of each row such that the sum of costs is least.

    The Hungarian method with potentials (Kuhn 1955, Munkres 1957; the shortest augmenting path form
    of Jonker and Volgenant 1987): O(rows**2 * partners).

    Args:
        costs: ``costs[row][partner]``; at least as many partners as rows, all rows equally long.

    Returns:
        The partner of each row. Among equally cheap ones the choice is fixed but arbitrary.
    """
    rows, width = len(costs), len(costs[0]) if costs else 0
    row_potential, potential = [0] * (rows + 1), [0] * (width + 1)
    owner = [0] * (width + 1)  # partner -> row, both counted from 1; 0 is nobody
    for row in range(1, rows + 1):
        owner[0] = row
        at = 0
        slack: list[float] = [float("inf")] * (width + 1)
        before = [0] * (width + 1)
        done = [False] * (width + 1)
        while owner[at]:
            done[at] = True
            current = owner[at]
            line, line_potential = costs[current - 1], row_potential[current]
            step, nearest = float("inf"), 0
            for partner in range(1, width + 1):
                if done[partner]:
                    continue
                reduced = line[partner - 1] - line_potential - potential[partner]
                if reduced < slack[partner]:
                    slack[partner] = reduced
                    before[partner] = at
                if slack[partner] < step:
                    step, nearest = slack[partner], partner
            for partner in range(width + 1):
                if done[partner]:
                    row_potential[owner[partner]] += int(step)
                    potential[partner] -= int(step)
                else:
                    slack[partner] -= step
            at = nearest
        while at:
            owner[at] = owner[before[at]]
            at = before[at]
    result = [0] * rows
    for partner in range(1, width + 1):
        if owner[partner]:
            result[owner[partner] - 1] = partner - 1
    return result
