"""`python -m snakepit_bridge`: the worker, and a way to try one tool alone."""

from __future__ import annotations

import sys

USAGE = """\
usage: python -m snakepit_bridge call FILE_OR_MODULE TOOL [--json JSON] [NAME=VALUE ...]
       python -m snakepit_bridge tools FILE_OR_MODULE [--json]
       python -m snakepit_bridge types FILE_OR_MODULE [--output FILE | --check FILE]
       python -m snakepit_bridge attach SOCKET            (to a breakpoint() in a worker)
       python -m snakepit_bridge worker --run-id RUNID    (started by a host only)
       python -m snakepit_bridge preload --run-id RUNID   (started by a host only)
       python -m snakepit_bridge nodes [HOST:PORT]        (of a Ray cluster: are they fit?)
       python -m snakepit_bridge gateway --run-id RUNID   (started by a host only)
       python -m snakepit_bridge stand-in --run-id RUNID  (started by a host only)
       python -m snakepit_bridge --version
"""
WRONG_USAGE = 64
CLUSTER_COMMANDS = ("gateway", "nodes", "relay", "stand-in")


def main(arguments: list[str]) -> int:
    """Runs one command and returns the exit status.

    Only the parts of this package that the command needs are imported, and nothing here
    needs a current Python: the worker itself reports a Python that is too old.
    """
    command = arguments[0] if arguments else ""
    if command == "worker":
        from snakepit_bridge.boot.first_steps import run_worker

        return run_worker(arguments[1:])
    if command == "preload":
        from snakepit_bridge.preload.program import run_preload

        return run_preload(arguments[1:])
    if command in CLUSTER_COMMANDS:
        return _run_cluster_command(command, arguments[1:])
    if command == "call":
        from snakepit_bridge.cli.call import call_command

        return call_command(arguments[1:])
    if command == "tools":
        from snakepit_bridge.cli.tools import tools_command

        return tools_command(arguments[1:])
    if command == "types":
        from snakepit_bridge.cli.tools import types_command

        return types_command(arguments[1:])
    if command == "attach":
        from snakepit_bridge.cli.attach import attach_command

        return attach_command(arguments[1:])
    if command == "--version":
        from snakepit_bridge._version import __version__

        print(f"snakepit-bridge {__version__}")
        return 0
    if command in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    sys.stderr.write(USAGE)
    return WRONG_USAGE


def _run_cluster_command(command: str, arguments: list[str]) -> int:
    if command == "stand-in":
        from snakepit_bridge.cluster.stand_in import run_stand_in

        return run_stand_in(arguments)
    if command == "gateway":
        from snakepit_bridge.cluster.gateway_program import run_gateway

        return run_gateway(arguments)
    if command == "nodes":
        from snakepit_bridge.cluster.probe import run_probe

        return run_probe(arguments)
    from snakepit_bridge.cluster.keeper import run_keeper

    return run_keeper(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
