"""A worker whose children do nothing but fork and end: `leaves` their group, or `stays`.

At no moment is the same process alive for long.
"""

import os
import signal
import sys


def main() -> None:
    leaves = sys.argv[1] == "leaves"
    print(os.getpid(), flush=True)
    for _ in range(2):
        if os.fork() == 0:
            breed(leaves)
    while True:
        signal.pause()


def breed(leaves: bool) -> None:
    while True:
        if os.fork() != 0:
            os._exit(0)
        if leaves:
            os.setsid()


main()
