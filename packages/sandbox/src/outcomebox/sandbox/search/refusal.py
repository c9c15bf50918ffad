"""What the search answers when it cannot do as it was asked: a status and one sentence."""

from __future__ import annotations


class SearchRefused(Exception):
    """A request that gets an error for an answer.

    Attributes:
        status: HTTP status code, as Typesense uses them.
        message: What is wrong and, where there is one, the mend.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def bad_request(message: str) -> SearchRefused:
    """The request is not one that can be answered (400)."""
    return SearchRefused(400, message)


def not_found(message: str = "Not Found") -> SearchRefused:
    """The collection, document or field is not there (404)."""
    return SearchRefused(404, message)


def already_exists(message: str) -> SearchRefused:
    """There is a collection or document of that name already (409)."""
    return SearchRefused(409, message)


def too_much(message: str) -> SearchRefused:
    """A limit on memory would be passed (422, as a full Typesense answers)."""
    return SearchRefused(422, message)


def unsupported(what: str) -> SearchRefused:
    """Something that Typesense does and the embedded index does not (400)."""
    return bad_request(
        f"{what} is not supported by the embedded index; give the run a Typesense by URL."
    )
