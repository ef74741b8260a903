"""The relay's parent on the node: ends everything when the relay or the Ray actor dies.

Keeper and relay are both subreapers, and each watches the other: whichever of them is
killed or stopped, the other ends all that is left.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys

from snakepit_bridge.boot import exit_status
from snakepit_bridge.cluster.certificates import SETUP_DESCRIPTOR, RelaySetup
from snakepit_bridge.cluster.descendants import become_subreaper, kill_descendants
from snakepit_bridge.cluster.hosted_worker import Directories
from snakepit_bridge.cluster.json_lines import MAX_LINE

USAGE = "usage: python -m snakepit_bridge relay    (started by a Ray actor only)\n"


def run_keeper(arguments: list[str]) -> int:
    """Runs until no process of the worker is left; returns the exit status."""
    line = b"" if arguments else _read_line(SETUP_DESCRIPTOR)
    if not line:
        sys.stderr.write(USAGE)
        return exit_status.WRONG_USAGE
    setup = RelaySetup(**json.loads(line))
    directories = Directories.make()
    become_subreaper()
    keeper = os.getpid()
    ours, theirs = socket.socketpair()
    try:
        if os.fork() == 0:
            ours.close()
            _run_relay(setup, directories, theirs, keeper)
        theirs.close()
        poller = select.poll()
        poller.register(SETUP_DESCRIPTOR, select.POLLIN)
        poller.register(ours, select.POLLIN)
        poller.poll()
    finally:
        kill_descendants()
        directories.remove()
    return exit_status.LEFT


def _run_relay(
    setup: RelaySetup, directories: Directories, connection: socket.socket, keeper: int
) -> None:
    status = exit_status.FAILED
    try:
        become_subreaper()
        from snakepit_bridge.cluster.relay import Relay

        Relay(setup, directories, connection).run()
        status = exit_status.LEFT
    except Exception:  # noqa: BLE001 - it is the last frame of this process
        sys.excepthook(*sys.exc_info())
    finally:
        kill_descendants()
        # The keeper may be gone.
        directories.remove()
        if os.getppid() == keeper:
            # The relay may be stopped, and would never notice that nothing is left to
            # do.
            os.kill(keeper, signal.SIGCONT)
        os._exit(status)


def _read_line(descriptor: int) -> bytes:
    """Returns a line; nothing if it ends before, or is too long."""
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(descriptor, MAX_LINE)
        if not data or len(line) > MAX_LINE:
            return b""
        line += data
    return line
