"""Why a process that forks workers is done."""

from __future__ import annotations

# The run has ended in order.
ENDED = 0
# The host is gone.
HOST_GONE = 64
# The host broke the protocol.
PROTOCOL_BROKEN = 66
