"""The preloaded parent at work: forks workers for the host, and runs nothing else."""

from __future__ import annotations

import os
import select
import socket

from snakepit_bridge.preload.forked_worker import ForkedWorker
from snakepit_guard.births import Births
from snakepit_guard.frames import FrameError
from snakepit_guard.host_link import HostGone, HostLink
from snakepit_guard.reception import Reception
from snakepit_guard.requests import End, Start
from snakepit_guard.wakeup import Wakeup


class PreloadedParent:
    """Speaks the guard's protocol on the control channel."""

    def __init__(
        self, protocol: int, path: str, host: int, kept: frozenset[int]
    ) -> None:
        """Listens.

        Args:
            protocol: The control channel, once the ready line is said.
            path: Where connections are taken that become a worker's descriptors.
            host: The only process whose connections are taken.
            kept: Descriptors that imports have opened, and that workers have too.
        """
        self._wakeup = Wakeup()
        self._reception = Reception(path, host)
        self._link = HostLink(socket.socket(fileno=protocol))
        self._births = Births(
            self._link, self._reception, ForkedWorker, self._wakeup.close, kept
        )

    def run(self) -> None:
        """Forks until the host has enough, or is gone."""
        while True:
            happened = self._wait()
            for descriptor in self._births.reports:
                if descriptor in happened:
                    self._births.reported(descriptor)
            if self._wakeup.descriptor in happened:
                self._wakeup.clear()
                self._births.collect()
            for descriptor in self._reception.waiting:
                if descriptor in happened:
                    self._arrival(descriptor)
            if self._link.descriptor in happened and not self._serve():
                self._reception.close()
                return

    def _wait(self) -> dict[int, int]:
        poll = select.poll()
        answers = select.POLLOUT if self._link.waiting else 0
        poll.register(self._link.descriptor, select.POLLIN | answers)
        for descriptor in (
            self._wakeup.descriptor,
            *self._reception.waiting,
            *self._births.reports,
        ):
            poll.register(descriptor, select.POLLIN)
        return dict(poll.poll())

    def _arrival(self, descriptor: int) -> None:
        arrival = self._reception.happened(descriptor)
        if arrival is None:
            return
        if arrival.error == 0:
            self._births.arrived(arrival.start)
        else:
            error = OSError(arrival.error, os.strerror(arrival.error))
            self._births.refused(arrival.start, error)

    def _serve(self) -> bool:
        """Does what the host asks for; returns whether it goes on."""
        self._link.flush()
        try:
            for request in self._link.receive():
                if isinstance(request, End):
                    return False
                if isinstance(request, Start):
                    self._births.start(request)
                else:
                    self._births.told(request)
        except (HostGone, FrameError):
            return False
        return True
