"""Measures what a chain of guards costs: `python -m support.measure_guard_costs [ROUNDS]`.

Start: from the spawn to the message that it is ready. Memory: the proportional set sizes
of its processes. Kill: from the end of the lifeline to the exit of the outer guard, which
is when the kernel reports that nothing is left below it.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from support.guard_host import GuardHost

WORKERS = 50


def pss_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise ValueError(f"no Pss of {pid}")


def cpu_ms() -> float:
    """The processor time of this process's children that have ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000


def measure(directory: Path) -> dict[str, float]:
    begun = time.monotonic()
    host = GuardHost(directory)
    ready = time.monotonic()
    memory = sum(pss_kib(guard.pid) for guard in host.guards)
    for _ in range(WORKERS):
        host.start(["sleep", "1000"])
    killed = time.monotonic()
    host.die()
    host.exit_status()
    settled = time.monotonic()
    host.close()
    return {
        "start, ms": (ready - begun) * 1000,
        "memory, KiB": memory,
        f"kill of {WORKERS}, ms": (settled - killed) * 1000,
    }


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    seen: dict[str, list[float]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="snakepit-") as directory:
            for what, value in measure(Path(directory)).items():
                seen.setdefault(what, []).append(value)
    load = os.getloadavg()[0]
    for what, values in seen.items():
        print(
            f"{what}: median {statistics.median(values):.1f}, "
            f"min {min(values):.1f}, max {max(values):.1f}, of {rounds} (load {load:.0f})"
        )
    print(f"processor time of a round, ms: {cpu_ms() / rounds:.1f}")


if __name__ == "__main__":
    main()
