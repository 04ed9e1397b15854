"""Accepted and refused kubeconfigs, and secrets that are not shown."""

from __future__ import annotations

import base64
import json
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from gangboard.kube.credentials import (
    Credentials,
    certificate_expiry,
    in_cluster,
    read_kubeconfig,
    token_expiry,
)
from gangboard.kube.errors import CredentialError, KubeError
from gangboard.kube.kubeconfig import NamedFiles
from tests.kube.certificates import Issued, issue

SERVER = "https://api.example:6443"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture(scope="module")
def reader(authority: Issued) -> Issued:
    return issue("reader", authority)


@pytest.fixture
def config(authority: Issued) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "preferences": {},
        "clusters": [
            {
                "name": "one",
                "cluster": {
                    "server": SERVER,
                    "certificate-authority-data": b64(authority.certificate_pem),
                    "extensions": [{"name": "cluster_info", "extension": {"provider": "minikube"}}],
                    "insecure-skip-tls-verify": False,
                },
            }
        ],
        "users": [
            {"name": "reader", "user": {"token": "t0ken", "exec": None}},
            {"name": "other", "user": {"exec": {"command": "touch"}}},
        ],
        "contexts": [
            {"name": "here", "context": {"cluster": "one", "user": "reader", "namespace": "a"}},
            {"name": "there", "context": {"cluster": "one", "user": "other"}},
        ],
    }


def read(config: dict[str, Any], **settings: Any) -> Credentials:
    return read_kubeconfig(yaml.safe_dump(config), **settings)


def refused(config: dict[str, Any] | str, **settings: Any) -> str:
    text = config if isinstance(config, str) else yaml.safe_dump(config)
    with pytest.raises(CredentialError) as caught:
        read_kubeconfig(text, **settings)
    assert (caught.value.code, caught.value.permanent) == ("credentials", True)
    return caught.value.sentence


def cluster_of(config: dict[str, Any]) -> dict[str, Any]:
    cluster: dict[str, Any] = config["clusters"][0]["cluster"]
    return cluster


def user_of(config: dict[str, Any]) -> dict[str, Any]:
    user: dict[str, Any] = config["users"][0]["user"]
    return user


def test_the_current_context_is_read(config: dict[str, Any], authority: Issued) -> None:
    credentials = read(config)
    assert credentials == Credentials(SERVER, ca_pem=authority.certificate_pem, token="t0ken")
    assert credentials.host == "api.example:6443"


def test_a_client_certificate_is_read(config: dict[str, Any], reader: Issued) -> None:
    config["users"][0]["user"] = {
        "client-certificate-data": b64(reader.certificate_pem),
        "client-key-data": b64(reader.key_pem),
    }
    credentials = read(config)
    assert credentials.client_certificate_pem == reader.certificate_pem
    assert credentials.client_key_pem == reader.key_pem


def test_tls_server_name_is_read(config: dict[str, Any]) -> None:
    cluster_of(config)["tls-server-name"] = "kubernetes"
    assert read(config).tls_server_name == "kubernetes"


