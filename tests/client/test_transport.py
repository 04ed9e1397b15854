"""Failures of the network and of the server: one sentence each, and no token in it."""

from __future__ import annotations

import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path

import pytest
from gangboard_client import transport
from gangboard_client.errors import NotReachedError
from gangboard_client.news import News
from gangboard_client.transport import Server

from tests.client.conftest import FakeClock, Run
from tests.controlplane.certificates import Pair

TOKEN = "gb_abc_very-secret"
Answer = tuple[int, dict[str, str], str]
ME: Answer = (
    200,
    {},
    '{"name": "ann", "rights": [], "roles": [], "token": "abc", "may_act": false}',
)


class Scripted:
    """A server that gives prepared answers, one a request."""

    def __init__(self, host: str = "127.0.0.1", *, tls: Pair | None = None) -> None:
        """With a certificate it speaks TLS."""
        self.answers: list[Answer] = []
        self.asked: list[tuple[str, str, str]] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the library's name
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                key = self.headers.get("Idempotency-Key", "")
                script.asked.append((self.command, self.path, key))
                status, headers, body = script.answers.pop(0)
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            do_POST = do_GET  # noqa: N815  # the library's name

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = HTTPServer((host, 0), Handler)
        if tls is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(tls.certificate, tls.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.address = f"{scheme}://{host}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Scripted]:
    """A scripted server that the settings name."""
    result = Scripted()
    monkeypatch.setenv("GANGBOARD_SERVER", result.address)
    monkeypatch.setenv("GANGBOARD_TOKEN", TOKEN)
    yield result
    result.close()


def test_a_busy_server_is_retried_after_its_retry_after(
    scripted: Scripted, run: Run, fake_clock: FakeClock
) -> None:
    busy = '{"detail": "Too often."}'
    scripted.answers = [(429, {"Retry-After": "7"}, busy), (503, {}, busy), ME]
    assert run("whoami").code == 0
    assert fake_clock.slept == [7.0, 1.0]


def test_retries_of_a_busy_server_are_bounded(
    scripted: Scripted, run: Run, fake_clock: FakeClock
) -> None:
    scripted.answers = [(429, {"Retry-After": "300"}, '{"detail": "Too often."}')]
    result = run("whoami")
    assert (result.code, result.out, result.err) == (2, "", "gangboard: Too often.\n")
    assert fake_clock.slept == []


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((200, {"Content-Type": "text/html"}, "<p>hello"), "(status 200, text/html)"),
        ((500, {}, "oops"), "did not answer as gangboard does (status 500"),
        ((302, {"Location": "https://else.example/x?y"}, ""), "redirects to https://else.example:"),
        ((302, {"Location": "/sign-in/"}, ""), "redirects to a page"),
        ((401, {}, '{"detail": "This token is not valid."}'), "Run `gangboard login`"),
        ((403, {}, f'{{"detail": "{TOKEN} may not"}}'), "gangboard: (hidden) may not"),
        ((200, {}, "{}"), "has no 'name'"),
    ],
)
def test_each_bad_answer_is_one_sentence(
    scripted: Scripted, run: Run, answer: Answer, sentence: str
) -> None:
    scripted.answers = [answer]
    result = run("whoami")
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err
    assert len(result.err.splitlines()) == 1
    assert "secret" not in result.err


def test_a_missing_server_is_reported(
    run: Run, home: Path, fake_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setenv("GANGBOARD_TOKEN", TOKEN)
        result = run("whoami", "--server", address)
    assert result.code == 2
    assert result.err == f"gangboard: {address} cannot be reached: Connection refused.\n"
    assert fake_clock.slept == [0.5, 1.0, 2.0]


def test_a_server_that_hangs_has_a_deadline(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LEAST_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = Server(f"http://127.0.0.1:{silent.getsockname()[1]}", TOKEN)
        server.deadline = 0.0
        with pytest.raises(NotReachedError, match="did not answer in time"):
            server.ask("get_me")


def test_wait_uses_events_if_served(scripted: Scripted, fake_clock: FakeClock) -> None:
    scripted.answers = [
        (200, {}, '{"cursor": "c1"}'),
        (200, {"Retry-After": "2"}, '{"cursor": "c2"}'),
    ]
    news = News(Server(scripted.address, TOKEN))
    news.begin()
    news.begin()
    news.wait(30, gang_id="g1")
    assert [path for _, path, _ in scripted.asked] == [
        "/api/v1/events/?cursor=now&limit=1",
        "/api/v1/events/?cursor=c1&wait=10&gang=g1",
    ]
    assert fake_clock.slept == [2.0]


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (("admitted-and-placed", "would-wait"), 0),
        (("would-block", "would-wait"), 1),
        (("unknown", "would-wait"), 2),
        ((), 2),
    ],
)
def test_a_gang_in_several_clusters_is_checked(
    scripted: Scripted, run: Run, tmp_path: Path, verdicts: tuple[str, ...], code: int
) -> None:
    rows = ",".join(f'{{"kind": "Job", "name": "x", "verdict": "{item}"}}' for item in verdicts)
    scripted.answers = [(200, {}, f'{{"results": [{rows}]}}')]
    (tmp_path / "x.yaml").write_text("kind: Job")
    assert run("check", "-f", str(tmp_path / "x.yaml")).code == code


# --- the token and the server


def test_login_stores_the_token_for_its_server_only(
    scripted: Scripted, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GANGBOARD_TOKEN")
    monkeypatch.setattr("sys.stdin", StringIO(f"{TOKEN}\n"))
    scripted.answers = [ME, ME]
    result = run("login")
    assert (result.code, result.err) == (0, "")
    assert TOKEN not in result.out
    (stored,) = (home / "tokens").iterdir()
    assert (stored.read_text(), stat.S_IMODE(stored.stat().st_mode)) == (TOKEN, 0o600)
    monkeypatch.delenv("GANGBOARD_SERVER")
    assert run("whoami").code == 0
    another = run("whoami", "--server", "https://other.example")
    assert another.code == 2
    assert "There is no token for https://other.example" in another.err
    stored.chmod(0o640)
    assert "Others may read" in run("whoami").err


def test_a_refused_token_is_not_stored(
    scripted: Scripted, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(TOKEN))
    scripted.answers = [(401, {}, '{"detail": "This token is not valid."}')]
    assert run("login").code == 2
    assert not home.exists()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("http://gangboard.example", "would send the token in plain text"),
        ("https://ann:pw@gangboard.example", "has a user name"),
        ("gangboard.example", "is not an address"),
        ("https://x:y", "is not valid"),
        ("", "Name the server with --server"),
    ],
)
def test_a_bad_address_is_refused(run: Run, home: Path, address: str, sentence: str) -> None:
    result = run("whoami", "--server", address)
    assert result.code == 2
    assert sentence in result.err


def test_an_unknown_setting_is_refused(run: Run, home: Path) -> None:
    home.mkdir()
    (home / "client.toml").write_text('servr = "https://x"\n')
    result = run("whoami")
    assert result.code == 2
    assert "client.toml has “servr”; the settings are server, ca_file," in result.err
