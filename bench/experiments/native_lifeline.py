"""What the native lifeline costs at a start, and how soon programs end with their host.

    python bench/experiments/native_lifeline.py BINARY [ROUNDS]

A host is a process that listens for lifelines and is killed by SIGKILL. Its programs are
busy loops and sleeps, each in a session of its own.
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

PROGRAMS = {"sleep": ["sleep", "1000"], "busy": ["sh", "-c", "while :; do :; done"]}
COUNT = 4
DEADLINE_S = 30


def main(binary: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "l")
        starts(binary, path, rounds)
        for name, program in PROGRAMS.items():
            taken = [gone_ms(binary, path, program) for _ in range(rounds // 10)]
            show(f"{COUNT} programs ({name}) are gone, ms", taken)


def starts(binary: str, path: str, rounds: int) -> None:
    """Compares the time from the spawn of `true` to its exit, in turns."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        listener.setblocking(False)
        plain, launched = [], []
        for _ in range(rounds):
            plain.append(run_ms(["true"]))
            launched.append(run_ms([binary, "lifeline", path, "--", "true"]))
            for _ in range(2):
                listener.accept()[0].close()
    os.unlink(path)
    show("start to exit, plain, ms", plain)
    show("start to exit, launched, ms", launched)


def run_ms(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True)
    return (time.perf_counter() - begun) * 1000


def gone_ms(binary: str, path: str, program: list[str]) -> float:
    """Kills a host; returns how long its programs lived after that."""
    read, write = os.pipe()
    host = os.fork()
    if host == 0:
        be_host(binary, path, program, write)
    os.close(write)
    with os.fdopen(read) as lines:
        pids = [int(pid) for pid in lines.readline().split()]
        watched = [os.pidfd_open(pid) for pid in pids]
        begun = time.perf_counter()
        os.kill(host, signal.SIGKILL)
        for descriptor in watched:
            wait_for(descriptor)
        taken = (time.perf_counter() - begun) * 1000
    for descriptor in watched:
        os.close(descriptor)
    os.waitpid(host, 0)
    os.unlink(path)
    return taken


def be_host(binary: str, path: str, program: list[str], write: int) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    command = [binary, "lifeline", path, "--", *program]
    children = [subprocess.Popen(command, start_new_session=True) for _ in range(COUNT)]
    held = [listener.accept()[0] for _ in range(2 * COUNT)]
    time.sleep(0.1)
    os.write(write, f"{' '.join(str(child.pid) for child in children)}\n".encode())
    while held:
        signal.pause()


def wait_for(descriptor: int) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    if not poller.poll(DEADLINE_S * 1000):
        sys.exit(f"Not gone after {DEADLINE_S} s")


def show(what: str, taken: list[float]) -> None:
    taken.sort()
    worst = taken[int(len(taken) * 0.99)]
    median = statistics.median(taken)
    print(f"{what}: median {median:.2f}, p99 {worst:.2f}, {len(taken)} rounds")


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200)
