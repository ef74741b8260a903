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

_LAST_PID = "/proc/sys/kernel/ns_last_pid"
_ATTEMPTS = 500
_SUBREAPER = 36

# Those of a leader that has ended become children of this process.
ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
if os.readlink("/proc/self") != str(os.getpid()):
    sys.exit("/proc is of another pid namespace")

strangers: list[int] = []
made = 0


def fork_as(number: int) -> int:
    """Forks a child with this pid; 0 when somebody has it."""
    for _ in range(_ATTEMPTS):
        with open(_LAST_PID, "w") as last:
            last.write(str(number - 1))
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            if os.getpid() == number:
                os.setsid()
                os.write(told, b"+")
                signal.pause()
            os._exit(0)
        os.close(told)
        there = os.read(ready, 1)
        os.close(ready)
        if there:
            return pid
        os.waitpid(pid, 0)
        if os.path.exists(f"/proc/{number}"):
            return 0
    return 0


def fork_member_of(number: int) -> int:
    """Leaves one member of a group whose leader had this pid and has ended."""
    for _ in range(_ATTEMPTS):
        with open(_LAST_PID, "w") as last:
            last.write(str(number - 1))
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            if os.getpid() == number:
                os.setsid()
                member = os.fork()
                if member == 0:
                    signal.pause()
                os.write(told, str(member).encode())
            os._exit(0)
        os.close(told)
        member = os.read(ready, 16)
        os.close(ready)
        os.waitpid(pid, 0)
        if member:
            return int(member)
        if os.path.exists(f"/proc/{number}"):
            return 0
    return 0


def take(numbers: list[int]) -> list[int]:
    global made
    taken = []
    for number in numbers:
        made += 1
        stranger = fork_as(number) if made % 2 else fork_member_of(number)
        if stranger:
            strangers.append(stranger)
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
