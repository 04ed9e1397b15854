"""Whom the client trusts, and where it keeps the token: certificates, CA files, the system's keyring."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringLocked

from tests.client.conftest import FakeClock, Run
from tests.client.test_transport import ME, TOKEN, Scripted
from tests.controlplane.certificates import Certificates, make_certificates

OTHER_HOST = "127.0.0.2"
"""An address of this machine that the certificate does not have."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("GANGBOARD_TOKEN", TOKEN)


@pytest.fixture
def secure(certificates: Certificates) -> Iterator[Scripted]:
    """A server with a certificate of an authority that the system does not know."""
    server = Scripted(tls=certificates.server)
    yield server
    server.close()


@pytest.mark.usefixtures("token")
class TestTls:
    def test_a_ca_file_is_trusted(
        self, secure: Scripted, run: Run, certificates: Certificates
    ) -> None:
        secure.answers = [ME]
        result = run("whoami", "--server", secure.address, "--ca-file", str(certificates.ca))
        assert (result.code, result.err) == (0, "")

    def test_another_ca_is_not_trusted(
        self, secure: Scripted, run: Run, fake_clock: FakeClock, tmp_path: Path
    ) -> None:
        (tmp_path / "other").mkdir()
        another = make_certificates(tmp_path / "other")
        for arguments in ((), ("--ca-file", str(another.ca))):
            result = run("whoami", "--server", secure.address, *arguments)
            assert (result.code, result.out) == (2, "")
            assert "is not trusted: " in result.err
            assert "--ca-file" in result.err
        assert (secure.asked, fake_clock.slept) == ([], []), "neither a token nor a second try"

    def test_a_certificate_of_another_host_is_not_trusted(
        self, run: Run, certificates: Certificates
    ) -> None:
        server = Scripted(OTHER_HOST, tls=certificates.server)
        result = run("whoami", "--server", server.address, "--ca-file", str(certificates.ca))
        server.close()
        assert (result.code, server.asked) == (2, [])
        assert (
            f"is not trusted: IP address mismatch, certificate is not valid for '{OTHER_HOST}'"
            in (result.err)
        )

    def test_a_server_without_tls_is_named(self, run: Run) -> None:
        server = Scripted()
        result = run("whoami", "--server", server.address.replace("http:", "https:"))
        server.close()
        assert (result.code, server.asked) == (2, [])
        assert "does not speak TLS" in result.err
        assert "certificate" not in result.err

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [(None, "No such file or directory"), ("", "cannot be used"), ("x", "cannot be used")],
    )
    def test_a_bad_file_is_named(
        self, run: Run, tmp_path: Path, text: str | None, sentence: str
    ) -> None:
        file = tmp_path / "ca.pem"
        if text is not None:
            file.write_text(text)
        result = run("whoami", "--server", "https://gangboard.example", "--ca-file", str(file))
        assert result.code == 2
        assert f"The CA file {file} cannot be used" in result.err
        assert sentence in result.err

    def test_login_remembers_the_file(
        self,
        secure: Scripted,
        run: Run,
        certificates: Certificates,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        monkeypatch.delenv("GANGBOARD_TOKEN")
        monkeypatch.setattr("sys.stdin", StringIO(TOKEN))
        monkeypatch.chdir(certificates.ca.parent)
        secure.answers = [ME, ME]
        assert run("login", "--server", secure.address, "--ca-file", certificates.ca.name).code == 0
        monkeypatch.chdir(tmp_path)
        assert run("whoami").code == 0


class Drawer(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        # The base class would read properties from the environment.
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


class Locked(Drawer):
    """A locked keyring."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("it is locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked("it is locked")


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    """The keyring of this test. The test never reads the system keyring."""
    result = Drawer()
    keyring.set_keyring(result)
    yield result
    keyring.set_keyring(Drawer())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Scripted]:
    """A server for login tests."""
    result = Scripted()
    monkeypatch.setenv("GANGBOARD_SERVER", result.address)
    monkeypatch.setattr("sys.stdin", StringIO(TOKEN))
    yield result
    result.close()


class TestKeyring:
    def test_the_token_is_in_the_keyring_and_in_no_file(
        self, server: Scripted, drawer: Drawer, run: Run, home: Path
    ) -> None:
        server.answers = [ME, ME]
        result = run("login", "--keyring")
        assert (result.code, result.err) == (0, "")
        assert result.out.endswith("the token is in the keyring.\n")
        assert drawer.entries == {("gangboard", server.address): TOKEN}
        assert [path.name for path in home.rglob("*") if path.is_file()] == ["client.toml"]
        assert TOKEN not in (home / "client.toml").read_text()
        assert run("whoami").code == 0
        drawer.entries.clear()
        deleted = run("whoami")
        assert (deleted.code, "There is no token for" in deleted.err) == (2, True)

    def test_a_token_is_stored_in_one_place(
        self,
        server: Scripted,
        drawer: Drawer,
        run: Run,
        home: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        places = []
        for arguments in ((), ("--keyring",), ()):
            monkeypatch.setattr("sys.stdin", StringIO(TOKEN))
            server.answers = [ME]
            assert run("login", *arguments).code == 0
            places.append((len(list((home / "tokens").iterdir())), len(drawer.entries)))
        assert places == [(1, 0), (0, 1), (1, 0)]

    @pytest.mark.parametrize(
        ("backend", "sentence"),
        [(Locked, "it is locked"), (fail.Keyring, "No recommended backend was available")],
    )
    def test_a_failing_keyring_is_reported_in_one_sentence(
        self,
        server: Scripted,
        drawer: Drawer,
        run: Run,
        home: Path,
        backend: type[KeyringBackend],
        sentence: str,
    ) -> None:
        keyring.set_keyring(backend())
        server.answers = [ME]
        result = run("login", "--keyring")
        assert (result.code, result.out, home.exists()) == (2, "", False)
        assert result.err.startswith("gangboard: The keyring cannot be written: ")
        assert sentence in result.err
        assert TOKEN not in result.err
        home.mkdir()
        (home / "client.toml").write_text("keyring = true\n")
        result = run("whoami")
        assert result.code == 2
        assert result.err.startswith("gangboard: The keyring cannot be read: ")

    def test_a_missing_package_is_named(
        self, server: Scripted, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "keyring", None)
        server.answers = [ME]
        result = run("login", "--keyring")
        assert (result.code, "gangboard-client[keyring]" in result.err) == (2, True)
