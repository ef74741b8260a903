"""The loggers of the bridge."""

from __future__ import annotations

import sys

from snakepit_bridge.own_imports import standard

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging

_logging = standard("logging")


def logger(name: str) -> logging.Logger:
    """Returns a logger, created with its first record: importing `logging` takes a
    tenth of a worker's start, and most workers never log anything.
    """
    try:
        log: logging.Logger = _logging.getLogger(name)
    except Exception:  # noqa: BLE001 - it cannot be imported: the environment is gone
        return _Stderr(name)  # type: ignore[return-value]
    return log


class _Stderr:
    """What a logger does where there is no `logging`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def warning(self, message: str, *args: object) -> None:
        """Writes one line."""
        sys.stderr.write(f"{self._name}: {message % args}\n")

    error = warning

    def exception(self, message: str, *args: object) -> None:
        """Writes one line, with the exception that is handled."""
        kind = sys.exc_info()[0]
        name = None if kind is None else kind.__name__
        self.warning("%s (%s)", message % args, name)
