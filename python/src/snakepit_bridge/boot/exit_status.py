"""The exit statuses of a worker (docs/bridge-protocol.md, section 1)."""

LEFT = 0
WRONG_USAGE = 64
FAILED = 70
HOST_GONE = 71
STUCK = 72
