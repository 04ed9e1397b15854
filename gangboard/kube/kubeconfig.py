"""Reads a kubeconfig. It accepts an allow-list of keys, and runs no program that the kubeconfig names."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict

from gangboard.kube.credential_files import load_document, read_small_file
from gangboard.kube.errors import CredentialError, clean_text
from gangboard.kube.service_accounts import kubeconfig_commands
from gangboard.kube.tokens import check_token

Section = Mapping[str, Any]

COMMANDS = ("manage.py print_rbac | kubectl apply -f -", *kubeconfig_commands())
"""Shell commands that make the kubeconfigs of both service accounts. `manage.py print_rbac` ends with the same ones."""

_CLUSTER_KEYS = {
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "tls-server-name",
}
_USER_KEYS = {
    "token",
    "tokenFile",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
}
_CONTEXT_KEYS = {"cluster", "user", "namespace"}
_HARMLESS = {"extensions", "disable-compression", "insecure-skip-tls-verify"}
"""Known keys that are not used. The last one is accepted only if it is false."""
_UNSET: tuple[object, ...] = (None, "", False, {}, [])


class Entry(TypedDict):
    """The arguments of `Credentials`."""

    server: str
    ca_pem: str | None
    tls_server_name: str | None
    token: str | None
    token_file: str | None
    client_certificate_pem: str | None
    client_key_pem: str | None


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The files that a kubeconfig may name."""

    directory: Path
    """The folder of relative names."""
    private: tuple[Path, ...] = ()
    """Files and folders of gangboard itself. They are never read."""
    token_file: bool = False
    """`tokenFile` is permitted. Its text is sent to the server that the kubeconfig names."""


MAX_CONTEXTS = 100
LONGEST_NAME = 253
"""Maximum characters of a listed context."""


def context_names(text: str) -> tuple[str, ...]:
    """Return the names of the first MAX_CONTEXTS contexts in their order. Empty for text that is no kubeconfig."""
    try:
        document = load_document(text)
        contexts = _named(document, "contexts", "context") if isinstance(document, dict) else {}
    except CredentialError:
        return ()
    usable = (
        name for name in contexts if name and name.isprintable() and len(name) <= LONGEST_NAME
    )
    return tuple(islice(usable, MAX_CONTEXTS))


def selected_entry(text: str, *, context: str | None, files: NamedFiles | None) -> Entry:
    """Return the credentials of one context. Raises CredentialError."""
    document = load_document(text)
    if not isinstance(document, dict) or not ({"clusters", "contexts"} & document.keys()):
        raise CredentialError("This is not a kubeconfig: it has neither clusters nor contexts.")
    chosen = _context(document, context)
    cluster = _entry(document, "cluster", chosen.get("cluster"))
    user = _entry(document, "user", chosen.get("user"))
    _refuse_cluster(cluster)
    _refuse_user(user)
    server = _text(cluster, "server")
    if server is None:
        raise CredentialError("The cluster of this context has no server.")
    return {
        "server": server,
        "ca_pem": _pem(cluster, "certificate-authority", files),
        "tls_server_name": _text(cluster, "tls-server-name"),
        "token": _text(user, "token"),
        "token_file": _token_file(user, files),
        "client_certificate_pem": _pem(user, "client-certificate", files),
        "client_key_pem": _pem(user, "client-key", files),
    }


def _context(document: Section, name: str | None) -> Section:
    entries = _named(document, "contexts", "context")
    context_name = name if name is not None else document.get("current-context")
    known_names = ", ".join(sorted(clean_text(entry, 100) for entry in entries)) or "none"
    if not context_name:
        raise CredentialError(
            f"No context was chosen and none is current; there are: {known_names}."
        )
    entry = entries.get(str(context_name))
    if entry is None:
        raise CredentialError(
            f"There is no context {clean_text(str(context_name), 100)}; there are: {known_names}."
        )
    _refuse_unknown(entry, _CONTEXT_KEYS, "context")
    return entry


def _entry(document: Section, kind: str, name: object) -> Section:
    entry = _named(document, f"{kind}s", kind).get(str(name)) if name else None
    if entry is None:
        shown_name = clean_text(str(name), 100) if name else "(none named)"
        raise CredentialError(
            f"The {kind} of this context, {shown_name}, is not in the kubeconfig."
        )
    return entry


