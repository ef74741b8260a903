"""How frames travel: what the bridge needs of whatever carries them."""

from __future__ import annotations

from typing import Protocol

from snakepit_bridge._gen import bridge_pb2 as pb

__all__ = ["MAX_HELD", "MAX_LOGS", "Outbox", "Transport"]

# Records that wait: a tool that logs faster than the host reads loses some.
MAX_LOGS = 1000
# So many answers of one turn leave together: the host is at work on them while the
# next ones are made.
MAX_HELD = 8


class Outbox(Protocol):
    """Frames on their way to the host. Unbounded, for all that is put into it is
    bounded elsewhere: chunks by credit, results by the number of calls, records
    by `MAX_LOGS`.

    Its methods may be called in any thread, and take no lock that an interrupted
    tool could keep.
    """

    def put(self, frame: pb.WorkerFrame) -> None:
        """Adds a frame."""

    def put_last(self, frame: pb.WorkerFrame) -> None:
        """Adds the terminal frame of a call: nothing interrupts this thread now."""

    @property
    def logs_waiting(self) -> int:
        """How many records have not been sent yet."""

    def put_log(self, log: pb.Log) -> bool:
        """Adds a record, unless too many wait; returns whether it did."""


class Transport(Protocol):
    """Serves the host on the worker's socket; only the bridge's thread uses it."""

    async def start(self) -> None:
        """Listens.

        Raises:
            Exception: the socket cannot be used.
        """

    def leave(self) -> None:
        """Refuses calls from now on, and tells those who ask for the health."""

    async def finish(self, timeout: float) -> None:
        """Writes what is left to write and ends the conversation, in order."""

    async def stop(self) -> None:
        """Lets go of the socket."""
