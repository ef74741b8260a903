"""One node of a Ray cluster for tests: starts it, adopts its processes, ends them all.

Argument: JSON with `ray` (the words of `ray start`), and `disk`: [ITS, SEEN], a
directory to mount where this node shall see another disk than its host does.
It prints one line when the node has joined, and ends the node when its standard
input ends. Beside the head it is the first process of a pid namespace, so that
the kernel ends the node with it: that is a machine without power.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading

PR_SET_CHILD_SUBREAPER = 36


def main(ray: list[str], disk: list[str]) -> None:
    if disk:
        subprocess.run(["mount", "--bind", *disk], check=True)
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("prctl failed: orphans of the node would be lost")
    done = subprocess.run(
        ray, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="", file=sys.stderr)
    else:
        print(json.dumps({"joined": True}), flush=True)
        threading.Thread(target=reap, daemon=True).start()
        sys.stdin.read()
    end_everything()
    sys.exit(done.returncode)


def reap() -> None:
    """Collects what Ray leaves to its parents."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def end_everything() -> None:
    """Kills children until none is left: what they leave becomes a child, too."""
    while True:
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def children() -> list[int]:
    own = f"/proc/self/task/{os.getpid()}/children"
    with open(own) as file:
        return [int(word) for word in file.read().split()]


main(**json.loads(sys.argv[1]))
