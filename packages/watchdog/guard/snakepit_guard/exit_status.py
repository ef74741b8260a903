"""Why a guard ended, as its exit status."""

from __future__ import annotations

# The run has ended in order.
ENDED = 0
# The host is gone: everything was killed.
HOST_GONE = 64
# Another guard was gone: everything was killed, the host shall start new ones.
TWIN_GONE = 65
# The host did not keep to the protocol: everything was killed.
PROTOCOL_BROKEN = 66
# It cannot work on this machine; the reason is on standard output.
UNAVAILABLE = 69
# Its own failure. The other guard kills everything.
FAILED = 70
