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
    note_what_it_names,
    write_stacks_no_more,
    write_stacks_when_asked,
)
from snakepit_bridge.boot.worker import check_versions, read_launch, run_started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.preload.inherited_files import OpenFile


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
    note_what_it_names(launch.lifeline)
    kept, files = _import_all(launch)
    write_stacks_no_more()
    # The imports' handlers for these signals are replaced from here on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from snakepit_bridge.forking.fork_server import ForkServer
    from snakepit_bridge.preload.forked_worker import ForkedWorker

    # Speaks the protocol for forks on the control channel, after the ready line.
    server = ForkServer(
        DESCRIPTOR,
        launch.socket,
        launch.host_pid,
        lambda start: ForkedWorker(start, files),
        kept,
    )
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


def _import_all(launch: PreloadLaunch) -> tuple[frozenset[int], list[list[OpenFile]]]:
    """Imports, and checks whether a fork is safe.

    Returns:
        The descriptors that imports opened, and those of them that are files which each
        worker opens again.
    """
    from snakepit_bridge.preload.fork_safety import (
        judge,
        look,
        make_ready,
        open_descriptors,
    )
    from snakepit_bridge.preload.imports import preload

    before = open_descriptors()
    opened_by: dict[int, str] = {}

    def imported(name: str) -> None:
        for number in open_descriptors() - before:
            opened_by.setdefault(number, name)

    preload(launch, imported)
    gc.unfreeze()  # So that the search for what is unsafe sees all objects.
    facts, opened = look(before, opened_by)
    unsafe = judge(facts)
    if unsafe is not None:
        raise unsafe
    return opened, make_ready(facts)
