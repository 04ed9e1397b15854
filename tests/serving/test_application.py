"""A request is read completely before it gets a thread, and a response never waits for ever."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any

import pytest

from gangboard.serving import response
from gangboard.serving.application import Application
from gangboard.serving.request import LARGEST_BODY, environ_of, read_body, sender_of
from gangboard.serving.response import RefusedError
from gangboard.serving.thread_pools import ThreadPool

Message = dict[str, Any]


class Client:
    """The client: its messages so far, and the responses. After the last message it is silent."""

    def __init__(self, *sent: Message) -> None:
        self.sent = list(sent)
        self.answered: list[Message] = []
        self.asked = 0

    async def receive(self) -> Message:
        self.asked += 1
        if not self.sent:
            await asyncio.Event().wait()
        return self.sent.pop(0)

    async def send(self, message: Message) -> None:
        self.answered.append(message)

    @property
    def status(self) -> int:
        status: int = self.answered[0]["status"]
        return status

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.answered[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.answered[1:])


def scope(path: str = "/", *headers: tuple[bytes, bytes], method: str = "GET") -> Message:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": list(headers),
        "client": ("192.0.2.7", 5),
        "server": ("127.0.0.1", 8000),
    }


def body_message(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["wsgi.input"].read()]


def serve(wsgi: Wsgi, request: Message, client: Client) -> Client:
    application = Application(
        wsgi,
        default_pool=ThreadPool("page", threads=1, max_requests=2),
        pools={},
        headers={"Cache-Control": "no-store"},
        on_first_request=lambda: None,
        largest_bodies={"/check/": 2 * LARGEST_BODY},
    )
    asyncio.run(application(request, client.receive, client.send))
    return client


LENGTH = (b"content-length", b"9")
CHUNKED = (b"transfer-encoding", b"chunked")


def test_a_chunked_body_arrives_complete() -> None:
    client = Client(body_message(b"name", more=True), body_message(b"=olga"))
    serve(echo, scope("/", LENGTH, method="POST"), client)
    assert (client.status, client.body) == (200, b"name=olga")


@pytest.mark.parametrize("header", [LENGTH, CHUNKED])
def test_an_endless_body_is_refused_and_takes_no_thread(
    header: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Message] = []

    def counting(environ: Message, start_response: Any) -> list[bytes]:
        calls.append(environ)
        return echo(environ, start_response)

    async def hurried(headers: Any, receive: Any, *, largest: int) -> bytes:
        return await read_body(headers, receive, largest=largest, seconds=0.01)

    monkeypatch.setattr("gangboard.serving.application.read_body", hurried)
    client = serve(counting, scope("/sign-in/", header), Client(body_message(b"name", more=True)))
    assert client.status == HTTPStatus.REQUEST_TIMEOUT
    assert client.headers[b"connection"] == b"close"
    assert client.headers[b"cache-control"] == b"no-store"
    assert not calls


def test_a_body_announced_as_too_large_is_not_read() -> None:
    announced = (b"content-length", str(LARGEST_BODY + 1).encode())
    client = serve(echo, scope("/", announced), Client(body_message(b"x")))
    assert client.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert client.body == b"A request may have 64 KiB at most.\n"
    assert client.asked == 0


def test_some_paths_take_larger_bodies() -> None:
    announced = (b"content-length", str(2 * LARGEST_BODY).encode())
    client = serve(echo, scope("/check/", announced, method="POST"), Client(body_message(b"x")))
    assert client.status == HTTPStatus.OK
    announced = (b"content-length", str(2 * LARGEST_BODY + 1).encode())
    client = serve(echo, scope("/check/", announced), Client(body_message(b"x")))
    assert client.body == b"A request may have 128 KiB at most.\n"


def test_a_body_of_unknown_length_is_read_up_to_the_limit() -> None:
    messages = [body_message(b"x" * 2**14, more=True) for _ in range(100)]
    client = serve(echo, scope("/api/v1/actions/", CHUNKED), Client(*messages))
    assert client.asked == LARGEST_BODY // 2**14 + 1
    assert client.headers[b"content-type"] == b"application/problem+json"
    assert json.loads(client.body) == {
        "type": "about:blank",
        "title": "Request Entity Too Large",
        "status": 413,
        "code": "too-large",
        "detail": "A request may have 64 KiB at most.",
    }


def test_the_largest_allowed_body_is_accepted() -> None:
    announced = (b"content-length", str(LARGEST_BODY).encode())
    client = serve(echo, scope("/", announced), Client(body_message(b"x" * LARGEST_BODY)))
    assert len(client.body) == LARGEST_BODY


def test_a_truncated_body_is_a_bad_request_and_has_no_effect() -> None:
    """granian reports a chunk that it cannot read as a sender who has left."""
    calls: list[Message] = []

    def counting(environ: Message, start_response: Any) -> list[bytes]:
        calls.append(environ)
        return echo(environ, start_response)

    client = Client(body_message(b"reason=abc", more=True), {"type": "http.disconnect"})
    serve(counting, scope("/", CHUNKED, method="POST"), client)
    assert client.status == HTTPStatus.BAD_REQUEST
    assert client.headers[b"cache-control"] == b"no-store"
    assert not calls


def test_probes_have_their_own_threads() -> None:
    stuck, release = threading.Event(), threading.Event()

    def answer(environ: Message, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/":
            stuck.set()
            release.wait(20)
        return echo(environ, start_response)

    async def play() -> int:
        pages = ThreadPool("page", threads=1, max_requests=5)
        health = ThreadPool("health", threads=1, max_requests=5)
        application = Application(
            answer,
            default_pool=pages,
            pools={"/healthz": health},
            headers={},
            on_first_request=lambda: None,
        )
        page, probe = Client(), Client()
        waiting = asyncio.create_task(application(scope("/"), page.receive, page.send))
        await asyncio.to_thread(stuck.wait, 20)
        await application(scope("/healthz"), probe.receive, probe.send)
        assert page.answered == []
        release.set()
        await waiting
        assert page.status == 200
        return probe.status

    assert asyncio.run(play()) == 200


def test_a_pool_refuses_late_and_excess_requests() -> None:
    release = threading.Event()

    async def refused(lane: ThreadPool) -> str:
        with pytest.raises(RefusedError) as refused:
            await lane.run(lambda: release.wait(20))
        return f"{refused.value.status.value} {refused.value}"

    async def play() -> list[str]:
        lane = ThreadPool("ready", threads=1, max_requests=2, answer_seconds=0.05)
        refusals = await asyncio.gather(*(refused(lane) for _ in range(3)))
        assert lane.requests == 1, "only the one in the thread is still here"
        release.set()
        while lane.requests:
            await asyncio.sleep(0.01)
        assert await lane.run(lambda: 7) == 7
        return refusals

    late = "503 There was no answer within 0.05 seconds."
    assert asyncio.run(play()) == [late, late, "503 Too many requests at once."]


def test_a_request_without_a_thread_in_time_is_refused_and_a_running_request_is_not() -> None:
    release = threading.Event()

    async def play() -> bool:
        lane = ThreadPool("page", threads=1, max_requests=5, queue_seconds=0.05)
        working = asyncio.create_task(lane.run(lambda: release.wait(20)))
        await asyncio.sleep(0)
        with pytest.raises(RefusedError, match=r"no answer within 0\.05 seconds"):
            await lane.run(lambda: True)
        release.set()
        return await working

    assert asyncio.run(play())


def test_senders_take_turns() -> None:
    """Forty requests of a script delay the only request of a person by one, not by forty."""
    script, person = 1, 2
    order: list[int] = []

    async def play() -> None:
        lane = ThreadPool("api", threads=1, max_requests=100)
        requests = [lane.run(lambda: order.append(script), script) for _ in range(40)]
        requests.append(lane.run(lambda: order.append(person), person))
        await asyncio.gather(*requests)

    asyncio.run(play())
    assert len(order) == 41
    assert order.index(person) <= 2


def test_requests_with_the_same_credentials_have_the_same_sender() -> None:
    token, cookie = (b"authorization", b"Bearer gb_1_x"), (b"cookie", b"sessionid=1")
    agent = (b"user-agent", b"curl")
    assert sender_of(scope("/a", token, agent)) == sender_of(scope("/b", token))
    assert len({sender_of(scope("/", *headers)) for headers in ((token,), (cookie,), ())}) == 3


def test_a_pool_is_chosen_by_path_prefix() -> None:
    def thread(environ: Message, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [threading.current_thread().name.encode()]

    async def play() -> list[bytes]:
        lanes = {
            name: ThreadPool(name, threads=1, max_requests=5)
            for name in ("/live/", "/api/", "/healthz")
        }
        application = Application(
            thread,
            default_pool=ThreadPool("page", threads=1, max_requests=5),
            pools=lanes,
            headers={},
            on_first_request=lambda: None,
        )
        clients = []
        for path in ("/live/board/", "/api/v1/gangs/", "/healthz", "/healthz/x", "/apis"):
            clients.append(client := Client())
            await application(scope(path), client.receive, client.send)
        return [client.body for client in clients]

    assert asyncio.run(play()) == [b"/live/_0", b"/api/_0", b"/healthz_0", b"page_0", b"page_0"]


def test_a_long_response_is_sent_in_chunks_by_one_thread() -> None:
    threads: set[str] = set()

    def long(environ: Message, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        for _ in range(3 * response.BUFFER_BYTES // 1000):
            threads.add(threading.current_thread().name)
            yield b"x" * 1000

    client = serve(long, scope("/export"), Client())
    assert len(client.body) == 3 * response.BUFFER_BYTES // 1000 * 1000
    assert max(len(message["body"]) for message in client.answered[2:]) < 2 * response.PIECE_BYTES
    assert [message["more_body"] for message in client.answered[1:]][-1] is False
    assert all(message["more_body"] for message in client.answered[1:-1])
    assert len(threads) == 1


def test_a_long_response_without_reader_frees_its_thread_and_stays_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(response, "PIECE_SECONDS", 0.05)
    closed: list[str] = []

    class Long:
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b"x" * response.PIECE_BYTES

        def close(self) -> None:
            closed.append(threading.current_thread().name)

    class Reader(Client):
        async def send(self, message: Message) -> None:
            if len(self.answered) > 3:
                await asyncio.Event().wait()
            await super().send(message)

    def long(environ: Message, start_response: Any) -> Long:
        start_response("200 OK", [])
        return Long()

    client = Reader({"type": "http.disconnect"})
    serve(long, scope("/export"), client)
    assert closed == ["page_0"]
    assert all(message["more_body"] for message in client.answered[1:])


def test_a_slow_reader_does_not_hold_a_thread_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(response, "RESPONSE_SECONDS", 0.2)
    closed: list[bool] = []

    class Endless:
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b"x" * response.PIECE_BYTES

        def close(self) -> None:
            closed.append(True)

    class Slow(Client):
        async def send(self, message: Message) -> None:
            await asyncio.sleep(0.02)
            await super().send({"type": message["type"]})

    def endless(environ: Message, start_response: Any) -> Endless:
        start_response("200 OK", [])
        return Endless()

    client = Slow({"type": "http.disconnect"})
    serve(endless, scope("/export"), client)
    assert closed == [True]
    assert 2 < len(client.answered) < 20


def test_a_short_answer_needs_no_thread_while_it_is_read() -> None:
    client = serve(echo, scope("/"), Client())
    assert [message["type"] for message in client.answered] == [
        "http.response.start",
        "http.response.body",
    ]
    assert client.answered[1]["more_body"] is False


def test_the_wsgi_environment_matches_the_request() -> None:
    request = scope(
        "/a%20b/%C3%A9",
        (b"host", b"gangs.example"),
        (b"content-type", b"text/plain"),
        (b"content-length", b"999"),
        (b"transfer-encoding", b"chunked"),
        (b"x-forwarded-for", b"198.51.100.1"),
        (b"x-forwarded-for", b"203.0.113.1"),
        (b"x_forwarded_for", b"192.0.2.99"),
        (b"cookie", b"a=1"),
        (b"cookie", b"b=2"),
        method="POST",
    )
    request["query_string"] = b"q=%C3%A9"
    environ = environ_of(request, b"12345")
    assert environ["PATH_INFO"].encode("latin-1").decode() == "/a b/é"
    assert environ["QUERY_STRING"] == "q=%C3%A9"
    assert environ["CONTENT_LENGTH"] == "5"
    assert environ["CONTENT_TYPE"] == "text/plain"
    assert environ["wsgi.input"].read() == b"12345"
    assert environ["HTTP_X_FORWARDED_FOR"] == "198.51.100.1,203.0.113.1"
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert environ["HTTP_HOST"] == "gangs.example"
    assert environ["REMOTE_ADDR"] == "192.0.2.7"
    assert "HTTP_TRANSFER_ENCODING" not in environ
    assert "HTTP_CONTENT_LENGTH" not in environ
