"""Why a request is refused: one type, with the status that a client sees."""

from __future__ import annotations


class RefusedRequest(Exception):
    """A request is answered with an error.

    Args:
        message: What is wrong, as the client reads it.
        status: The HTTP status: 400, 401, 403, 404, 405, 413, 429 (come again) or 504.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def no_session() -> RefusedRequest:
    """There is no session of that name (any more)."""
    return RefusedRequest("Session does not exist")


def full(most: int) -> RefusedRequest:
    """All places are taken; clients of the API come again on 429."""
    return RefusedRequest(f"All {most} sessions are in use; try again later", 429)
