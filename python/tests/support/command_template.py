"""A process that has the command line imported and forks for each command: to start
Python and to import takes ten times as long as most commands of a test."""

from __future__ import annotations

import atexit
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_LONGEST_REQUEST = 64 << 10


@functools.cache
def _template() -> socket.socket:
    """Starts it; it ends with this process, which has the other end of its connection."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def run_in_copy(
    arguments: tuple[str, ...],
    stdin: str,
    cwd: Path | None,
    *,
    errors_with_output: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Runs the command line to its end, in a copy of the template."""
    template = _template()
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        given.write(stdin)
        given.seek(0)
        request = {"arguments": arguments, "cwd": str(cwd or Path.cwd())}
        errors = out if errors_with_output else err
        streams = [stream.fileno() for stream in (given, out, errors)]
        socket.send_fds(template, [json.dumps(request).encode()], streams)
        status = int(template.recv(16))
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(arguments, status, out.read(), err.read())


def _serve(connection: socket.socket) -> None:
    """Forks for each request, of which the copies do not return."""
    # What the tools of tests need, too.
    import asyncio  # noqa: F401
    import ipaddress  # noqa: F401

    import snakepit_bridge.cli.call
    import snakepit_bridge.cli.tools
    import snakepit_bridge.tools.annotations.records  # noqa: F401
    from snakepit_bridge.__main__ import main

    while True:
        data, streams, _, _ = socket.recv_fds(connection, _LONGEST_REQUEST, 3)
        if not data:
            return
        request = json.loads(data)
        child = os.fork()
        if child == 0:
            connection.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            os.chdir(request["cwd"])
            # As `python -m` has it.
            sys.path[0] = request["cwd"]
            sys.exit(main(request["arguments"]))
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as its_connection:
        _serve(its_connection)
