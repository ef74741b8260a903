"""`python -m snakepit_bridge preload`: imports once what all workers need, then forks
workers for the host.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import select
import signal
import sys
from collections.abc import Callable

from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import (
    DESCRIPTOR,
    ControlChannel,
    LaunchInvalid,
    StartFailed,
)
from snakepit_bridge.boot.first_steps import (
    check_versions,
    import_bridge,
    read_launch,
    run_started,
)
from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.boot.lifeline import Lifeline
from snakepit_bridge.boot.process_setup import (
    note_what_it_names,
    write_stacks_no_more,
    write_stacks_when_asked,
)
from snakepit_bridge.own_imports import import_late, isolated, make_way
from snakepit_bridge.telemetry.find_tracing import is_requested
from snakepit_bridge.tools.loading import keep_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.preload.inherited_files import OpenFile


# The modules of the standard library that numerical libraries import: a sixth of
# `import numpy`. None of them starts a thread or opens a file.
FOR_LIBRARIES = (
    "ctypes",
    "dataclasses",
    "inspect",
    "json",
    "numbers",
    "pathlib",
    "pickle",
    "platform",
    # For the last numpy that runs on Python 3.10.
    "textwrap",
)


def preload(
    launch: PreloadLaunch, imported: Callable[[str], None] = lambda _name: None
) -> None:
    """Imports the bridge, the named modules, and the tools if the host asks for it.

    Args:
        launch: The host's wishes.
        imported: Called after each import that the host asks for.

    Raises:
        StartFailed: `BRIDGE_MISSING`, or `PRELOAD_FAILED` where one raises.
    """
    import_bridge(launch.transport)
    for is_done in import_late():
        if not is_done:
            break
    # For asynchronous tools.
    importlib.import_module("snakepit_bridge.threads.tool_loop")
    for name in FOR_LIBRARIES:
        # Python may be built without `ctypes`.
        with contextlib.suppress(ImportError), isolated(imports=True):
            importlib.import_module(name)
    with contextlib.suppress(Exception):  # Each worker reports the error itself.
        if is_requested() and importlib.util.find_spec("opentelemetry.trace"):
            importlib.import_module("snakepit_bridge.telemetry.otel_tracing")
    from snakepit_bridge.bridge.log_forwarding import set_up_logging

    set_up_logging(launch.log_level)
    sys.path[:0] = launch.tool_path
    make_way()
    for name in launch.modules:
        _import(name)
        imported(name)
    if launch.imports_tools:
        for source in launch.tools:
            if source.module is not None:
                _import(source.module)
            else:
                _import(source.origin, keep_file)
            imported(source.module or source.origin)


def _import(name: str, by: Callable[[str], object] = importlib.import_module) -> None:
    try:
        by(name)
    except BaseException as error:
        from snakepit_bridge.failures.python_error import error_summary, formatted

        raise StartFailed(
            "PRELOAD_FAILED",
            f"{name} cannot be imported: {error_summary(error)}",
            formatted(error, error.__traceback__),
        ) from error


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
    channel.ready_for(launch.newest_protocol, lifeline.mode)
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