def test_exec_is_refused_with_the_commands_that_help(config: dict[str, Any]) -> None:
    sentence = refused(config, context="there")
    first, *commands = sentence.split("\n")
    assert "runs a program to log in (exec), which gangboard never does" in first
    assert commands[0] == "manage.py print_rbac | kubectl apply -f -"
    assert all(command.startswith("kubectl config ") for command in commands[1:-1])
    for account in ("gangboard-reader", "gangboard-actor"):
        file = f"--kubeconfig={account}.kubeconfig"
        token = f'--token="$(kubectl create token {account} --namespace=gangboard'
        for subcommand in ("set-cluster", "set-credentials", "set-context", "use-context"):
            assert any(file in command and subcommand in command for command in commands), (
                subcommand
            )
        assert any(token in command for command in commands)
    assert commands[-1] == (
        "manage.py add_cluster NAME --kubeconfig gangboard-reader.kubeconfig"
        " --actor-kubeconfig gangboard-actor.kubeconfig"
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("auth-provider", {"name": "gcp"}, "uses a login plug-in to log in (auth-provider)"),
        ("username", "admin", "logs in with a password (username)"),
        ("password", "hunter2", "logs in with a password (password)"),
        ("as", "system:admin", "impersonates another user (as)"),
        ("as-groups", ["system:masters"], "impersonates another user (as-groups)"),
        ("as-user-extra", {"a": ["b"]}, "impersonates another user (as-user-extra)"),
        ("surprise", "x", "has the key surprise, which is not one of"),
        ("token", 5, "token in the kubeconfig is not text"),
        ("token", "two words", "does not hold a bearer token"),
    ],
)
def test_unsafe_user_keys_are_refused(
    config: dict[str, Any], key: str, value: object, message: str
) -> None:
    user_of(config)[key] = value
    sentence = refused(config)
    assert message in sentence
    assert "hunter2" not in sentence


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("insecure-skip-tls-verify", True, "insecure-skip-tls-verify: the server would not be"),
        ("proxy-url", "socks5://proxy", "through a proxy (proxy-url)"),
        ("server", "http://api.example", "is not https"),
        ("server", "https://me:hunter2@api.example", "must not hold a user name or password"),
        ("server", "https://me:hunter2/x@api.example", "is not an address"),
        ("server", "https://me:12/hunter2@api.example", "must not hold a user name or password"),
        ("server", "https://api.example/?token=hunter2", "https://api.example/ is not of the form"),
        ("server", "https://api.example/#hunter2", "https://api.example/ is not of the form"),
        ("server", "http://api.example/?token=hunter2", "http://api.example/ is not https"),
        ("server", "https://api.example/?a=b", "is not of the form https://host:port"),
        ("server", "https://", "is not of the form https://host:port"),
        ("server", "https://api.example:99999", "is not an address"),
        ("server", "https://[::1", "is not an address"),
        ("server", "https://a b", "characters that are not allowed"),
        ("server", "", "has no server"),
        ("certificate-authority-data", "!!", "certificate-authority-data in the kubeconfig is not"),
        ("certificate-authority-data", b64("nonsense"), "(CA) is not a certificate in PEM form"),
    ],
)
def test_unsafe_cluster_keys_are_refused(
    config: dict[str, Any], key: str, value: object, message: str
) -> None:
    cluster_of(config)[key] = value
    sentence = refused(config)
    assert message in sentence
    assert "hunter2" not in sentence


def test_the_error_of_a_missing_context_lists_the_existing_ones(config: dict[str, Any]) -> None:
    assert refused(config, context="nope") == "There is no context nope; there are: here, there."
    del config["current-context"]
    assert "No context was chosen and none is current; there are: here, there." in refused(config)


def test_a_context_with_missing_entries_is_refused(config: dict[str, Any]) -> None:
    config["contexts"][0]["context"]["user"] = "gone"
    assert "The user of this context, gone, is not in the kubeconfig" in refused(config)
    config["contexts"][0]["context"] = {"user": "reader"}
    assert "The cluster of this context, (none named), is not" in refused(config)


def test_a_kubeconfig_without_credentials_is_refused(config: dict[str, Any]) -> None:
    config["users"][0]["user"] = {}
    assert refused(config) == "There is neither a token nor a client certificate."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a:\n  [}", "not valid YAML (line 2)"),
        ("\x00", "not valid YAML"),
        ("just words", "not a kubeconfig"),
        ("- a\n- b", "not a kubeconfig"),
        ("contexts: 5", "contexts in the kubeconfig is not a list"),
        ("contexts: [5, {name: a, context: 7}]", "there are: none"),
        ("clusters: 2001-99-99", "not valid YAML"),
        ("clusters: !!python/object/apply:os.system [id]", "not valid YAML"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("[" * 5000, "nested deeper than 32 levels"),
        ("clusters: " + "1" * 5000, "not valid YAML"),
        ("a" * (1024 * 1024 + 1), "larger than 1 MiB"),
        ("\ud800", "not valid YAML"),
    ],
)
def test_text_that_is_no_kubeconfig_is_refused(text: str, sentence: str) -> None:
    assert sentence in refused(text)