def _named(document: Section, plural: str, kind: str) -> dict[str, Section]:
    """Return `contexts: [{name: a, context: {…}}]` as a dict. The first entry of a name counts, as in kubectl."""
    entries = document.get(plural) or []
    if not isinstance(entries, list):
        raise CredentialError(f"{plural} in the kubeconfig is not a list.")
    bodies: dict[str, Section] = {}
    for entry in entries:
        body = entry.get(kind) if isinstance(entry, dict) else None
        if isinstance(body, dict) and all(isinstance(key, str) for key in body):
            bodies.setdefault(str(entry.get("name", "")), body)
    return bodies


def _refuse_cluster(cluster: Section) -> None:
    if cluster.get("insecure-skip-tls-verify") not in _UNSET:
        raise CredentialError(
            "The kubeconfig says insecure-skip-tls-verify: the server would not be verified, and anyone in between could read the token. Give certificate-authority-data instead."
        )
    if cluster.get("proxy-url") not in _UNSET:
        raise CredentialError(
            "The kubeconfig sends requests through a proxy (proxy-url), which is not supported:"
            " gangboard must reach the API server itself."
        )
    _refuse_unknown(cluster, _CLUSTER_KEYS, "cluster")


def _refuse_user(user: Section) -> None:
    for key, problem in (("exec", "runs a program"), ("auth-provider", "uses a login plug-in")):
        if user.get(key) not in _UNSET:
            raise CredentialError(
                f"The kubeconfig {problem} to log in ({key}), which gangboard never does. Create kubeconfigs of two service accounts instead, with that cluster as kubectl's current"
                " context:",
                commands=COMMANDS,
            )
    for key in ("username", "password"):
        if user.get(key) not in _UNSET:
            raise CredentialError(
                f"The kubeconfig logs in with a password ({key}), which Kubernetes dropped in 1.19."
                " Give a token or a client certificate."
            )
    for key in ("as", "as-uid", "as-groups", "as-user-extra"):
        if user.get(key) not in _UNSET:
            raise CredentialError(
                f"The kubeconfig impersonates another user ({key}), which is not supported: give"
                " credentials of an account that has just the rights it needs."
            )
    _refuse_unknown(user, _USER_KEYS, "user")


def _refuse_unknown(section: Section, allowed: set[str], kind: str) -> None:
    for key, value in section.items():
        if key not in allowed and key not in _HARMLESS and value not in _UNSET:
            raise CredentialError(
                f"The {kind} in the kubeconfig has the key {clean_text(key, 60)}, which is not one"
                f" of {', '.join(sorted(allowed))}."
            )


def _text(section: Section, key: str) -> str | None:
    value = section.get(key)
    if value in _UNSET:
        return None
    if not isinstance(value, str):
        raise CredentialError(f"{key} in the kubeconfig is not text.")
    return value


def _pem(section: Section, key: str, files: NamedFiles | None) -> str | None:
    """Return the PEM text. Inline data takes precedence over a file, as in kubectl."""
    data = _text(section, f"{key}-data")
    if data is not None:
        try:
            return base64.b64decode("".join(data.split()), validate=True).decode()
        except (binascii.Error, ValueError) as error:
            raise CredentialError(f"{key}-data in the kubeconfig is not valid base64.") from error
    name = _text(section, key)
    return None if name is None else read_small_file(_path(name, key, files), f"{key}:")


def _token_file(user: Section, files: NamedFiles | None) -> str | None:
    name = _text(user, "tokenFile")
    if name is None:
        return None
    path = _path(name, "tokenFile", files)
    if files is None or not files.token_file:
        raise CredentialError(
            f"The kubeconfig names a file, tokenFile {clean_text(name, 200)}: gangboard would send its text"
            " to the server of the kubeconfig. Put the token into the key token; if you trust this"
            " kubeconfig, run add_cluster or set_actor with --allow-token-file."
        )
    # Read once, so that a wrong file is refused now and never sent.
    check_token(read_small_file(path, "tokenFile:"), f"tokenFile {clean_text(str(path))}")
    return str(path.absolute())


def _path(name: str, key: str, files: NamedFiles | None) -> Path:
    if files is None:
        inline = "token" if key == "tokenFile" else f"{key}-data"
        raise CredentialError(
            f"The kubeconfig refers to a file ({key}); files are not read from here."
            f" Put the content into {inline} (kubectl config view --raw --flatten)."
        )
    if "\0" in name:
        raise CredentialError(f"{key} in the kubeconfig is not a file name.")
    path = files.directory / name
    target = _resolved(path, key)
    if any(target.is_relative_to(_resolved(private, key)) for private in files.private):
        raise CredentialError(
            f"{key} in the kubeconfig names a file of gangboard itself, which is never read for a kubeconfig."
        )
    return path


def _resolved(path: Path, key: str) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of symbolic links
        raise CredentialError(f"{key} in the kubeconfig names no file.") from error
