"""Two small assignment problems: who can have a partner, and who should have which."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def largest_matching(
    options: Sequence[Sequence[int]], allowed: Callable[[int, int], bool] | None = None
) -> list[int | None]:
    """Partners for as many rows as can have one, each partner taken once.

    Augmenting paths (Kuhn), breadth first. Exact: no other choice gives more rows a partner. Rows
    that share one list of options cost little more than one row does.

    Args:
        options: For each row the partners it may have.
        allowed: A further condition on (row, partner), asked only for pairs that are tried.

    Returns:
        The partner of each row, or None.
    """
    owner: dict[int, int] = {}
    found: list[int | None] = [None] * len(options)
    # Whoever has been taken stays taken, so a list need not be searched from its start again.
    begin: dict[int, int] = {}
    # What a failed search has reached stays out of reach: nobody there is free, nor will be.
    barred: set[int] = set()

    def free(row: int) -> int | None:
        mine = options[row]
        at = begin.get(id(mine), 0)
        while at < len(mine) and mine[at] in owner:
            at += 1
        begin[id(mine)] = at
        if allowed is None:
            return mine[at] if at < len(mine) else None
        rest = (each for each in mine[at:] if each not in owner and allowed(row, each))
        return next(rest, None)

    for start in range(len(options)):
        came: dict[int, int] = {}  # partner -> the row that reached it
        queue, seen = [start], {id(options[start])}
        for row in queue:
            end = free(row)
            if end is not None:
                _hand_over(row, end, came, owner, found)
                break
            for partner in options[row]:
                if partner in came or partner in barred:
                    continue
                if allowed is not None and not allowed(row, partner):
                    continue
                came[partner] = row
                other = owner[partner]
                if allowed is not None or id(options[other]) not in seen:
                    seen.add(id(options[other]))
                    queue.append(other)
        else:
            barred.update(came)
    return found


def _hand_over(
    row: int, partner: int, came: dict[int, int], owner: dict[int, int], found: list[int | None]
) -> None:
    """Give a row its partner and what it had to the row that reached it, back to the start."""
    while True:
        before = found[row]
        owner[partner], found[row] = row, partner
        if before is None:
            return
        row, partner = came[before], before


def complete_matching(
    options: Sequence[Sequence[int]], allowed: Callable[[int, int], bool] | None = None
) -> list[int] | None:
    """A partner for every row, each partner taken once; None if that cannot be.

    Args:
        options: For each row the partners it may have.
        allowed: A further condition on (row, partner), asked only for pairs that are tried.

    Returns:
        The partner of each row.
    """
    found = [partner for partner in largest_matching(options, allowed) if partner is not None]
    return found if len(found) == len(options) else None


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
