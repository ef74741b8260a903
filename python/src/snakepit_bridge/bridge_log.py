"""The loggers of the bridge."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging

__all__ = ["logger"]


def logger(name: str) -> logging.Logger:
    """Returns a logger, created with its first record: importing `logging` takes a
    tenth of a worker's start, and most workers never log anything.
    """
    import logging

    return logging.getLogger(name)
