"""What the guard did while no host lived; the next start of a program reports it.

One JSON object per line, with the name and the fields of the event that it becomes.
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_guard.kill_order import Step
    from snakepit_guard.process_table import Process

# A fork loop may leave thousands: all are counted, but not all are named.
MAX_PROCESSES = 256


class Incidents:
    """A file in the run directory, written only if there is something to report.

    Several guards may write, each what it did: the reader joins duplicates. Incidents
    are written early, since a guard can be killed as well.
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
        """Records the host's death, and begins to measure time."""
        self._began = time.monotonic()
        self._add("protection.host_death_detected", pid=os.getpid())

    def process_killed(self, step: Step, label: str | None) -> None:
        """Records that a living process was sent SIGKILL.

        Args:
            step: The process and its ancestors. The reader has the records, and so knows
                also a worker that was forked by another process than the guard.
            label: The host's name for the guard's child from which it descends.
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
        """Nothing is left: writes the rest, if the host died."""
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
        """Appends what is new, once the host's death is known; does nothing if the
        directory is gone already."""
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
            pass  # The disk is full; killing matters more.
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
