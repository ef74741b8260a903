"""How long a worker outlives its host: `python -m support.measure_lifeline`.

To be run in `python/tests`. Prints milliseconds from the SIGKILL of the host to
the death of the last process, worker and children.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 20
FORMS = ["idle", "busy", "holds_the_gil", "has_children", "stopped"]
TESTS = Path(__file__).parents[1]


def measure(form: str) -> float:
    """Returns the milliseconds of one round; infinity where something survives."""
    during = "idle" if form == "stopped" else form
    wanted = {
        "tools": str(TESTS / "tools" / "mortal.py"),
        "during": during,
        "stopped": form == "stopped",
    }
    read_end, write_end = os.pipe()
    host = subprocess.Popen(
        [sys.executable, "-m", "support.host_process", json.dumps(wanted)],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        pass_fds=[write_end],
    )
    os.close(write_end)
    assert host.stdout is not None
    facts = json.loads(host.stdout.readline())
    began = time.perf_counter()
    host.kill()
    ended = select.select([read_end], [], [], 3)[0]
    passed = (time.perf_counter() - began) * 1000
    host.communicate()
    os.close(read_end)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(facts["worker"], signal.SIGKILL)
    shutil.rmtree(facts["directory"])
    return passed if ended else float("inf")


def main() -> None:
    """Prints a table."""
    print(f"{'ms, ' + str(ROUNDS) + ' rounds':28}{'p50':>8}{'max':>8}")
    for form in FORMS:
        times = [measure(form) for _ in range(ROUNDS)]
        print(f"{form:28}{statistics.median(times):8.1f}{max(times):8.1f}")


if __name__ == "__main__":
    main()
