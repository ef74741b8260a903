"""The lifeline: the host's death ends this process, and its process group.

The host listens on a private socket. This process connects to it twice and never sends
anything. The host's death closes both connections. On Linux, the kernel itself then
sends SIGKILL to the process group, even if Python is stuck or stopped; elsewhere, a
thread waits for the same event.

Nothing here is undone in a child that user code forks: it shares the open file
descriptions, and while any process holds them, they stay armed for the worker's group.
A child that armed them again would redirect the signal to itself.
"""

from __future__ import annotations

import _socket as socket  # Sufficient here: `socket` is one of the slowest imports.
import _thread
import fcntl
import os
import select
import struct
import sys

from snakepit_bridge.boot import exit_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    # Without the enumerations of `signal`, which take longer to create than everything
    # else here.
    import _signal as signal

# One connection can miss a child that is forked while the group is being killed: it is
# not in the group yet when the first signal is sent.
CONNECTIONS = 2
SET_SIGNAL = getattr(fcntl, "F_SETSIG", 10)
# A flag in /proc/PID/stat: the process is exiting.
EXITING = 0x4
# The value of SO_PEERCRED: pid, user, group.
PEER = struct.Struct("iII")
ENDED = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL


class Lifeline:
    """Ties this process to its host for life.

    Its descriptors do not belong to an object: an interpreter that ends closes the
    descriptors of its objects, and may then still need a long time to free large
    modules.

    Attributes:
        mode: what watches: `kernel` or `thread`.
    """

    def __init__(self, path: str) -> None:
        """Connects and arms; ends this process if the host is gone."""
        self._descriptors = [_connect(path) for _ in range(CONNECTIONS)]
        self._inodes = [os.fstat(fd).st_ino for fd in self._descriptors]
        armed = sys.platform == "linux" and all(map(_arm, self._descriptors))
        self.mode = "kernel" if armed else "thread"
        # The host may have died between the connection and the arming.
        if self.ended():
            end_group()
        if not armed:
            _thread.start_new_thread(_watch, (self._descriptors,))

    def ended(self) -> bool:
        """Returns whether the host is gone, or is exiting.

        The kernel closes a dead host's descriptors one after another, usually the
        lifelines last: the conversation may have ended before them.
        """
        if _poller(self._descriptors).poll(0):
            return True
        return any(map(peer_exits, self._descriptors))

    def intact(self) -> bool:
        """Returns whether the descriptors are still the same; user code may close
        them.
        """
        try:
            inodes = [os.fstat(fd).st_ino for fd in self._descriptors]
        except OSError:
            return False
        return inodes == self._inodes


def end_group() -> None:
    """Kills the process group, or only this process if it does not lead its group."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _connect(path: str) -> int:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError as error:
        sys.stderr.write(
            f"snakepit-bridge: the host is gone: lifeline {path}: {error}\n"
        )
        sys.stderr.flush()
        os._exit(exit_status.HOST_GONE)
    return connection.detach()


def _arm(connection: int) -> bool:
    """Asks the kernel to kill this process when anything happens on the connection."""
    owner = -os.getpid() if os.getpgrp() == os.getpid() else os.getpid()
    try:
        fcntl.fcntl(connection, fcntl.F_SETOWN, owner)
        fcntl.fcntl(connection, SET_SIGNAL, signal.SIGKILL)
        flags = fcntl.fcntl(connection, fcntl.F_GETFL)
        fcntl.fcntl(connection, fcntl.F_SETFL, flags | os.O_ASYNC)
        return bool(fcntl.fcntl(connection, fcntl.F_GETFL) & os.O_ASYNC)
    except (OSError, AttributeError):
        return False


def peer_exits(connection: int) -> bool:
    """Returns whether the process at the other end is ending, if the system shows
    it.
    """
    if sys.platform != "linux":
        return False
    try:
        peer = socket.socket(fileno=os.dup(connection))
        try:
            level, option = socket.SOL_SOCKET, socket.SO_PEERCRED
            pid, _, _ = PEER.unpack(peer.getsockopt(level, option, PEER.size))
        finally:
            peer.close()
        # The first one may have ended alone: a process lives as long as a thread does.
        threads = os.listdir(f"/proc/{pid}/task")
        return all(_exits(f"/proc/{pid}/task/{thread}") for thread in threads)
    except (OSError, ValueError, IndexError):
        return False


def _exits(thread: str) -> bool:
    try:
        with open(f"{thread}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return True
    fields = text[text.rfind(b")") + 2 :].split()
    return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & EXITING)


def _poller(connections: list[int]) -> select.poll:
    poller = select.poll()
    for connection in connections:
        poller.register(connection, select.POLLIN)
    return poller


def _watch(connections: list[int]) -> None:
    # Never a read: a blocked read would suppress the kernel's signal for the others.
    poller = _poller(connections)
    while not any(happened & ENDED for _, happened in poller.poll()):
        pass
    end_group()
