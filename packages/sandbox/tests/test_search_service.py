"""The service over HTTP: real clients, the relay, its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
import typesense
from typesense.configuration import NodeConfigDict
from typesense.exceptions import (
    ObjectAlreadyExists,
    ObjectNotFound,
    RequestMalformed,
    RequestUnauthorized,
)

from outcomebox.sandbox import InputError
from outcomebox.sandbox.search import SearchService, search_service

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, Any] = {
    "name": "handbook",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "source", "type": "string", "facet": True},
        {"name": "text", "type": "string"},
        {"name": "size", "type": "int32", "sort": True},
        {
            "name": "embedding",
            "type": "float[]",
            "embed": {"from": ["text"], "model_config": {"model_name": "ts/e5-small"}},
        },
    ],
}
PAGES = [
    ("borrow.md", "A book may be borrowed for four weeks and renewed twice online."),
    ("borrow.md", "Readers under twelve borrow up to five comics."),
    ("fines.md", "A late book costs twenty cents a day; a lost book its price."),
    ("öffnung.md", "Die Bücherei öffnet um neun Uhr und schließt um achtzehn Uhr."),
    ("rooms.md", "Study rooms are free of charge and kept for ten minutes."),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def client_of(service: SearchService, key: str = "any") -> Any:
    """The official client, untyped: its types know no answers or requests but Typesense's own."""
    return typesense.Client(
        {
            "api_key": key,
            "nodes": [NodeConfigDict(host=service.host, port=service.port, protocol="http")],
            "connection_timeout_seconds": 20,
            "num_retries": 1,
            "retry_interval_seconds": 0.05,
        }
    )


def fill(client: Any, name: str) -> None:
    """What a tool server does when its session begins."""
    with pytest.raises(ObjectNotFound):
        client.collections[name].retrieve()
    client.collections.create({**SCHEMA, "name": name})
    assert client.collections[name].retrieve()["name"] == name
    for number, (source, text) in enumerate(PAGES):
        page = {"id": f"p{number}", "source": source, "text": text, "size": len(text)}
        assert client.collections[name].documents.create(page) == page


def ask(client: Any, name: str, question: str, keywords: str) -> list[Any]:
    """Two searches in one request, as the tool servers ask."""
    common = {
        "collection": name,
        "group_by": "source",
        "exclude_fields": "embedding",
        "per_page": 10,
        "highlight_fields": "text",
        "highlight_full_fields": "text",
        "highlight_affix_num_tokens": 20,
        "highlight_start_tag": "<b>",
        "highlight_end_tag": "</b>",
    }
    by_both = {"q": question, "query_by": "embedding,text"}
    by_both["sort_by"] = "_text_match:desc,_vector_distance:asc"
    by_text = {"q": keywords, "query_by": "text", "sort_by": "_text_match:desc"}
    answer = client.multi_search.perform({"searches": [by_both, by_text]}, common)
    return list(answer["results"])


async def threaded(work: Callable[[], Any]) -> Any:
    return await anyio.to_thread.run_sync(work)


