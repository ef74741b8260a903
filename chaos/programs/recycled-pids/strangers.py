"""Makes processes that have the pids of others which are gone; in a private pid namespace only.

Reads one JSON object a line and answers each with one:

- `{"take": [pid, ...]}`: makes a stranger for each pid that is free. Every second one
  leads its group; of each other one the leader has ended, and a member is left.
  Answers `{"taken": [pid, ...]}`.
- `{"spawn": n, "env": {...}}`: starts so many children that sleep, each the leader of a
  group. Answers `{"pids": [pid, ...]}`.
- `{"replace": [pid, ...]}`: kills such children, reaps them and takes their pids.
- `{"count": true}`: answers `{"killed": n}`, how many strangers were ended, and ends the rest.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable

_LAST_PID = "/proc/sys/kernel/ns_last_pid"
_ATTEMPTS = 500
_SUBREAPER = 36

# Those of a leader that has ended become children of this process.
ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
if os.readlink("/proc/self") != str(os.getpid()):
    sys.exit("/proc is of another pid namespace")

strangers: list[int] = []
made = 0


def fork_as(number: int, become: Callable[[int], None]) -> bytes:
    """Forks a child with this pid, in a session of its own. Returns what it writes; nothing when the pid is taken."""
    for _ in range(_ATTEMPTS):
        with open(_LAST_PID, "w") as last:
            last.write(str(number - 1))
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            if os.getpid() == number:
                os.setsid()
                become(writer)
            os._exit(0)
        os.close(writer)
        answer = os.read(reader, 16)
        os.close(reader)
        if answer != b"+":
            os.waitpid(pid, 0)
        if answer or os.path.exists(f"/proc/{number}"):
            return answer
    return b""


def stay(writer: int) -> None:
    os.write(writer, b"+")
    signal.pause()


def leave_a_member(writer: int) -> None:
    """Ends, and leaves a member of its group."""
    member = os.fork()
    if member == 0:
        signal.pause()
    os.write(writer, str(member).encode())


def take(numbers: list[int]) -> list[int]:
    global made
    taken = []
    for number in numbers:
        made += 1
        answer = fork_as(number, stay if made % 2 else leave_a_member)
        if answer:
            strangers.append(number if answer == b"+" else int(answer))
            taken.append(number)
    return taken


def spawn(count: int, env: dict[str, str]) -> list[int]:
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                os.execve("/bin/sleep", ["sleep", "1000"], env)
            finally:
                os._exit(1)
        pids.append(pid)
    return pids


def count() -> int:
    killed = 0
    for pid in strangers:
        if os.waitpid(pid, os.WNOHANG)[0]:
            killed += 1
            continue
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    strangers.clear()
    return killed


for line in sys.stdin:
    order = json.loads(line)
    if "take" in order:
        answer: object = {"taken": take(order["take"])}
    elif "spawn" in order:
        answer = {"pids": spawn(order["spawn"], order["env"])}
    elif "replace" in order:
        for each in order["replace"]:
            os.kill(each, signal.SIGKILL)
            os.waitpid(each, 0)
        answer = {"taken": take(order["replace"])}
    else:
        answer = {"killed": count()}
    print(json.dumps(answer), flush=True)
