"""An outer guard: the parent of the next guard, in case that one is lost."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence

from snakepit_guard.exit_status import FAILED, HOST_GONE, TWIN_GONE
from snakepit_guard.incidents import Incidents
from snakepit_guard.inner import GONE
from snakepit_guard.kill_order import Step
from snakepit_guard.killing import kill_until_none, reap_all
from snakepit_guard.setting import Setting
from snakepit_guard.wakeup import Wakeup

# The inner guard knows the workers, and two guards that kill at once only compete for
# the processor. If the inner one is stopped or stuck, it does not finish in this time.
# Each guard further out waits longer by the same amount.
PATIENCE_S = 0.1


class OuterGuard:
    """Waits for the end of the host or of another guard, and kills what they leave."""

    def __init__(
        self,
        setting: Setting,
        inner: int,
        wakeup: Wakeup,
        above: Sequence[int],
        below: int,
    ) -> None:
        """Takes its place in the chain.

        Args:
            setting: The settings that the host gave the guards.
            inner: The next guard, a child of this process.
            wakeup: Notified when children end.
            above: Pipes that close when the guards further out are gone.
            below: How many guards there are further in.
        """
        self._setting = setting
        self._inner = inner
        self._above = above
        self._patience = PATIENCE_S * below
        self._wakeup = wakeup
        self._session = os.getsid(0)
        self._incidents = Incidents(setting.incidents, setting.run_id)

    def run(self) -> int:
        """Serves until one of them ends; returns the exit status."""
        poll = select.poll()
        poll.register(self._wakeup.descriptor, select.POLLIN)
        poll.register(self._setting.lifeline, select.POLLRDHUP)
        for descriptor in self._above:
            poll.register(descriptor, 0)
        while True:
            happened = dict(poll.poll())
            gone = {each for each, events in happened.items() if events & GONE}
            over = bool(gone & {self._setting.lifeline, *self._above})
            if over:
                self._note_host_death()
            status = self._inner_status(self._patience if over else 0)
            if status is not None or over:
                return self._leave(status)

    def _inner_status(self, patience: float) -> int | None:
        """Returns the inner guard's exit status, or `None` if it does not end in this time."""
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
        self._note_host_death()
        kill_until_none(self._wakeup, self._killed, "workers")
        if not self._alone(self._patience):
            kill_until_none(self._wakeup, self._killed)
        if status is not None and status >= 0 and status != FAILED:
            return status
        self._note_host_death()
        self._incidents.settled()
        return HOST_GONE if self._incidents.began else TWIN_GONE

    def _alone(self, patience: float) -> bool:
        """Returns whether the guards further in end in this time, now that they have nothing
        left to do: each of them records best what it did."""
        until = time.monotonic() + patience
        while not reap_all():
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._wakeup.wait(left)
        return True

    def _note_host_death(self) -> None:
        poll = select.poll()
        poll.register(self._setting.lifeline, select.POLLRDHUP)
        if poll.poll(0) and not self._incidents.began:
            self._incidents.host_death()

    def _killed(self, steps: list[Step]) -> None:
        for step in steps:
            if step.process.session != self._session:
                self._incidents.process_killed(step, None)
        self._incidents.write()