def test_a_yaml_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert "aliases" in refused("\n".join(lines))


def test_the_token_is_not_in_the_sentence_about_broken_yaml() -> None:
    assert "hunter2" not in refused("users: [{user: {token: hunter2}")


def test_a_key_of_another_certificate_is_refused(config: dict[str, Any], reader: Issued) -> None:
    config["users"][0]["user"] = {
        "client-certificate-data": b64(reader.certificate_pem),
        "client-key-data": b64(issue("other").key_pem),
    }
    assert refused(config) == "The client key does not belong to the client certificate."
    config["users"][0]["user"]["client-key-data"] = b64("nonsense")
    assert refused(config) == "The client key is not a private key in PEM form."
    del config["users"][0]["user"]["client-key-data"]
    assert "The client key is missing" in refused(config)


def test_files_are_read_relative_to_the_directory(
    config: dict[str, Any], authority: Issued, reader: Issued, tmp_path: Path
) -> None:
    del cluster_of(config)["certificate-authority-data"]
    cluster_of(config)["certificate-authority"] = "ca.crt"
    config["users"][0]["user"] = {
        "client-certificate": "reader.crt",
        "client-key": str(tmp_path / "reader.key"),
    }
    (tmp_path / "ca.crt").write_text(authority.certificate_pem)
    (tmp_path / "reader.crt").write_text(reader.certificate_pem)
    (tmp_path / "reader.key").write_text(reader.key_pem)
    credentials = read(config, files=NamedFiles(tmp_path))
    assert (credentials.ca_pem, credentials.client_key_pem) == (
        authority.certificate_pem,
        reader.key_pem,
    )


def test_files_are_not_read_without_a_directory(config: dict[str, Any]) -> None:
    cluster_of(config).pop("certificate-authority-data")
    cluster_of(config)["certificate-authority"] = "/etc/passwd"
    sentence = refused(config)
    assert "refers to a file (certificate-authority); files are not read from here" in sentence
    assert "certificate-authority-data" in sentence


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "does not exist"),
        ("/dev/zero", "is not a plain file"),
        ("/etc/passwd", "does not hold a bearer token"),
        ("large", "is larger than 1 MiB"),
        ("binary", "is not text"),
        ("empty", "is empty"),
        ("a\0b", "is not a file name"),
    ],
)
def test_an_invalid_token_file_is_refused(
    config: dict[str, Any], tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "large").write_bytes(b"a" * (1024 * 1024 + 1))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "empty").write_bytes(b"\n")
    config["users"][0]["user"] = {"tokenFile": name}
    sentence = refused(config, files=NamedFiles(tmp_path, token_file=True))
    assert message in sentence
    assert "root:" not in sentence


