"""The exit statuses of a guard."""

from __future__ import annotations

# The run has ended in order.
ENDED = 0
# The host is gone: everything was killed.
HOST_GONE = 64
# Another guard was gone: everything was killed, the host has to start new guards.
TWIN_GONE = 65
# The host broke the protocol: everything was killed.
PROTOCOL_BROKEN = 66
# It cannot work on this machine; the reason is on standard output.
UNAVAILABLE = 69
# The guard itself failed. Another guard kills everything.
FAILED = 70
