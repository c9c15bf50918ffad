"""The few endpoints of Typesense's HTTP API that clients of a tool server use.

======  ===========================================  ==========================================
GET     ``/health``
GET     ``/collections``, ``/collections/C``
POST    ``/collections``                             ``{"name": C, "fields": [...]}``
DELETE  ``/collections/C``
POST    ``/collections/C/documents``                 one document; ``?action=create|upsert|...``
POST    ``/collections/C/documents/import``          a document a line; an answer a line
GET     ``/collections/C/documents/export``          a document a line
GET     ``/collections/C/documents/search``          parameters in the query string
GET     ``/collections/C/documents/ID``
DELETE  ``/collections/C/documents/ID``
POST    ``/multi_search``                            ``{"searches": [...]}``
======  ===========================================  ==========================================

An error is ``{"message": TEXT}`` with Typesense's status codes.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from outcomebox.sandbox.search.index import MAX_COLLECTION_BYTES, Collection, Store
from outcomebox.sandbox.search.params import read_search
from outcomebox.sandbox.search.refusal import SearchRefused, bad_request, unsupported
from outcomebox.sandbox.search.results import TEXT_ONLY, answer
from outcomebox.sandbox.search.schema import read_schema

_log = logging.getLogger(__name__)

MAX_SEARCHES = 50
_ACTIONS = frozenset({"create", "upsert", "update", "emplace"})


def search_app(store: Store, *, api_key: str | None = None) -> ASGIApp:
    """The HTTP API over a store.

    Args:
        store: Where the collections are.
        api_key: What a client must send as ``x-typesense-api-key``; None: nothing is asked for.
    """
    api = _Api(store)
    documents = "/collections/{collection}/documents"
    app = Starlette(
        routes=[
            Route("/health", api.health),
            Route("/multi_search", api.multi_search, methods=["POST"]),
            Route(documents, api.create_document, methods=["POST"]),
            Route(f"{documents}/search", api.search, methods=["GET"]),
            Route(f"{documents}/import", api.import_documents, methods=["POST"]),
            Route(f"{documents}/export", api.export_documents, methods=["GET"]),
            Route(f"{documents}/{{key:path}}", api.document, methods=["GET", "DELETE"]),
            Route("/collections/{collection}", api.collection, methods=["GET", "DELETE"]),
            Route("/collections", api.collections, methods=["GET", "POST"]),
        ],
        exception_handlers={
            SearchRefused: _refused,
            HTTPException: _no_route,
            ClientDisconnect: _hung_up,
        },
    )
    app.router.redirect_slashes = False
    return _Door(app, api_key)


class _Api:
    """The endpoints, each a function of a request."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._said_text_only = False

    async def health(self, _: Request) -> Response:
        return _json({"ok": True})

    async def collections(self, request: Request) -> Response:
        if request.method == "POST":
            schema = read_schema(_parsed(await _body(request)))
            return _json(_shown(self._store.create(schema)), 201)
        return _json([_shown(collection) for collection in self._store])

    async def collection(self, request: Request) -> Response:
        name = request.path_params["collection"]
        if request.method == "DELETE":
            return _json(_shown(self._store.delete(name)))
        return _json(_shown(self._store.get(name)))

    async def create_document(self, request: Request) -> Response:
        body = await _body(request)
        name, action = request.path_params["collection"], _action(request)
        return _json(self._store.put(name, _parsed(body), len(body), action), 201)

    async def document(self, request: Request) -> Response:
        name, key = request.path_params["collection"], request.path_params["key"]
        if request.method == "DELETE":
            return _json(self._store.remove(name, key))
        return _json(self._store.get(name).get(key))

    async def import_documents(self, request: Request) -> Response:
        name, action = request.path_params["collection"], _action(request)
        body = await _body(request)
        self._store.get(name)
        lines = []
        for line in body.split(b"\n"):
            if line.strip():
                try:
                    self._store.put(name, _parsed(line), len(line), action)
                    lines.append(_dump({"success": True}))
                except SearchRefused as error:
                    text = line.decode("utf-8", "replace")
                    problem = {"code": error.status, "document": text, "error": error.message}
                    lines.append(_dump(problem | {"success": False}))
        return Response(b"\n".join(lines), media_type="text/plain")

    async def export_documents(self, request: Request) -> Response:
        entries = self._store.get(request.path_params["collection"]).entries()
        lines = b"\n".join(_dump(entry.document) for entry in entries)
        return Response(lines, media_type="text/plain")

    async def search(self, request: Request) -> Response:
        return _json(self._answer(request.path_params["collection"], request.query_params))

    async def multi_search(self, request: Request) -> Response:
        body = _parsed(await _body(request))
        searches = body.get("searches") if isinstance(body, Mapping) else None
        if not isinstance(searches, list):
            raise bad_request("Missing `searches` array.")
        if body.get("union"):
            raise unsupported("Parameter `union`")
        if len(searches) > MAX_SEARCHES:
            raise bad_request(f"Number of multi searches exceeds {MAX_SEARCHES}.")
        return _json({"results": [self._one(request.query_params, item) for item in searches]})

    def _one(self, common: Mapping[str, str], search: object) -> dict[str, Any]:
        """The answer to one of several searches; its own parameters go before the common ones."""
        try:
            if not isinstance(search, Mapping):
                raise bad_request("Each of `searches` must be an object.")
            merged = {**common, **search}
            return self._answer(str(merged.get("collection", "")), merged)
        except SearchRefused as error:
            return {"code": error.status, "error": error.message}

    def _answer(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        collection = self._store.get(name)
        search = read_search(given, collection.schema)
        if search.by_embedding and not self._said_text_only:
            self._said_text_only = True
            _log.warning("search by an embedding was asked for; it gets %s (BM25)", TEXT_ONLY)
        return answer(collection, search)


class _Door:
    """What holds for every endpoint: a slash at the end means nothing, and a key may be needed."""

    def __init__(self, app: ASGIApp, api_key: str | None) -> None:
        self._app = app
        self._key = None if api_key is None else api_key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.endswith("/"):  # the Python client writes one where it posts a document
            scope = {**scope, "path": path.rstrip("/")}
        if self._key is not None and scope["path"] != "/health":
            request = Request(scope)
            given = request.headers.get("x-typesense-api-key") or request.query_params.get(
                "x-typesense-api-key", ""
            )
            if not secrets.compare_digest(given.encode(), self._key):
                message = "Forbidden - a valid `x-typesense-api-key` header must be sent."
                await _json({"message": message}, 401)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _shown(collection: Collection) -> dict[str, Any]:
    counts = {"created_at": collection.created_at, "num_documents": len(collection)}
    return collection.schema.as_json() | counts


def _action(request: Request) -> str:
    action = request.query_params.get("action", "create")
    if action not in _ACTIONS:
        raise bad_request(f"Parameter `action` must be one of {', '.join(sorted(_ACTIONS))}.")
    return action


async def _body(request: Request) -> bytes:
    """The whole body, unless it is more than a collection may hold."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_COLLECTION_BYTES:
            raise SearchRefused(413, f"The body is longer than {MAX_COLLECTION_BYTES} bytes.")
        parts.append(part)
    return b"".join(parts)


def _parsed(body: bytes) -> Any:
    try:
        value = json.loads(body, parse_float=_finite, parse_constant=_no_number)
        if b"\\u" in body:
            _dump(value)  # half a surrogate pair can be escaped in JSON, but is no text
    except (ValueError, RecursionError):
        raise bad_request("Bad JSON.") from None
    return value


def _finite(digits: str) -> float:
    if math.isinf(value := float(digits)):
        raise ValueError(f"{digits} is out of range")
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _json(value: object, status: int = 200) -> Response:
    return Response(_dump(value), status, media_type="application/json")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, SearchRefused)  # noqa: S101 -- Starlette's table is typed no closer
    return _json({"message": error.message}, error.status)


async def _no_route(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _json({"message": "Not Found" if status == 404 else "Method Not Allowed"}, status)


async def _hung_up(_: Request, error: Exception) -> Response:
    _log.debug("search: a client hung up in the middle of a request: %r", error)
    return Response(status_code=400)  # nobody is left to read it
