"""`python -m snakepit_bridge preload`: imports once what all workers need, then forks
workers for the host."""

from __future__ import annotations

import gc
import select
import signal
import sys

from snakepit_bridge._version import NEWEST_PROTOCOL, __version__
from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import (
    DESCRIPTOR,
    ControlChannel,
    LaunchInvalid,
    StartFailed,
)
from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.boot.lifeline import Lifeline
from snakepit_bridge.boot.process_setup import (
    write_stacks_no_more,
    write_stacks_when_asked,
)
from snakepit_bridge.boot.worker import check_versions, read_launch, run_started


class PreloadLaunch(Launch):
    """The launch message of a preloaded parent (docs/bridge-protocol.md, section 6).

    Attributes:
        modules: The names of modules to import.
        imports_tools: Whether the tools are imported, too.
        host_pid: The only process that may hand over descriptors.
    """

    def _read(self) -> None:
        super()._read()
        payload = self.payload
        modules = payload.get("modules")
        if not isinstance(modules, list):
            raise LaunchInvalid("payload.modules is not a list")
        self.modules = [str(name) for name in modules]
        self.imports_tools = payload.get("importTools") is True
        host_pid = payload.get("hostPid")
        if not isinstance(host_pid, int):
            raise LaunchInvalid(f"payload.hostPid is not a number: {host_pid!r}")
        self.host_pid = host_pid


def run_preload(arguments: list[str]) -> int:
    """Runs a preloaded parent; returns its exit status. In a forked worker it never returns."""
    return run_started("preload", "A preloaded parent", arguments, _run)


def _run(channel: ControlChannel, run_id: str) -> int:
    launch = read_launch(channel, PreloadLaunch)
    lifeline = Lifeline(launch.lifeline)
    launch.read(run_id)
    check_versions(launch)
    if sys.platform != "linux":
        raise StartFailed(
            "FORK_UNSAFE_PLATFORM",
            f"on {sys.platform} a process that has imported system libraries must not "
            "be forked",
        )
    # The host asks for the stacks of imports that take too long.
    write_stacks_when_asked()
    kept = _import_all(launch)
    write_stacks_no_more()
    # The imports' handlers for these signals are replaced from here on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from snakepit_bridge.forking.fork_server import ForkServer
    from snakepit_bridge.preload.forked_worker import ForkedWorker

    # Speaks the protocol for forks on the control channel, after the ready line.
    server = ForkServer(DESCRIPTOR, launch.socket, launch.host_pid, ForkedWorker, kept)
    gc.collect()
    gc.freeze()  # So that common pages stay shared.
    channel.ready(
        {
            "protocol": min(NEWEST_PROTOCOL, launch.newest_protocol),
            "bridge": __version__,
            "python": sys.version.split()[0],
            "lifeline": lifeline.mode,
        }
    )
    status = None
    while status is None:
        poll = select.poll()
        server.register(poll)
        status = server.serve(dict(poll.poll()))
    server.close()
    return exit_status.LEFT


def _import_all(launch: PreloadLaunch) -> frozenset[int]:
    """Imports, and checks whether a fork is safe; returns the descriptors that imports opened."""
    from snakepit_bridge.preload.fork_safety import judge, look, open_descriptors
    from snakepit_bridge.preload.imports import preload

    before = open_descriptors()
    preload(launch)
    facts, opened = look(before)
    unsafe = judge(facts)
    if unsafe is not None:
        raise unsafe
    return opened
