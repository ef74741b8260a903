"""`python -m snakepit_bridge attach`: a person at a `breakpoint()` of a worker."""

from __future__ import annotations

import argparse
import os
import select
import socket
import sys

from snakepit_bridge.cli.command import INTERRUPTED

NO_WORKER = 69
_CHUNK = 65_536


def attach_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m snakepit_bridge attach",
        description="Connects this terminal to a worker that has stopped at a "
        "breakpoint(). Ctrl-D lets the worker continue alone.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "socket", help="the path that the worker printed on standard error"
    )
    path = parser.parse_args(arguments).socket
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as worker:
        try:
            worker.connect(path)
        except OSError as error:
            print(f"{path}: no worker listens there: {error}", file=sys.stderr)
            return NO_WORKER
        try:
            _converse(worker)
        except KeyboardInterrupt:
            return INTERRUPTED
        except ConnectionError:
            pass  # The worker has ended.
    return 0


def _converse(worker: socket.socket) -> None:
    """Returns when the worker has closed the connection, or a person pressed Ctrl-D.

    When standard input is no terminal, its end is no reason to leave: what the worker
    answers to the last line is still to come.
    """
    sources = [0, worker.fileno()]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if worker.fileno() in ready:
            data = worker.recv(_CHUNK)
            if not data:
                return
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        if 0 in ready:
            typed = os.read(0, _CHUNK)
            if typed:
                worker.sendall(typed)
            elif os.isatty(0):
                return
            else:
                sources.remove(0)
                worker.shutdown(socket.SHUT_WR)
