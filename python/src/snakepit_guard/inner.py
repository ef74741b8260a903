"""The inner guard: forks workers, and ends them when the host or an outer guard is gone."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence

from snakepit_guard import arming
from snakepit_guard.execute import Execution
from snakepit_guard.exit_status import HOST_GONE, TWIN_GONE
from snakepit_guard.fork_server import ForkServer
from snakepit_guard.incidents import Incidents
from snakepit_guard.kill_order import Step
from snakepit_guard.killing import kill_until_none
from snakepit_guard.process_table import lists_children
from snakepit_guard.requests import PROTOCOL_VERSION
from snakepit_guard.setting import Setting

GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL | select.POLLRDHUP


class InnerGuard:
    """The parent of the workers."""

    def __init__(self, setting: Setting, above: Sequence[int]) -> None:
        """Arms this process and reports to the host that it is ready.

        Args:
            setting: The settings that the host gave the guard.
            above: Pipes that close when the guards further out are gone.
        """
        arming.become_subreaper()
        self._setting = setting
        self._above = above
        self._incidents = Incidents(setting.incidents, setting.run_id)
        self._server = ForkServer(
            setting.protocol, setting.socket, setting.host, Execution
        )
        self._server.link.send(
            "ready",
            version=PROTOCOL_VERSION,
            pid=os.getpid(),
            subreaper=arming.is_subreaper(),
            listsChildren=lists_children(),
        )

    def run(self) -> int:
        """Serves until the host or another guard is gone; returns the exit status."""
        while True:
            happened = self._wait()
            reason = self._gone(happened) or self._server.serve(happened)
            if reason is not None:
                return self._leave(reason)

    def _wait(self) -> dict[int, int]:
        poll = select.poll()
        poll.register(self._setting.lifeline, select.POLLRDHUP)
        for descriptor in self._above:
            poll.register(descriptor, 0)
        self._server.register(poll)
        return dict(poll.poll())

    def _gone(self, happened: dict[int, int]) -> int | None:
        if happened.get(self._setting.lifeline, 0) & GONE:
            return HOST_GONE
        if any(happened.get(descriptor, 0) & GONE for descriptor in self._above):
            return TWIN_GONE
        return None

    def _leave(self, reason: int) -> int:
        """Kills every descendant; records what it did if the host is gone."""
        if reason == HOST_GONE:
            self._incidents.host_death()
        # First, since looking for processes takes descriptors, and these may be the last.
        self._server.close()
        left = kill_until_none(self._server.wakeup, self._killed)
        self._incidents.settled()
        self._server.link.send("ended", killed=self._incidents.killed, left=left)
        return reason

    def _killed(self, steps: list[Step]) -> None:
        label_of = self._server.forks.label_of
        for step in steps:
            self._incidents.process_killed(step, label_of(step.root))
        self._incidents.write()
