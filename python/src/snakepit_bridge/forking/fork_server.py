"""Forks workers on the host's request."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable, Mapping

from snakepit_bridge.forking.forks import Forks
from snakepit_bridge.forking.protocol import (
    About,
    End,
    FrameError,
    HostGone,
    HostLink,
    Reception,
    Start,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.forking.forks import Becoming


# The run has ended in order.
ENDED = 0
# The host is gone.
HOST_GONE = 64
# The host broke the protocol.
PROTOCOL_BROKEN = 66


class Wakeup:
    """A pipe that is readable when a child has ended.

    Attributes:
        descriptor: To wait for together with others.
    """

    def __init__(self) -> None:
        """Begins to listen; a process can have only one of these."""
        self.descriptor, self._signalled = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        # Without a handler the signal would be ignored.
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)

    def wait(self, seconds: float) -> None:
        """Returns once a child has ended since the last time, or after this time."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        # Rounded up: less than a millisecond would not wait at all.
        poll.poll(max(1, round(seconds * 1000)))
        self.clear()

    def clear(self) -> None:
        """Empties the pipe."""
        try:
            while os.read(self.descriptor, 512):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Stops listening; for a child that inherits this by a fork."""
        signal.set_wakeup_fd(-1)
        os.close(self.descriptor)
        os.close(self._signalled)


class ForkServer:
    """The server side of the protocol for forks: control channel, connections for workers, forks."""

    def __init__(
        self,
        protocol: int,
        path: str,
        host: int,
        becoming: Callable[[Start], Becoming],
        kept: frozenset[int] = frozenset(),
    ) -> None:
        """Listens.

        Args:
            protocol: The control channel.
            path: The socket whose connections become a worker's descriptors.
            host: The only process whose connections are accepted.
            becoming: What a requested child becomes.
            kept: Descriptors that children keep.
        """
        self.wakeup = Wakeup()
        self._reception = Reception(path, host)
        self.link = HostLink(socket.socket(fileno=protocol))
        self.forks = Forks(
            self.link, self._reception, becoming, self.wakeup.close, kept
        )

    def register(self, poll: select.poll) -> None:
        """Registers the descriptors to wait for."""
        answers = select.POLLOUT if self.link.waiting else 0
        poll.register(self.link.descriptor, select.POLLIN | answers)
        for descriptor in (
            self.wakeup.descriptor,
            *self._reception.waiting,
            *self.forks.reports,
        ):
            poll.register(descriptor, select.POLLIN)

    def serve(self, happened: Mapping[int, int]) -> int | None:
        """Handles what happened; returns the exit status once the server is done."""
        for descriptor in self.forks.reports:
            if descriptor in happened:
                self.forks.reported(descriptor)
        if self.wakeup.descriptor in happened:
            self.wakeup.clear()
            self.forks.collect()
        for descriptor in self._reception.waiting:
            if descriptor in happened:
                self._arrival(descriptor)
        return self._requests() if self.link.descriptor in happened else None

    def close(self) -> None:
        """Accepts no more connections."""
        self._reception.close()

    def _arrival(self, descriptor: int) -> None:
        arrival = self._reception.happened(descriptor)
        if arrival is None:
            return
        if arrival.error == 0:
            self.forks.arrived(arrival.start)
        else:
            error = OSError(arrival.error, os.strerror(arrival.error))
            self.forks.refused(arrival.start, error)

    def _requests(self) -> int | None:
        self.link.flush()
        try:
            for request in self.link.receive():
                if isinstance(request, End):
                    return ENDED
                self._do(request)
        except HostGone:
            return HOST_GONE
        except FrameError:
            return PROTOCOL_BROKEN
        return None

    def _do(self, request: Start | About) -> None:
        if isinstance(request, Start):
            self.forks.start(request)
        else:
            self.forks.handle(request)
