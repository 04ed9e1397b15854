"""Certificates and keys as PEM text: whether they can be used, and when they end."""

from __future__ import annotations

from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from gangboard.kube.errors import CredentialError

_BROKEN = (ValueError, TypeError, UnsupportedAlgorithm)


def load_certificates(pem: str, what: str) -> list[x509.Certificate]:
    """Return all certificates in the text, at least one. Raises CredentialError that names `what`."""
    try:
        return x509.load_pem_x509_certificates(pem.encode())
    except _BROKEN as error:
        raise CredentialError(f"{what} is not a certificate in PEM form.") from error


def certificate_expiry(pem: str) -> datetime:
    """Return when the first certificate in the text ends (UTC). Raises CredentialError."""
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
        theirs = certificate.public_key()
    except _BROKEN as error:
        raise CredentialError("The client certificate has a key of an unknown kind.") from error
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if theirs.public_bytes(*form) != key.public_key().public_bytes(*form):
        raise CredentialError("The client key does not belong to the client certificate.")
