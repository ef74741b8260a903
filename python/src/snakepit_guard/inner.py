"""The inner guard: forks workers, and ends them when the host or an outer guard is gone."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Sequence

from snakepit_guard import arming
from snakepit_guard.births import Births
from snakepit_guard.execute import Execution
from snakepit_guard.exit_status import ENDED, HOST_GONE, PROTOCOL_BROKEN, TWIN_GONE
from snakepit_guard.frames import FrameError
from snakepit_guard.host_link import HostGone, HostLink
from snakepit_guard.incidents import Incidents
from snakepit_guard.kill_order import Step
from snakepit_guard.killing import kill_until_none
from snakepit_guard.process_table import lists_children
from snakepit_guard.reception import Reception
from snakepit_guard.requests import PROTOCOL_VERSION, About, End, Start
from snakepit_guard.setting import Setting
from snakepit_guard.wakeup import Wakeup

GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL | select.POLLRDHUP


class InnerGuard:
    """The parent of the workers."""

    def __init__(self, setting: Setting, above: Sequence[int]) -> None:
        """Arms this process and tells the host that it can ask.

        Args:
            setting: What the host started the guard with.
            above: Pipes that close when the guards further out are gone.
        """
        arming.become_subreaper()
        self._setting = setting
        self._above = above
        self._wakeup = Wakeup()
        self._incidents = Incidents(setting.incidents, setting.run_id)
        self._reception = Reception(setting.socket, setting.host)
        self._link = HostLink(socket.socket(fileno=setting.protocol))
        self._births = Births(
            self._link, self._reception, Execution, self._wakeup.close
        )
        self._link.send(
            "ready",
            version=PROTOCOL_VERSION,
            pid=os.getpid(),
            subreaper=arming.is_subreaper(),
            listsChildren=lists_children(),
        )

    def run(self) -> int:
        """Serves until there is nobody to serve; returns the exit status."""
        while True:
            happened = self._wait()
            reason = self._gone(happened) or self._serve(happened)
            if reason is not None:
                return self._leave(reason)

    def _wait(self) -> dict[int, int]:
        poll = select.poll()
        poll.register(self._setting.lifeline, select.POLLRDHUP)
        for descriptor in self._above:
            poll.register(descriptor, 0)
        answers = select.POLLOUT if self._link.waiting else 0
        poll.register(self._link.descriptor, select.POLLIN | answers)
        for descriptor in (
            self._wakeup.descriptor,
            *self._reception.waiting,
            *self._births.reports,
        ):
            poll.register(descriptor, select.POLLIN)
        return dict(poll.poll())

    def _gone(self, happened: dict[int, int]) -> int | None:
        if happened.get(self._setting.lifeline, 0) & GONE:
            return HOST_GONE
        if any(happened.get(descriptor, 0) & GONE for descriptor in self._above):
            return TWIN_GONE
        return None

    def _serve(self, happened: dict[int, int]) -> int | None:
        for descriptor in self._births.reports:
            if descriptor in happened:
                self._births.reported(descriptor)
        if self._wakeup.descriptor in happened:
            self._wakeup.clear()
            self._births.collect()
        for descriptor in self._reception.waiting:
            if descriptor in happened:
                self._arrival(descriptor)
        if self._link.descriptor not in happened:
            return None
        self._link.flush()
        try:
            for request in self._link.receive():
                if isinstance(request, End):
                    return ENDED
                self._do(request)
        except HostGone:
            return HOST_GONE
        except FrameError:
            return PROTOCOL_BROKEN
        return None

    def _arrival(self, descriptor: int) -> None:
        arrival = self._reception.happened(descriptor)
        if arrival is None:
            return
        if arrival.error == 0:
            self._births.arrived(arrival.start)
        else:
            error = OSError(arrival.error, os.strerror(arrival.error))
            self._births.refused(arrival.start, error)

    def _do(self, request: Start | About) -> None:
        if isinstance(request, Start):
            self._births.start(request)
        else:
            self._births.told(request)

    def _leave(self, reason: int) -> int:
        """Leaves nothing behind; tells what it did where nobody else can."""
        if reason == HOST_GONE:
            self._incidents.host_death()
        # First: looking for processes takes descriptors, and there may be no other.
        self._reception.close()
        left = kill_until_none(self._wakeup, self._killed)
        if reason == HOST_GONE:
            self._incidents.settled()
            self._incidents.write()
        self._link.send("ended", killed=self._incidents.killed, left=left)
        return reason

    def _killed(self, step: Step) -> None:
        self._incidents.process_killed(
            step.process.pid, self._births.label_of(step.root)
        )
