"""A worker with a tree: a child deaf to SIGTERM, and a daemon that cannot be found.

The daemon calls setsid, forks twice, clears its environment and closes everything.
"""

import os
import signal
import sys


def main() -> None:
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(write_end, b"%d\n" % os.getpid())
        wait_for_ever()
    # The child's pid is read before there is a daemon: their order is known to tests.
    child = read_pid(read_end)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            become_daemon(write_end)
        os._exit(0)
    os.wait()
    print(os.getpid(), child, read_pid(read_end), flush=True)
    wait_for_ever()


def read_pid(read_end: int) -> int:
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(read_end, 1)
    return int(line)


def become_daemon(write_end: int) -> None:
    script = (
        "import os, time\n"
        f"os.write({write_end}, b'%d\\n' % os.getpid())\n"
        "os.closerange(0, 100)\n"
        "while True: time.sleep(3600)\n"
    )
    os.set_inheritable(write_end, True)
    os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", script], {})


def wait_for_ever() -> None:
    while True:
        signal.pause()


main()
