"""Certificates of an authority, as an organization has them."""

from __future__ import annotations

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from snakepit_bridge.cluster.certificates import Identity


def signed_identities(*names: str) -> list[Identity]:
    """Makes an authority, and a certificate of it for each name."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _sign("authority", authority_key, "authority", authority_key, True)
    made = []
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _sign(name, key, "authority", authority_key, False)
        key_pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        made.append(Identity(certificate, key_pem.decode(), authority))
    return made


def _sign(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    is_authority: bool,
) -> str:
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    constraints = x509.BasicConstraints(ca=is_authority, path_length=None)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(constraints, critical=True)
        .sign(issuer_key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