async def test_the_whole_life_of_a_session_with_the_official_client() -> None:
    async with search_service() as service:
        await service.check()

        def session() -> None:
            client = client_of(service)
            assert client.operations.is_healthy()
            fill(client, "one")
            with pytest.raises(ObjectAlreadyExists):
                client.collections.create({**SCHEMA, "name": "one"})
            both, text = ask(client, "one", "How long may I borrow a book?", '"free of charge"')
            assert (both["found"], both["found_docs"]) == (2, 3)
            assert both["outcomebox"] == {"ranking": "text ranking, no embeddings"}
            assert "outcomebox" not in text
            hits = [hit for group in both["grouped_hits"] for hit in group["hits"]]
            by_distance = sorted(hits, key=lambda hit: hit["vector_distance"])
            assert by_distance[0]["document"]["id"] == "p0"
            assert by_distance == sorted(hits, key=lambda hit: -hit["text_match"])
            assert 0 < by_distance[0]["vector_distance"] < by_distance[-1]["vector_distance"] < 2
            assert "<b>borrowed</b>" in by_distance[0]["highlights"][0]["value"]
            (group,) = text["grouped_hits"]
            assert group["group_key"] == ["rooms.md"]
            assert "vector_distance" not in group["hits"][0]
            _, everything = ask(client, "one", "nothing", "")
            assert everything["found_docs"] == len(PAGES)
            found = client.collections["one"].documents.search(
                {"q": "bucherei offnet", "query_by": "text", "filter_by": "source:=öffnung.md"}
            )
            assert [hit["document"]["id"] for hit in found["hits"]] == ["p3"]
            counted = client.collections["one"].documents.search(
                {"q": "*", "query_by": "text", "per_page": 0}
            )
            assert (counted["found"], counted["hits"]) == (5, [])
            assert client.collections["one"].delete()["num_documents"] == 5
            with pytest.raises(ObjectNotFound):
                client.collections["one"].documents.search({"q": "*"})

        await threaded(session)
        assert service.store is not None
        assert len(service.store) == 0


async def test_documents_one_by_one_and_in_bulk() -> None:
    async with search_service() as service:

        def session() -> None:
            client = client_of(service)
            client.collections.create(SCHEMA)
            documents = client.collections["handbook"].documents
            page = {"id": "a/b c", "source": "s", "text": "t", "size": 1}
            results = documents.import_([page, page, {"id": "x"}], {"action": "create"})
            assert [line["success"] for line in results] == [True, False, False]
            assert [line.get("code") for line in results] == [None, 409, 400]
            with pytest.raises(ObjectAlreadyExists):
                documents.create(page)
            assert documents.upsert({**page, "text": "u"})["text"] == "u"
            assert documents["a/b c"].retrieve()["text"] == "u"
            assert json.loads(documents.export())["size"] == 1
            assert documents["a/b c"].delete()["text"] == "u"
            with pytest.raises(ObjectNotFound):
                documents["a/b c"].retrieve()
            with pytest.raises(RequestMalformed, match="`size` must be an int32"):
                documents.create({**page, "size": "large"})
            assert [shown["name"] for shown in client.collections.retrieve()] == ["handbook"]

        await threaded(session)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", b"", 404),
        ("PUT", "/collections", b"", 405),
        ("POST", "/collections", b"", 400),
        ("POST", "/collections", b"{", 400),
        ("POST", "/collections", b"[" * 100_000, 400),
        ("POST", "/collections", b'{"name": "\\ud800"}', 400),
        ("POST", "/collections", b"\xff", 400),
        ("POST", "/collections/none/documents", b"{}", 404),
        ("POST", "/collections/handbook/documents", b"[]", 400),
        ("POST", "/collections/handbook/documents", b'{"size": NaN}', 400),
        ("POST", "/collections/handbook/documents", b'{"size": 1e999}', 400),
        ("POST", "/collections/handbook/documents?action=merge", b"{}", 400),
        ("GET", "/collections/handbook/documents/search?query_by=text", b"", 400),
        ("POST", "/multi_search", b"{}", 400),
        ("POST", "/multi_search", b'{"searches": [], "union": true}', 400),
        ("DELETE", "/collections/none", b"", 404),
    ],
)
async def test_bad_requests_get_a_status_and_a_message(
    method: str, path: str, body: bytes, status: int
) -> None:
    async with search_service() as service, httpx.AsyncClient(base_url=service.url) as client:
        await client.post("/collections", json=SCHEMA)
        answer = await client.request(method, path, content=body)
        assert answer.status_code == status
        assert answer.json()["message"]


