"""What the guard did while no host lived, for the next start of a program to tell.

One JSON object per line, with the names and fields of the events that it becomes.
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_guard.kill_order import Step
    from snakepit_guard.process_table import Process

# A fork loop may leave thousands: they are counted, not all named.
MAX_PROCESSES = 256


class Incidents:
    """A file of the run directory that is only written where there is something to tell.

    Several guards may write, each what it did: whoever reads joins what it finds twice.
    What is known is written before there is more, for a guard can be killed as well.
    """

    def __init__(self, path: str, run_id: str) -> None:
        self._path = path
        self._run_id = run_id
        self._lines: list[str] = []
        self._killed = 0
        self._began: float | None = None

    @property
    def began(self) -> bool:
        """Whether the host's death is known."""
        return self._began is not None

    @property
    def killed(self) -> int:
        """How many processes were killed."""
        return self._killed

    def host_death(self) -> None:
        """The host is gone; from here on time is counted."""
        self._began = time.monotonic()
        self._add("protection.host_death_detected", pid=os.getpid())

    def process_killed(self, step: Step, label: str | None) -> None:
        """A process that lived was sent its SIGKILL.

        Args:
            step: The process, and what it hung on: whoever reads that has the record,
                and knows also a worker that somebody else has forked.
            label: What the host calls the child of the guard from which it descends.
        """
        self._killed += 1
        if self._killed > MAX_PROCESSES:
            return
        known: dict[str, object] = {} if label is None else {"incarnation": label}
        if step.below:
            known["below"] = [_named(process) for process in step.below]
        self._add(
            "protection.process_killed",
            **_named(step.process),
            **known,
            foundBy="descent",
            signal="SIGKILL",
        )

    def settled(self) -> None:
        """Nothing is left: writes the rest, if there was a death to tell."""
        if self._began is None:
            return
        duration = (time.monotonic() - self._began) * 1000
        self._add(
            "protection.run_settled",
            killed=self._killed,
            durationMs=round(duration, 3),
        )
        self.write()

    def write(self) -> None:
        """Appends what is new, once the host's death is known; a directory that is gone
        already wants to know nothing."""
        if self._began is None:
            return
        text = "".join(self._lines)
        self._lines = []
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(self._path, flags, 0o600)
        except OSError:
            return
        try:
            os.write(file, text.encode())
        except OSError:
            pass  # A full disk: the killing matters more.
        finally:
            os.close(file)

    def _add(self, type: str, **fields: object) -> None:
        event: dict[str, object] = {
            "type": type,
            "wallMs": round(time.time() * 1000),
            "protection": "guard",
            "ofRun": self._run_id,
            **fields,
        }
        self._lines.append(json.dumps(event, separators=(",", ":")) + "\n")


def _named(process: Process) -> dict[str, object]:
    return {"pid": process.pid, "startTime": str(process.start)}
