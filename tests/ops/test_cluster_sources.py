"""Where `add_cluster` and `set_actor` take a cluster from: a file, standard input, the pod itself."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from gangboard.kube import credentials
from gangboard.store.levers import read_levers
from gangboard.store.models import Cluster
from gangboard.store.secrets import unseal
from tests.kube.certificates import issue
from tests.ops.kubeconfigs import write_kubeconfig

pytestmark = pytest.mark.django_db


def run(*arguments: Any) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, no_color=True)
    return out.getvalue()


def refused(*arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert not Cluster.objects.filter(name="new").exists()
    return str(caught.value)


class Typed(io.TextIOWrapper):
    """Standard input: piped content or a terminal."""

    def __init__(self, content: bytes, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(content))
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Any:
    def pipe(content: bytes, *, terminal: bool = False) -> None:
        monkeypatch.setattr("sys.stdin", Typed(content, terminal=terminal))

    return pipe


def test_both_commands_read_standard_input(typed: Any, tmp_path: Path) -> None:
    text = write_kubeconfig(tmp_path / "k").read_bytes()
    typed(text)
    assert "Cluster new at https://127.0.0.1:1 is watched" in run(
        "add_cluster", "new", "--kubeconfig", "-", "--without-trying"
    )
    typed(text)
    assert "may act on cluster new" in run("set_actor", "new", "--kubeconfig", "-")
    assert read_levers(Cluster.objects.get()).has_actor


def test_credentials_from_standard_input_keep_the_context(typed: Any, tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path / "k", context="prod/admin")
    run("add_cluster", "new", "--kubeconfig", file, "--without-trying")
    typed(file.read_bytes())
    run("add_cluster", "new", "--kubeconfig", "-", "--without-trying")
    assert Cluster.objects.get().context == "prod/admin"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b"a" * (1024 * 1024 + 1), "larger than 1 MiB"),
        (b"\xff\xfe", "is not text"),
    ],
)
def test_other_input_is_refused(typed: Any, content: bytes, expected: str) -> None:
    typed(content)
    message = refused("add_cluster", "new", "--kubeconfig", "-")
    assert message.startswith("The kubeconfig on standard input ")
    assert expected in message


def test_a_terminal_as_input_is_refused(typed: Any) -> None:
    typed(b"", terminal=True)
    assert "is a terminal: write `< FILE`" in refused("add_cluster", "new", "--kubeconfig", "-")


def test_standard_input_cannot_be_two_kubeconfigs(typed: Any) -> None:
    typed(b"")
    message = refused("add_cluster", "new", "--kubeconfig", "-", "--actor-kubeconfig", "-")
    assert "one kubeconfig" in message


@pytest.mark.parametrize("user", [{"tokenFile": "token"}, {"client-certificate": "c.crt"}])
def test_standard_input_may_not_name_files(
    typed: Any, tmp_path: Path, user: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("sesame")
    typed(write_kubeconfig(tmp_path / "k", user=user).read_bytes())
    message = refused("add_cluster", "new", "--kubeconfig", "-", "--allow-token-file")
    assert "files are not read from here" in message


@pytest.mark.parametrize("command", ["add_cluster", "set_actor"])
def test_a_token_file_needs_a_flag(tmp_path: Path, command: str) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", user={"tokenFile": "token"})
    (tmp_path / "token").write_text("sesame")
    if command == "set_actor":
        run(
            "add_cluster",
            "east",
            "--kubeconfig",
            write_kubeconfig(tmp_path / "reader"),
            "--without-trying",
        )
    name = "new" if command == "add_cluster" else "east"
    message = refused(command, name, "--kubeconfig", kubeconfig)
    assert "--allow-token-file" in message
    assert "sesame" not in message
    untried = ["--without-trying"] if command == "add_cluster" else []
    run(command, name, "--kubeconfig", kubeconfig, "--allow-token-file", *untried)
    cluster = Cluster.objects.get(name=name)
    stored = cluster.credentials if command == "add_cluster" else cluster.actor_credentials
    assert unseal(bytes(stored or b""))["token_file"] == str(tmp_path / "token")


@pytest.mark.parametrize("allowed", [(), ("--allow-token-file",)], ids=["plain", "allowed"])
@pytest.mark.parametrize("link", [False, True], ids=["name", "link"])
def test_the_own_secret_key_is_not_sent(
    tmp_path: Path, link: bool, allowed: tuple[str, ...]
) -> None:
    name = Path(settings.STATE_DIR) / "encryption_key"
    assert name.is_file()
    if link:
        (tmp_path / "token").symlink_to(name)
        name = tmp_path / "token"
    hostile = write_kubeconfig(tmp_path / "k", user={"tokenFile": str(name)})
    refused("add_cluster", "new", "--kubeconfig", hostile, *allowed)


def test_a_pod_adds_its_own_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sesame")
    (tmp_path / "ca.crt").write_text(issue("authority").certificate_pem)
    monkeypatch.setattr(credentials, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert run("add_cluster", "new", "--in-cluster", "--without-trying") == (
        "Cluster new at https://10.96.0.1:443 is watched from now on.\n"
    )
    document = unseal(bytes(Cluster.objects.get().credentials))
    assert (document["token_file"], "token" in document) == (str(tmp_path / "token"), False)


def test_a_pod_account_is_missing_outside_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    message = refused("add_cluster", "new", "--in-cluster")
    assert "does not run in a Kubernetes pod" in message
    assert "--context" in refused("add_cluster", "new", "--in-cluster", "--context", "c")


def test_the_actor_is_the_account_of_a_mounted_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    for name in ("reader", "actor"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(f"token-of-{name}\n")
        (tmp_path / name / "ca.crt").write_text(issue("ca").certificate_pem)
    monkeypatch.setattr(credentials, "SERVICE_ACCOUNT", tmp_path / "reader")
    run("add_cluster", "new", "--in-cluster", "--without-trying")
    actor = tmp_path / "actor"
    message = run("set_actor", "new", "--service-account", actor, "--without-trying")
    assert message == "gangboard may act on cluster new from now on.\n"
    # The Secret is mounted in the pod of this command alone, so the token is kept and no file is named.
    document = unseal(bytes(Cluster.objects.get().actor_credentials or b""))
    assert document["token"] == "token-of-actor"  # made up
    assert "token_file" not in document
    with pytest.raises(CommandError, match="--service-account reads none"):
        run("set_actor", "new", "--service-account", actor, "--context", "dev")
    (actor / "token").unlink()
    with pytest.raises(CommandError, match="token does not exist"):
        run("set_actor", "new", "--service-account", actor)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(CommandError, match="does not run in a Kubernetes pod"):
        run("set_actor", "new", "--service-account", actor)