async def test_one_bad_search_of_several_spoils_only_its_own_answer() -> None:
    async with search_service() as service, httpx.AsyncClient(base_url=service.url) as client:
        await client.post("/collections", json=SCHEMA)
        searches = [{"collection": "none", "q": "*"}, {"q": "*"}, 7, {"q": "*", "page": "x"}]
        answer = await client.post("/multi_search?collection=handbook", json={"searches": searches})
        codes = [result.get("code") for result in answer.json()["results"]]
        assert (answer.status_code, codes) == (200, [404, None, 400, 400])


async def test_a_key_is_asked_for_only_where_one_is_set() -> None:
    async with (
        search_service(api_key="sesame") as service,
        httpx.AsyncClient(base_url=service.url) as client,
    ):
        assert (await client.get("/health")).json() == {"ok": True}
        for key in ("", "sésame"):
            headers = {b"x-typesense-api-key": key.encode()}
            assert (await client.get("/collections", headers=headers)).status_code == 401
        named = await client.get("/collections?x-typesense-api-key=sesame")
        assert named.status_code == 200

        def session() -> None:
            assert client_of(service, "sesame").collections.retrieve() == []
            with pytest.raises(RequestUnauthorized):
                client_of(service, "open").collections.retrieve()

        await threaded(session)


async def test_the_log_says_once_that_there_are_no_embeddings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        async with search_service() as service, httpx.AsyncClient(base_url=service.url) as client:
            await client.post("/collections", json=SCHEMA)
            for _ in range(3):
                query = {"q": "book", "query_by": "embedding"}
                await client.get("/collections/handbook/documents/search", params=query)
    said = [record for record in caplog.records if "no embeddings" in record.getMessage()]
    assert len(said) == 1


async def test_many_sessions_at_once_do_not_see_each_other() -> None:
    async with search_service() as service:

        async def session(number: int, client: httpx.AsyncClient) -> None:
            name = f"c{number}"
            await client.post("/collections", json={**SCHEMA, "name": name})
            page = {"source": "s", "text": f"only{number} shared", "size": 1}
            await client.post(f"/collections/{name}/documents", json=page)
            for q, count in ((f"only{number}", 1), ("shared", 1), (f"only{number + 1}", 0)):
                query = {"q": q, "query_by": "text", "prefix": "false"}
                found = await client.get(f"/collections/{name}/documents/search", params=query)
                assert found.json()["found"] == count

        limits = httpx.Limits(max_connections=100)
        async with (
            httpx.AsyncClient(base_url=service.url, limits=limits, timeout=60) as client,
            anyio.create_task_group() as group,
        ):
            for number in range(25):
                group.start_soon(session, number, client)
        assert service.store is not None
        assert len(service.store) == 25


async def test_a_listener_that_is_given_is_taken_over_and_answers_without_delay() -> None:
    listener = socket.socket()  # of a protocol that asyncio would not know to be TCP
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port = listener.getsockname()[1]
    async with search_service(listener) as service:
        assert (service.host, service.port) == ("127.0.0.1", port)
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{service.url}/health")).status_code == 200
    assert listener.fileno() == -1


@asynccontextmanager
async def open_socket(service: SearchService) -> AsyncIterator[anyio.abc.SocketStream]:
    async with await anyio.connect_tcp(service.host, service.port) as stream:
        yield stream


async def rest(stream: anyio.abc.SocketStream) -> bytes:
    """All that comes until the other end is done or gone."""
    received = b""
    with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            received += await stream.receive()
    return received


@pytest.mark.parametrize("relayed", [False, True])
async def test_it_ends_with_idle_and_half_done_requests_and_leaves_nothing(relayed: bool) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    threads, tasks = threading.active_count(), asyncio.all_tasks()
    async with search_service() as inner, anyio.create_task_group() as group:
        streams = []
        with anyio.fail_after(30):
            async with search_service(url=inner.url if relayed else None) as service:
                assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == (
                    handlers
                )
                for sent in (
                    b"",
                    b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
                    b"POST /collections HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
                    b"GET /hea",
                ):
                    stream = await anyio.connect_tcp(service.host, service.port)
                    streams.append(stream)
                    if sent:
                        await stream.send(sent)
                assert (await streams[1].receive()).startswith(b"HTTP/1.1 200")
                started = anyio.current_time()
            assert anyio.current_time() - started < 10  # its own limits add up to less than one
        for stream in streams:
            await rest(stream)
            await stream.aclose()
        with pytest.raises(OSError, match=r"."):
            await anyio.connect_tcp(service.host, service.port)
        group.cancel_scope.cancel()
    assert threading.active_count() == threads
    assert asyncio.all_tasks() == tasks


