"""Progress reports of a call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Literal, SupportsFloat, TypeAlias

from snakepit_bridge.boot import forked_copy
from snakepit_bridge.frames import Progress

MOST_CHARACTERS: Final = 1000
# The rounding error of sums of fractions.
_ROUNDING = 1e-6

_Report: TypeAlias = tuple["float | None", str]


def checked_report(fraction: SupportsFloat | None, message: str) -> _Report:
    """Returns a report as it is sent.

    Raises:
        ValueError: the fraction is not from 0 to 1.
        TypeError: it is no number, or the message is no string.
    """
    if not isinstance(message, str):
        raise TypeError(f"the message must be a string, not {message!r}")
    if fraction is None:
        return None, message
    if isinstance(fraction, (str, bytes)):
        raise TypeError(f"the fraction must be a number or None, not {fraction!r}")
    number = float(fraction)
    if not -_ROUNDING <= number <= 1 + _ROUNDING:
        raise ValueError(
            f"the fraction must be from 0 to 1, not {fraction!r}; divide a percentage "
            "by 100, and a count by the total"
        )
    return min(max(number, 0.0), 1.0), message


class ProgressReports:
    """The reports of one call. One report is in transit at a time; of those that follow
    until the host has taken it, only the newest is sent.
    """

    __slots__ = ("_call_id", "_lock", "_newest", "_send", "_state")

    def __init__(self, call_id: int, send: Callable[[Progress], None]) -> None:
        self._call_id = call_id
        self._send = send
        self._lock = threading.Lock()
        self._newest: _Report | None = None
        self._state: Literal["ready", "out", "over"] = "ready"

    def report(self, fraction: float | None, message: str) -> None:
        """Sends a report now, or later, or never if a newer one follows; from any
        thread."""
        # The connection is the worker's, not that of a copy that a tool forked.
        if forked_copy.this_is_one:
            return
        with self._lock:
            if self._state == "ready":
                self._state = "out"
                self._send_report((fraction, message))
            elif self._state == "out":
                self._newest = (fraction, message)

    def taken(self) -> None:
        """The host wants another report."""
        with self._lock:
            if self._state != "out":
                return
            newest, self._newest = self._newest, None
            if newest is None:
                self._state = "ready"
            else:
                self._send_report(newest)

    def end(self) -> None:
        """Sends the newest report, and no more. To be called before the terminal frame
        is sent."""
        with self._lock:
            self._state = "over"
            newest, self._newest = self._newest, None
            if newest is not None:
                self._send_report(newest)

    def _send_report(self, report: _Report) -> None:
        fraction, message = report
        # No encoding has lone surrogates.
        clean = message[:MOST_CHARACTERS].encode("utf-8", "backslashreplace").decode()
        self._send(Progress(self._call_id, fraction, clean))
