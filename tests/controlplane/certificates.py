"""The certificates of one control plane: made in its folder at start, gone with it."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A machine whose clock jumps back a little must not make a fresh certificate invalid.
_SKEW = datetime.timedelta(minutes=10)
# Kueue replaces its own when they end within 90 days.
_LIFETIME = datetime.timedelta(days=365)

_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, both PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Certificates:
    """All files the processes are configured with."""

    ca: Path
    server: Pair
    admin: Pair
    webhook: Pair
    service_account_key: Path


@dataclass(frozen=True)
class KueueCertificates:
    """Contents of Kueue's Secret, which Kueue renews by itself: an authority and the webhooks' pair."""

    authority: Pair
    webhook: Pair


@dataclass(frozen=True)
class _Authority:
    certificate: x509.Certificate
    key: _Key

    def pair(self, stem: Path, subject: x509.Name, *, serves: Sequence[str] = ()) -> Pair:
        """Write a server's certificate for these names and the loopback address, or a client's."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _sign(subject, key, self, names=serves)
        return _written(stem, signed, key)


def make_certificates(folder: Path) -> Certificates:
    """Write one authority and everything that it signs into `folder`, which must exist.

    The webhook pair is called tls.crt and tls.key in a folder of its own, as controllers that
    serve webhooks expect it.
    """
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _Authority(_sign(_name("gangboard-test-ca"), authority_key), authority_key)
    _write_certificate(folder / "ca.crt", authority.certificate)
    (folder / "webhook").mkdir()
    _write_key(folder / "service-account.key", ec.generate_private_key(ec.SECP256R1()))
    local = ("localhost", "kubernetes.default.svc")
    return Certificates(
        ca=folder / "ca.crt",
        server=authority.pair(folder / "server", _name("kube-apiserver"), serves=local),
        admin=authority.pair(folder / "admin", _name("admin", "system:masters")),
        webhook=authority.pair(folder / "webhook" / "tls", _name("webhook"), serves=local),
        service_account_key=folder / "service-account.key",
    )


def make_kueue_certificates(folder: Path) -> KueueCertificates:
    """Write the files that Kueue would otherwise create for itself into `folder`. It keeps valid ones.

    Valid are an RSA authority with the name kueue-ca and a certificate for its Service (OPA
    cert-controller v0.16, validCACert, validServerCert and buildArtifactsFromSecret).

    """
    folder.mkdir()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    authority = _Authority(_sign(_name("kueue-ca"), key, names=("kueue-ca",)), key)
    service = "kueue-webhook-service.kueue-system.svc"
    return KueueCertificates(
        authority=_written(folder / "ca", authority.certificate, key),
        webhook=authority.pair(folder / "tls", _name(service), serves=(service,)),
    )


def _name(common_name: str, organisation: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organisation:  # for a client this is its group
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(parts)


def _sign(
    subject: x509.Name,
    key: _Key,
    issuer: _Authority | None = None,
    *,
    names: Sequence[str] = (),
) -> x509.Certificate:
    """Without an issuer it is an authority, signed by itself."""
    issuer_key = issuer.key if issuer else key
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .add_extension(_key_usage(signs=issuer is None), critical=True)
    )
    if issuer is not None:
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if names else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    if names:
        loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        known = x509.SubjectAlternativeName([*map(x509.DNSName, names), loopback])
        builder = builder.add_extension(known, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _written(stem: Path, certificate: x509.Certificate, key: _Key) -> Pair:
    created = Pair(stem.with_suffix(".crt"), stem.with_suffix(".key"))
    _write_certificate(created.certificate, certificate)
    _write_key(created.key, key)
    return created


def _write_certificate(path: Path, certificate: x509.Certificate) -> None:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _write_key(path: Path, key: _Key) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            # The API server does not find a public key in a PKCS#8 service account key, and Kueue
            # does not read its authority's.
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
