"""Certificates of one process each: the other side trusts exactly this one.

A private key is never in an argument, a variable, a log or a file that has a name.
"""

from __future__ import annotations

import datetime
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# Clocks of machines differ; a process does not run for longer than that.
CLOCK_DIFFERENCE = datetime.timedelta(days=1)
LONGEST_RUN = datetime.timedelta(days=3650)


class Identity(NamedTuple):
    """A certificate and its key, as PEM, and the authority that signed it, if it is not self-signed."""

    certificate: str
    key: str
    authority: str | None = None


def own_identity(name: str) -> Identity:
    """Makes a key and a self-signed certificate for this process."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_DIFFERENCE)
        .not_valid_after(now + LONGEST_RUN)
        .sign(key, hashes.SHA256())
    )
    key_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return Identity(pem.decode("ascii"), key_pem.decode("ascii"))


def read_identity(paths: dict[str, str]) -> Identity:
    """Reads `ca`, `certificate` and `key` of the user.

    Raises:
        OSError: a file cannot be read.
        UnicodeDecodeError: it is not PEM.
    """
    texts = {}
    for name in ("ca", "certificate", "key"):
        with open(paths[name], encoding="ascii") as file:
            texts[name] = file.read()
    return Identity(texts["certificate"], texts["key"], texts["ca"])


def pinned_context(identity: Identity, peer: str, *, server: bool) -> ssl.SSLContext:
    """Returns the settings for connections to the one peer that has this certificate.

    Args:
        identity: Our own.
        peer: The peer's certificate, as PEM.
        server: Whether we accept its connections.

    Raises:
        ssl.SSLError: a certificate or the key is not valid.
    """
    purpose = ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT
    context = ssl.SSLContext(purpose)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The name in a certificate says nothing here: `is_pinned` compares all of it.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=identity.authority or peer)
    if server:
        # A resumed session would not show its certificate again.
        context.num_tickets = 0
    with _unnamed_file(identity.certificate + identity.key) as path:
        context.load_cert_chain(path)
    return context


def is_pinned(connection: ssl.SSLSocket | ssl.SSLObject, peer: str) -> bool:
    """Returns whether the other end has exactly this certificate, not another one of
    its authority.
    """
    return connection.getpeercert(binary_form=True) == ssl.PEM_cert_to_DER_cert(
        first_certificate(peer)
    )


def first_certificate(pem: str) -> str:
    """Returns the certificate of a chain that is the process's own."""
    end = "-----END CERTIFICATE-----"
    return pem[: pem.index(end) + len(end)].strip() if end in pem else pem


@contextmanager
def _unnamed_file(text: str) -> Iterator[str]:
    """Yields the path of a file for OpenSSL, which reads a key from nothing else."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile("w") as file:  # 0600
            file.write(text)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "w", closefd=False) as file:
            file.write(text)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


# The actor writes the setup to one, and holds it open for as long as it lives; it reads
# where the relay listens from the other.
SETUP_DESCRIPTOR = 0
FACTS_DESCRIPTOR = 1


class RelaySetup(NamedTuple):
    """The setup; its fields are those of the line.

    Attributes:
        address: Of this node, to listen at.
        certificate: The only one that may connect, as PEM.
        tls: Paths of the user's `ca`, `certificate` and `key`; None to make an own one.
        keep_alive_ms: See `end_when_silent`.
        start_timeout_ms: The host gives up after this.
        sources: The directory of the host's sources on this node.
        directory: The worker's working directory, relative to it.
    """

    address: str
    certificate: str
    tls: dict[str, str] | None
    keep_alive_ms: int
    start_timeout_ms: int
    sources: str
    directory: str

    def secure(self) -> tuple[Identity, ssl.SSLContext]:
        """Returns our certificate, and the settings for connections to us.

        Raises:
            OSError: the user's files cannot be read, or have no certificate.
        """
        identity = (
            own_identity("snakepit relay")
            if self.tls is None
            else read_identity(self.tls)
        )
        return identity, pinned_context(identity, self.certificate, server=True)
