"""What a relay is given at its start, and what it answers: one line each."""

from __future__ import annotations

import ssl
from typing import NamedTuple

from snakepit_bridge.cluster.certificates import (
    Identity,
    own_identity,
    pinned_context,
    read_identity,
)

__all__ = ["FACTS_DESCRIPTOR", "SETUP_DESCRIPTOR", "RelaySetup"]

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
