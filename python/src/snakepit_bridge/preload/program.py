"""`python -m snakepit_bridge preload`: a preloaded parent, from its start to its end."""

from __future__ import annotations

import gc
import platform
import signal
import sys

from snakepit_bridge._version import NEWEST_PROTOCOL, __version__
from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import (
    DESCRIPTOR,
    ControlChannel,
    HostGone,
    LaunchInvalid,
    StartFailed,
)
from snakepit_bridge.boot.lifeline import Lifeline
from snakepit_bridge.boot.process_setup import (
    write_stacks_no_more,
    write_stacks_when_asked,
)
from snakepit_bridge.boot.worker import INHERIT, check_versions, report
from snakepit_bridge.preload.launch import PreloadLaunch


def run_preload(arguments: list[str]) -> int:
    """Runs a preloaded parent; returns its exit status. In a forked worker it never returns."""
    if len(arguments) != 2 or arguments[0] != "--run-id":
        sys.stderr.write("usage: python -m snakepit_bridge preload --run-id RUNID\n")
        return exit_status.WRONG_USAGE
    try:
        channel = ControlChannel()
    except OSError:
        sys.stderr.write(
            "A preloaded parent is started by a Snakepit host, which talks to it over "
            f"file descriptor 3.\n{INHERIT}"
        )
        return exit_status.WRONG_USAGE
    try:
        _run(channel, arguments[1])
    except HostGone:
        return exit_status.HOST_GONE
    except StartFailed as failure:
        report(channel, failure)
        return exit_status.FAILED
    return exit_status.LEFT


def _run(channel: ControlChannel, run_id: str) -> None:
    try:
        launch = PreloadLaunch(channel.read_launch_message())
    except LaunchInvalid as error:
        raise StartFailed(
            "LAUNCH_INVALID", f"the launch message cannot be used: {error}"
        ) from None
    lifeline = Lifeline(launch.lifeline)
    launch.read(run_id)
    check_versions(launch)
    if sys.platform != "linux":
        raise StartFailed(
            "FORK_UNSAFE_PLATFORM",
            f"on {sys.platform} a process that has imported system libraries must not "
            "be forked",
        )
    # The host asks where imports hang that take too long.
    write_stacks_when_asked()
    kept = _import_all(launch)
    write_stacks_no_more()
    # From here on the imports' own ideas of an end do not count.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from snakepit_bridge.preload.parent import PreloadedParent

    parent = PreloadedParent(DESCRIPTOR, launch.socket, launch.host_pid, kept)
    gc.collect()
    gc.freeze()  # What all have stays shared.
    channel.ready(
        {
            "protocol": min(NEWEST_PROTOCOL, launch.newest_protocol),
            "bridge": __version__,
            "python": platform.python_version(),
            "lifeline": lifeline.mode,
        }
    )
    parent.run()


def _import_all(launch: PreloadLaunch) -> frozenset[int]:
    """Imports, and looks whether that allows a fork; returns the descriptors that imports opened."""
    from snakepit_bridge.preload.fork_safety import judge, look, open_descriptors
    from snakepit_bridge.preload.imports import preload

    before = open_descriptors()
    preload(launch)
    facts, opened = look(before)
    unsafe = judge(facts)
    if unsafe is not None:
        raise StartFailed(unsafe.code, unsafe.message)
    return opened
