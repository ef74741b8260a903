"""The version of this package, and of the protocol that it speaks."""

__version__ = "0.0.0"

OLDEST_PROTOCOL = 1
NEWEST_PROTOCOL = 1
