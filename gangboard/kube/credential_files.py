"""Credential files: small texts, PEM certificates and keys, and kubeconfigs as YAML with limits."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import yaml
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from gangboard.kube.errors import CredentialError, clean_text

LARGEST_FILE = 1024 * 1024
"""Bytes."""


def read_small_file(path: Path, what: str) -> str:
    """Return the text of a plain file of at most 1 MiB. Raises CredentialError, also for devices and pipes."""
    name = clean_text(str(path))
    try:
        if not path.is_file():
            problem = "is not a plain file" if path.exists() else "does not exist"
            raise CredentialError(f"{what} {name} {problem}.")
        with path.open("rb") as file:
            return small_text(file, f"{what} {name}")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise CredentialError(f"{what} {name} cannot be read: {why}.") from error


def small_text(file: BinaryIO, what: str) -> str:
    """Return the text of an open file of at most 1 MiB. Raises CredentialError with a sentence about `what`."""
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise CredentialError(f"{what} is larger than 1 MiB.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CredentialError(f"{what} is not text.") from error


_BROKEN = (ValueError, TypeError, UnsupportedAlgorithm)


def load_certificates(pem: str, what: str) -> list[x509.Certificate]:
    """Return all certificates in the text, at least one. Raises CredentialError with a sentence about `what`."""
    try:
        return x509.load_pem_x509_certificates(pem.encode())
    except _BROKEN as error:
        raise CredentialError(f"{what} is not a certificate in PEM form.") from error


def certificate_expiry(pem: str) -> datetime:
    """Return when the first certificate in the text expires (UTC). Raises CredentialError."""
    return load_certificates(pem, "The certificate")[0].not_valid_after_utc


def check_pair(certificate_pem: str, key_pem: str) -> None:
    """Raise CredentialError unless the private key belongs to the first certificate."""
    certificate = load_certificates(certificate_pem, "The client certificate")[0]
    try:
        key = load_pem_private_key(key_pem.encode(), password=None)
    except TypeError as error:
        raise CredentialError(
            "The client key is protected by a passphrase; give it without one."
        ) from error
    except _BROKEN as error:
        raise CredentialError("The client key is not a private key in PEM form.") from error
    try:
        certificate_key = certificate.public_key()
    except _BROKEN as error:
        raise CredentialError("The client certificate has a key of an unknown kind.") from error
    encoding = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if certificate_key.public_bytes(*encoding) != key.public_key().public_bytes(*encoding):
        raise CredentialError("The client key does not belong to the client certificate.")


LARGEST = 1024 * 1024
"""Bytes. A kubeconfig of a hundred clusters has a quarter of that."""
DEEPEST = 32


def load_document(text: str) -> Any:
    """Return the document in the text as plain values. Raises CredentialError.

    Aliases (`*name`) are refused. No kubeconfig uses them, and with them ten lines can expand to gigabytes.
    """
    if len(text) > LARGEST or len(text.encode(errors="surrogatepass")) > LARGEST:
        raise CredentialError("The kubeconfig is larger than 1 MiB.")
    try:
        _check_structure(text)
        return yaml.load(text, Loader=yaml.CSafeLoader)  # safe, and written in C
    except yaml.MarkedYAMLError as error:
        # The text around the mark may be a token, so it is not shown.
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise CredentialError(f"The kubeconfig is not valid YAML{line}.") from error
    except (yaml.YAMLError, ValueError) as error:
        raise CredentialError("The kubeconfig is not valid YAML.") from error


def _check_structure(text: str) -> None:
    """Check the YAML events without building values."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise CredentialError("The kubeconfig uses YAML aliases, which are not accepted.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise CredentialError(f"The kubeconfig is nested deeper than {DEEPEST} levels.")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
