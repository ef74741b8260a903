"""Does it matter who kills many processes? Kills N idle Python processes in three ways.

    python/.venv/bin/python bench/experiments/end_many.py 50

`lifeline`: the kernel signals each process as its connection closes; `kill` and `pidfd`:
one loop sends the signals. Times are from the first signal until the last process is gone.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
IMPORTS = "import asyncio, inspect, msgpack, ssl, google.protobuf.message"
ARM = """
import fcntl, os, socket, sys
lifeline = socket.socket(socket.AF_UNIX)
lifeline.connect(sys.argv[1])
fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(lifeline, 10, 9)  # F_SETSIG, SIGKILL
fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
"""
WAIT = "print(1, flush=True); import time; time.sleep(600)"


def end(way: str, count: int, directory: str) -> float:
    """Returns how many milliseconds it took to end so many processes."""
    path = Path(directory, "lifeline")
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(count)
    program = "\n".join([ARM if way == "lifeline" else "", IMPORTS, WAIT])
    command = [sys.executable, "-c", program, str(path)]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(count)
    ]
    for process in processes:
        process.stdout.readline()
    lifelines = [listener.accept()[0] for _ in processes if way == "lifeline"]
    pidfds = [os.pidfd_open(process.pid) for process in processes]
    poll = select.poll()
    for pidfd in pidfds:
        poll.register(pidfd, select.POLLIN)
    began = time.monotonic()
    for lifeline in lifelines:
        lifeline.close()
    if way == "kill":
        for process in processes:
            os.kill(process.pid, signal.SIGKILL)
    if way == "pidfd":
        for pidfd in pidfds:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    left = len(pidfds)
    while left:
        for pidfd, _ in poll.poll():
            poll.unregister(pidfd)
            left -= 1
    took = time.monotonic() - began
    for process, pidfd in zip(processes, pidfds, strict=True):
        process.wait()
        process.stdout.close()
        os.close(pidfd)
    listener.close()
    return took * 1000


def main() -> None:
    """Prints the median, the minimum and the maximum of each way."""
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        for way in ("lifeline", "kill", "pidfd"):
            times = sorted(end(way, count, directory) for _ in range(ROUNDS))
            median, least, most = statistics.median(times), times[0], times[-1]
            print(f"{count} {way}: {median:.0f} ({least:.0f} - {most:.0f}) ms")


main()
