"""Whose fault an error of the database is, by its SQLSTATE."""

from __future__ import annotations

from outcomebox.sandbox.tooldatabase import Blame

# Classes of appendix A of PostgreSQL's manual. 22 data exception, 23 integrity constraint, 44 WITH
# CHECK OPTION, 54 a limit of the program (a text too long for an index), P0 raised by a trigger.
_REFUSED = ("22", "23", "44", "54", "P0")
# 0A not supported, 21 cardinality, 25 transaction state (a write where none is allowed), 2B to 3F
# privileges, termination, routines and names of the statement's own, 42 syntax and access.
_NAMES = ("3B", "3F", "42", "F0")
_MISTAKES = ("0A", "0L", "0P", "21", "24", "25", "26", "2B", "2D", "2F", "34", "38", "39", *_NAMES)


def blame(sqlstate: str | None) -> Blame:
    """Whose fault it is; what is not known to be a statement's is infrastructure's.

    Args:
        sqlstate: Five characters; None where the server said none (a lost connection).
    """
    kind = (sqlstate or "")[:2]
    if kind in _REFUSED:
        return "refused"
    return "mistake" if kind in _MISTAKES else "failed"
