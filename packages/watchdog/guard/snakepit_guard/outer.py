"""The outer guard: the parent of the inner one, there for when that is lost."""

from __future__ import annotations

import os
import select
import time

from snakepit_guard.exit_status import FAILED, HOST_GONE, TWIN_GONE
from snakepit_guard.incidents import Incidents
from snakepit_guard.inner import GONE
from snakepit_guard.kill_order import Step
from snakepit_guard.killing import kill_until_none
from snakepit_guard.setting import Setting
from snakepit_guard.wakeup import Wakeup

# The inner guard knows the workers, and two that kill at once only wait for each
# other's processor. If it is stopped or stuck, it does not come to an end.
PATIENCE_S = 0.1


class OuterGuard:
    """Waits for the end of the inner guard or of the host, and ends whatever they leave."""

    def __init__(self, setting: Setting, inner: int, wakeup: Wakeup) -> None:
        self._setting = setting
        self._inner = inner
        self._wakeup = wakeup
        self._incidents = Incidents(setting.incidents, setting.run_id)

    def run(self) -> int:
        """Serves until one of them ends; returns the exit status."""
        poll = select.poll()
        poll.register(self._wakeup.descriptor, select.POLLIN)
        poll.register(self._setting.lifeline, select.POLLRDHUP)
        while True:
            happened = dict(poll.poll())
            host_gone = bool(happened.get(self._setting.lifeline, 0) & GONE)
            if host_gone:
                self._incidents.host_death()
            status = self._inner_status(PATIENCE_S if host_gone else 0)
            if status is None and not host_gone:
                continue
            return self._leave(status)

    def _inner_status(self, patience: float) -> int | None:
        """Returns how the inner guard ended, or `None` if it has not within so many seconds."""
        until = time.monotonic() + patience
        while True:
            self._wakeup.clear()
            pid, status = os.waitpid(self._inner, os.WNOHANG)
            if pid != 0:
                return os.waitstatus_to_exitcode(status)
            left = until - time.monotonic()
            if left <= 0:
                return None
            self._wakeup.wait(left)

    def _leave(self, status: int | None) -> int:
        kill_until_none(
            self._wakeup, self._killed, self._inner if status is None else None
        )
        if status is not None and status >= 0 and status != FAILED:
            return status
        if self._host_gone():
            if not self._incidents.began:
                self._incidents.host_death()
            self._incidents.settled()
            self._incidents.write()
            return HOST_GONE
        return TWIN_GONE

    def _host_gone(self) -> bool:
        poll = select.poll()
        poll.register(self._setting.lifeline, select.POLLRDHUP)
        return bool(poll.poll(0))

    def _killed(self, step: Step) -> None:
        if step.process.pid != self._inner:
            self._incidents.process_killed(step.process.pid, None)