async def test_a_client_killed_in_the_middle_of_a_request_disturbs_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with search_service() as service, httpx.AsyncClient(base_url=service.url) as client:
        async with open_socket(service) as stream:
            head = b"POST /collections HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n{"
            await stream.send(head)
            await anyio.wait_all_tasks_blocked()
        await anyio.wait_all_tasks_blocked()
        assert (await client.get("/health")).status_code == 200
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_the_relay_passes_a_session_on_and_half_closes() -> None:
    async with search_service() as real, search_service(url=real.url) as service:
        await service.check()
        assert service.store is None

        def session() -> None:
            fill(client_of(service), "one")
            both, _ = ask(client_of(service), "one", "late books", "late")
            assert both["grouped_hits"][0]["hits"][0]["document"]["id"] == "p2"
            assert client_of(real).collections["one"].retrieve()["num_documents"] == len(PAGES)

        await threaded(session)
        async with open_socket(service) as stream:
            await stream.send(b"GET /collections HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            await stream.send_eof()
            received = await rest(stream)
            assert received.startswith(b"HTTP/1.1 200")
            assert b'"handbook"' not in received
            assert b'"name":"one"' in received


async def test_the_relay_carries_large_bodies_both_ways() -> None:
    text = "".join(f"word{number} " for number in range(300_000))
    page = {"id": "p", "source": "s", "text": text, "size": 1}
    async with (
        search_service() as real,
        search_service(url=real.url) as service,
        httpx.AsyncClient(base_url=service.url, timeout=60) as client,
    ):
        await client.post("/collections", json=SCHEMA)
        await client.post("/collections/handbook/documents", json=page)
        kept = await client.get("/collections/handbook/documents/p")
        assert kept.json() == page


async def test_where_the_target_is_down_clients_are_hung_up_on_and_the_check_says_so() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        async with search_service(url=url) as service:
            with pytest.raises(InputError, match=r"no healthy Typesense.*http://127.0.0.1:"):
                await service.check()
            async with open_socket(service) as stream:
                with anyio.fail_after(60), pytest.raises((anyio.EndOfStream, OSError)):
                    await stream.receive()


async def test_something_else_than_a_typesense_fails_the_check() -> None:
    async def other(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    plain = socket.socket()
    plain.bind(("127.0.0.1", 0))
    plain.listen()
    port = plain.getsockname()[1]
    async with (
        await anyio.abc.SocketListener.from_socket(plain) as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, other)
        async with search_service(url=f"http://127.0.0.1:{port}") as service:
            with pytest.raises(InputError, match="gave 200 and b'hello'"):
                await service.check()
        async with search_service(url=f"https://127.0.0.1:{port}") as service:
            with pytest.raises(InputError, match="SSL"):
                await service.check()
        group.cancel_scope.cancel()


async def test_what_the_caller_raises_comes_out_as_it_is() -> None:
    for url in (None, "http://127.0.0.1:9"):
        with pytest.raises(InputError, match="mine"):
            async with search_service(url=url):
                raise InputError("mine")


@pytest.mark.parametrize(
    "url",
    ["localhost:8108", "ftp://a", "http://", "http://a:99999", "http://a/path", "http://u@a"],
)
async def test_urls_that_cannot_be_relayed_to_are_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"search url.*give http://HOST:PORT"):
        async with search_service(url=url):
            pytest.fail("it started")
