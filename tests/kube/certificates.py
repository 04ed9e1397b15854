"""Certificates for the servers of these tests, good ones and bad ones."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Issued:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return self.key.private_bytes(*form).decode()


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def issue(
    common: str,
    issuer: Issued | None = None,
    *,
    names: tuple[str, ...] = ("localhost", "127.0.0.1"),
    ends_in: timedelta = timedelta(days=1),
    is_authority: bool = False,
) -> Issued:
    """A certificate and its key; self-signed without an issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    expires_at = (datetime.now(UTC) + ends_in).replace(microsecond=0)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(common))
        .issuer_name(issuer.certificate.subject if issuer else _name(common))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(expires_at - timedelta(days=30))
        .not_valid_after(expires_at)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([_alternative(n) for n in names]), critical=False
        )
    )
    return Issued(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
