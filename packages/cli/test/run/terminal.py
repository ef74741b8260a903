"""Runs a program in a new terminal, types and waits as the steps say, and closes the terminal.

Arguments: the program as a JSON array, and the steps: ``["expect", REGEX]``, ``["type", TEXT]``,
``["resize", ROWS, COLUMNS]``. Prints what the terminal showed, and ends with 1 when something that
is expected does not appear in time. Standard error and descriptor 3 stay those of this program.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

DEADLINE_S = 20


def main() -> int:
    program, steps = (json.loads(argument) for argument in sys.argv[1:3])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(program[0], program)
    shown = ""
    seen = 0
    for step, *values in steps:
        if step == "type":
            os.write(terminal, values[0].encode())
        elif step == "resize":
            fcntl.ioctl(
                terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *values, 0, 0)
            )
        else:
            deadline = time.monotonic() + DEADLINE_S
            while (found := re.search(values[0], shown[seen:])) is None:
                ready, _, _ = select.select(
                    [terminal], [], [], max(0, deadline - time.monotonic())
                )
                if not ready:
                    print(shown + f"\n--- not shown in {DEADLINE_S} s: {values[0]}")
                    os.kill(pid, signal.SIGKILL)
                    return 1
                shown += os.read(terminal, 4096).decode(errors="replace")
            seen += found.end()
    os.close(terminal)
    # Its end is the hang-up's doing, not that of its parent's end.
    os.waitpid(pid, 0)
    print(shown)
    return 0


sys.exit(main())
