"""The interface between the bridge and a transport."""

from __future__ import annotations

from collections.abc import Callable

from snakepit_bridge.threads.main_thread import MainThread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from snakepit_bridge.boot.launch_message import Launch
    from snakepit_bridge.bridge.conversation import Conversation
    from snakepit_bridge.calls.run.running_call import TerminalFrame
    from snakepit_bridge.frames import Log, WorkerFrame
    from snakepit_bridge.threads.bridge_loop import Loop
else:
    Protocol = object

# Log records that wait: a tool that logs faster than the host reads loses some.
MAX_LOGS = 1000


class Outbox(Protocol):
    """Frames on their way to the host. It has no own limit, because everything that is
    put into it is limited elsewhere: chunks by credit, results by the number of calls,
    log records by `MAX_LOGS`.

    Its methods may be called in any thread, and take no lock that an interrupted
    tool could keep.

    Attributes:
        held: whether the main thread gathers frames and will `flush` them.
    """

    held: bool

    @property
    def most_held(self) -> int:
        """How many answers the main thread adds before it has them sent."""

    def add(self, frame: bytes, /) -> None:
        """Adds a `compact_result`, in the main thread, which sends it soon."""

    def send_added(self) -> None:
        """Sends the added frames, in the main thread."""

    def put(self, frame: WorkerFrame) -> None:
        """Adds a frame."""

    def put_last(self, frame: TerminalFrame) -> None:
        """Adds the terminal frame of a call, or its `compact_result`; this thread
        cannot be interrupted now.
        """

    @property
    def logs_waiting(self) -> int:
        """How many log records have not been sent yet."""

    def put_log(self, log: Log) -> bool:
        """Adds a log record, unless too many wait; returns whether it was added."""


class LogLimit:
    """Counts the log records of an outbox, and those that it dropped."""

    def __init__(self) -> None:
        # Each is written under one lock only: that of `logging`, or that of the thread
        # that sends.
        self._put = 0
        self._dropped = 0
        self._taken = 0
        self._sent = 0

    @property
    def waiting(self) -> int:
        """How many records have not been sent yet."""
        return self._put - self._sent

    def admit(self, log: Log) -> bool:
        """Counts a record that is about to wait; returns False if it is dropped."""
        if self.waiting >= MAX_LOGS:
            self._dropped += 1
            return False
        if self._dropped:
            log.message += f" [{self._dropped} records before this one were dropped]"
            self._dropped = 0
        self._put += 1
        return True

    def taken(self) -> None:
        """Counts a record that is about to be written."""
        self._taken += 1

    def sent(self) -> None:
        """All records that were taken have been written: the end of this process loses
        none.
        """
        self._sent = self._taken


class Transport(Protocol):
    """Serves the host on the worker's socket; used only in the bridge's thread."""

    async def start(self) -> None:
        """Listens.

        Raises:
            Exception: the socket cannot be used.
        """

    def leave(self) -> None:
        """Refuses calls from now on, and reports so to health checks."""

    async def finish(self, timeout: float) -> None:
        """Writes the remaining frames, then ends the conversation."""

    async def stop(self) -> None:
        """Closes the socket."""


class TransportParts(Protocol):
    """What a worker needs of its transport before it can serve.

    Attributes:
        outbox: where frames wait for the host, from before there is one.
        main: the main thread.
    """

    @property
    def outbox(self) -> Outbox:
        """Where frames wait for the host, from before there is one."""

    main: MainThread

    def bridge_loop(self) -> Loop:
        """Returns a loop for the bridge's thread."""

    def transport(
        self,
        launch: Launch,
        loop: Loop,
        conversation: Conversation,
        on_host_left: Callable[[bool], None],
    ) -> Transport:
        """Returns the server for the host. `on_host_left` is called, in any thread,
        when the conversation ends: with True if it broke.
        """


def load_transport(name: str) -> TransportParts:
    """Imports one transport and no other; in the main thread."""
    if name == "framed":
        from snakepit_bridge.bridge.framed_transport.server import FramedParts

        return FramedParts()
    from snakepit_bridge.bridge.grpc_transport.server import GrpcParts

    return GrpcParts()
