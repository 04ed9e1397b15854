"""Credentials and address of one cluster: from a kubeconfig, a pod's own account, or the store."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gangboard.kube.credential_files import (
    certificate_expiry,
    check_pair,
    load_certificates,
    read_small_file,
)
from gangboard.kube.errors import CredentialError, clean_text
from gangboard.kube.kubeconfig import NamedFiles, selected_entry
from gangboard.kube.tokens import check_token, token_expiry

__all__ = [
    "Credentials",
    "certificate_expiry",
    "in_cluster",
    "read_kubeconfig",
    "token_expiry",
]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """Everything a request to one API server needs. Raises CredentialError if it is inconsistent."""

    server: str
    """https://host[:port][/prefix], without a trailing slash."""
    ca_pem: str | None = None
    """Trusted authorities, or None for those of the system. Certificates are always verified."""
    token: str | None = None
    client_certificate_pem: str | None = None
    client_key_pem: str | None = None
    tls_server_name: str | None = None
    """The expected name in the server's certificate, if it differs from the host."""
    token_file: str | None = None
    """Absolute path of a token that is renewed in place. It takes precedence over `token`."""
    origin: str | None = None
    """`page` if a person entered the address on a page or by the API: see `destinations`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "server", _checked_server(self.server))
        if self.ca_pem is not None:
            load_certificates(self.ca_pem, "The certificate authority (CA)")
        if self.token is not None:
            object.__setattr__(self, "token", check_token(self.token, "The token"))
        if self.token_file is not None and not Path(self.token_file).is_absolute():
            raise CredentialError(f"The token file {self.token_file} needs an absolute path.")
        if (self.client_certificate_pem is None) != (self.client_key_pem is None):
            missing = "key" if self.client_key_pem is None else "certificate"
            raise CredentialError(
                f"The client {missing} is missing: certificate and key are needed together."
            )
        if self.client_certificate_pem is not None and self.client_key_pem is not None:
            check_pair(self.client_certificate_pem, self.client_key_pem)
        elif self.token is None and self.token_file is None:
            raise CredentialError("There is neither a token nor a client certificate.")

    def __repr__(self) -> str:
        kinds = ("token", "token_file", "client_certificate_pem")
        present = ", ".join(kind for kind in kinds if getattr(self, kind) is not None)
        return f"Credentials(server={self.server!r}, with {present})"

    @property
    def host(self) -> str:
        """`host:port` or `host`, as sentences name the server."""
        return urlsplit(self.server).netloc

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to connect to."""
        parts = urlsplit(self.server)
        return parts.hostname or "", parts.port or 443

    @property
    def prefix(self) -> str:
        """Path before every API path, for a proxy that serves many clusters. Mostly empty."""
        return urlsplit(self.server).path

    def to_document(self) -> dict[str, str]:
        """Return all fields that are set, with secrets in clear text. The store encrypts the result."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_document(cls, document: Any) -> Credentials:
        """Return the credentials of a document from `to_document`. Raises CredentialError for any other value."""
        names = {field.name for field in fields(cls)}
        if not isinstance(document, dict) or not document.get("server"):
            raise CredentialError("The stored credentials have no server.")
        if not set(document) <= names:
            raise CredentialError(
                "The stored credentials have fields that this release cannot read."
            )
        if not all(isinstance(value, str) for value in document.values()):
            raise CredentialError("The stored credentials are not text.")
        return cls(**document)


def read_kubeconfig(
    text: str, *, context: str | None = None, files: NamedFiles | None = None
) -> Credentials:
    """Return the credentials of one context, and refuse every key that runs a program.

    `context`: its name, by default `current-context`. `files`: the files that it may name, by default none, as for
    text from standard input. Raises CredentialError with the refused key and a solution.
    """
    return Credentials(**selected_entry(text, context=context, files=files))


def in_cluster(directory: Path | None = None) -> Credentials:
    """Return the credentials of the pod's own service account. Its token file is read again and again.

    `directory` is where the account is mounted, by default SERVICE_ACCOUNT. Raises CredentialError outside a
    Kubernetes pod, and if the account is not mounted.
    """
    directory = directory or SERVICE_ACCOUNT
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise CredentialError(
            "KUBERNETES_SERVICE_HOST is not set: this process does not run in a Kubernetes pod."
        )
    token_file = directory / "token"
    check_token(read_small_file(token_file, "The token file"), f"The token file {token_file}")
    return Credentials(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        ca_pem=read_small_file(directory / "ca.crt", "The CA file"),
        token_file=str(token_file.absolute()),
    )


def _checked_server(server: str) -> str:
    """Return the address without a trailing slash. Raises CredentialError for anything but plain https.

    Parts that may be secret are not repeated: user, password and query.
    """
    if not server.isascii() or any(character.isspace() for character in server):
        raise CredentialError("The server address has characters that are not allowed.")
    try:
        parts = urlsplit(server)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        # The error would repeat the port, which may be the beginning of a password.
        raise CredentialError("The server address is not an address (https://host:port).") from None
    if "@" in server:
        raise CredentialError("The server address must not hold a user name or password.")
    shown_server = clean_text(server.partition("?")[0].partition("#")[0], 200)
    if parts.scheme != "https":
        raise CredentialError(
            f"The server {shown_server} is not https; credentials are never sent unencrypted."
        )
    if not usable or parts.query or parts.fragment or not server.isprintable():
        raise CredentialError(f"The server {shown_server} is not of the form https://host:port.")
    return server.rstrip("/")