def test_an_allowed_token_file_stays_a_file(config: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    config["users"][0]["user"] = {"tokenFile": "token"}
    credentials = read(config, files=NamedFiles(tmp_path, token_file=True))
    assert (credentials.token, credentials.token_file) == (None, str(tmp_path / "token"))


def test_a_token_file_is_refused_unless_it_is_allowed(
    config: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    config["users"][0]["user"] = {"tokenFile": "token"}
    sentence = refused(config, files=NamedFiles(tmp_path))
    assert "--allow-token-file" in sentence
    assert "t0ken" not in sentence


@pytest.mark.parametrize("key", ["tokenFile", "certificate-authority", "client-certificate"])
@pytest.mark.parametrize("field", ["direct", "dots", "link", "folder link", "key file"])
def test_gangboards_own_files_are_not_read(
    config: dict[str, Any], tmp_path: Path, key: str, field: str
) -> None:
    """`private` holds gangboard's keys. Their text must reach no server under any name."""
    state, strange = tmp_path / "state", tmp_path / "strange"
    state.mkdir()
    strange.mkdir()
    (state / "encryption_key").write_text("0urKey")
    (tmp_path / "secret").write_text("0urKey")
    (strange / "link").symlink_to(state / "encryption_key")
    (strange / "folder").symlink_to(state)
    name = {
        "direct": str(state / "encryption_key"),
        "dots": "../state/encryption_key",
        "link": "link",
        "folder link": "folder/encryption_key",
        "key file": "../secret",
    }[field]
    section = cluster_of(config) if key == "certificate-authority" else {"token": "t0ken"}
    section.pop("certificate-authority-data", None)
    section[key] = name
    if key != "certificate-authority":
        config["users"][0]["user"] = section
    files = NamedFiles(strange, private=(state, tmp_path / "secret"), token_file=True)
    sentence = refused(config, files=files)
    assert "a file of gangboard itself" in sentence
    assert "0urKey" not in sentence


def test_the_service_account_is_used_inside_a_cluster(
    authority: Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("abc")
    (tmp_path / "ca.crt").write_text(authority.certificate_pem)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    credentials = in_cluster(tmp_path)
    assert credentials.address == ("fd00::1", 443)
    assert credentials.token_file == str(tmp_path / "token")
    (tmp_path / "token").unlink()
    with pytest.raises(CredentialError, match="token does not exist"):
        in_cluster(tmp_path)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(CredentialError, match="does not run in a Kubernetes pod"):
        in_cluster(tmp_path)


def test_secrets_are_not_shown(reader: Issued) -> None:
    credentials = Credentials(
        SERVER,
        token="t0ken",
        client_certificate_pem=reader.certificate_pem,
        client_key_pem=reader.key_pem,
    )
    text = f"{credentials!r} {credentials}"
    assert "t0ken" not in text
    assert "PRIVATE KEY" not in text
    assert SERVER in text


def test_a_serialized_document_restores_the_credentials(authority: Issued, reader: Issued) -> None:
    credentials = Credentials(
        f"{SERVER}/",
        ca_pem=authority.certificate_pem,
        client_certificate_pem=reader.certificate_pem,
        client_key_pem=reader.key_pem,
        tls_server_name="kubernetes",
    )
    document = json.loads(json.dumps(credentials.to_document()))
    assert Credentials.from_document(document) == credentials
    assert "token" not in document


@pytest.mark.parametrize(
    "document", [None, [], {}, {"server": SERVER, "more": "x"}, {"server": SERVER, "token": 5}]
)
def test_an_unrelated_document_is_refused(document: object) -> None:
    with pytest.raises(CredentialError, match="stored credentials"):
        Credentials.from_document(document)


def jwt(claims: bytes) -> str:
    return f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.sig"


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (jwt(b'{"exp": 1893456000, "aud": ["x"]}'), datetime(2030, 1, 1, tzinfo=UTC)),
        (jwt(b'{"sub": "x"}'), None),
        (jwt(b'{"exp": 1e300}'), None),
        (jwt(b'{"exp": "soon"}'), None),
        (jwt(b"[]"), None),
        ("a.!.c", None),
        ("opaque", None),
    ],
)
def test_a_token_expires_at_its_exp_claim(token: str, expected: datetime | None) -> None:
    assert token_expiry(token) == expected


def test_the_expiry_of_a_certificate_is_read(reader: Issued) -> None:
    assert certificate_expiry(reader.certificate_pem) == reader.certificate.not_valid_after_utc
    with pytest.raises(CredentialError, match="not a certificate"):
        certificate_expiry("nonsense")


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(KubeError("gone", "Gone.", status=410, retry_after=2.0)))
    assert (error.code, str(error), error.status, error.retry_after) == ("gone", "Gone.", 410, 2.0)
    refusal = pickle.loads(pickle.dumps(CredentialError("No.", commands=("kubectl a",))))
    assert (str(refusal), refusal.commands) == ("No.\nkubectl a", ("kubectl a",))
