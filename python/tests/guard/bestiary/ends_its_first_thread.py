"""A worker, its child and its daemon, each of which runs on in another thread.

The first thread of each has ended: the state in /proc/PID/stat is that of a zombie.
"""

import ctypes
import os
import platform
import threading
from collections.abc import Callable
from pathlib import Path

# exit(2), which ends one thread only.
EXIT = {"x86_64": 60, "aarch64": 93}[platform.machine()]


def main() -> None:
    read_end, write_end = os.pipe()

    def report() -> None:
        wait_for_the_first_thread()
        os.write(write_end, b"%d\n" % os.getpid())
        wait_for_ever()

    def gather() -> None:
        wait_for_the_first_thread()
        pids = b""
        while pids.count(b"\n") < 2:
            pids += os.read(read_end, 100)
        print(os.getpid(), *map(int, pids.split()), flush=True)
        wait_for_ever()

    if os.fork() == 0:
        go_on_in_a_thread(report)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            go_on_in_a_thread(report)
        os._exit(0)
    os.wait()
    go_on_in_a_thread(gather)


def go_on_in_a_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work).start()
    ctypes.CDLL(None).syscall(EXIT, 0)


def wait_for_the_first_thread() -> None:
    state = ""
    while state != "Z":
        text = Path("/proc/self/stat").read_text()
        state = text[text.rindex(")") + 2]


def wait_for_ever() -> None:
    threading.Event().wait()


main()
