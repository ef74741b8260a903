"""A worker's first steps, in the order of docs/bridge-protocol.md, section 1."""

from __future__ import annotations

import gc
import importlib
import os
import sys

from snakepit_bridge._version import NEWEST_PROTOCOL, OLDEST_PROTOCOL, __version__
from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import (
    ControlChannel,
    HostGone,
    LaunchInvalid,
    StartFailed,
)
from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.boot.lifeline import Lifeline
from snakepit_bridge.boot.process_setup import (
    note_what_it_names,
    set_up_process,
)
from snakepit_bridge.own_imports import isolate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from typing import TypeVar

    _Launch = TypeVar("_Launch", bound=Launch)

OLDEST_PYTHON = (3, 10)
GRPC_FORK_SUPPORT = "GRPC_ENABLE_FORK_SUPPORT"


def run_worker(arguments: list[str], tied: Callable[[], None] = lambda: None) -> int:
    """Runs a worker from its first step to its last; returns the exit status.

    Args:
        arguments: `--run-id RUNID`.
        tied: Called when the worker's life is tied to the host's.
    """

    def run(channel: ControlChannel, run_id: str) -> int:
        launch = read_launch(channel, Launch)
        lifeline = Lifeline(launch.lifeline)
        tied()
        set_up_process()
        note_what_it_names(launch.lifeline)
        launch.read(run_id)
        check_versions(launch)
        import_bridge(launch.transport)
        from snakepit_bridge.bridge.serving import work

        return work(channel, lifeline, launch)

    return run_started("worker", "A worker", arguments, run)


def run_started(
    command: str,
    program: str,
    arguments: list[str],
    run: Callable[[ControlChannel, str], int],
) -> int:
    """Runs a program that a host started, and reports to the host if it cannot start.

    Args:
        command: As on the command line.
        what: The program, in words.
        arguments: `--run-id RUNID`.
        run: Given the control channel and the run id; returns the exit status.
    """
    if len(arguments) != 2 or arguments[0] != "--run-id":
        sys.stderr.write(f"usage: python -m snakepit_bridge {command} --run-id RUNID\n")
        return exit_status.WRONG_USAGE
    try:
        channel = ControlChannel()
    except OSError:
        sys.stderr.write(
            f"{program} is started by a Snakepit host, which talks to it over file "
            "descriptor 3.\nA wrapper must run Python with exec, or keep "
            "descriptor 3 open for it.\nTo try one tool alone: "
            "python -m snakepit_bridge call FILE_OR_MODULE TOOL\n"
        )
        return exit_status.WRONG_USAGE
    try:
        return run(channel, arguments[1])
    except HostGone:
        return exit_status.HOST_GONE
    except StartFailed as failure:
        _report(channel, failure)
        return exit_status.FAILED


def read_launch(channel: ControlChannel, kind: Callable[..., _Launch]) -> _Launch:
    """Reads the launch message, as far as it is needed before the lifeline.

    Raises:
        HostGone: The host died first.
        StartFailed: It is not a launch message.
    """
    try:
        return kind(channel.read_launch_message())
    except LaunchInvalid as error:
        raise StartFailed(
            "LAUNCH_INVALID", f"the launch message cannot be used: {error}"
        ) from None


def check_versions(launch: Launch) -> None:
    """Raises `StartFailed` if Python is too old or no protocol version is shared."""
    if sys.version_info < OLDEST_PYTHON:
        raise StartFailed(
            "PYTHON_TOO_OLD",
            f"{sys.executable} is Python {sys.version.split()[0]}; "
            f"snakepit-bridge needs {'.'.join(map(str, OLDEST_PYTHON))} or newer",
        )
    if (
        launch.oldest_protocol > NEWEST_PROTOCOL
        or launch.newest_protocol < OLDEST_PROTOCOL
    ):
        behind = "bridge" if launch.oldest_protocol > NEWEST_PROTOCOL else "host"
        remedy = (
            f"update snakepit-bridge in the environment of {sys.executable}"
            if behind == "bridge"
            else f"update {launch.host_package}"
        )
        raise StartFailed(
            "PROTOCOL_MISMATCH",
            f"{launch.host_package} supports the bridge protocols "
            f"{launch.oldest_protocol} to {launch.newest_protocol}, snakepit-bridge "
            f"{__version__} supports {OLDEST_PROTOCOL} to {NEWEST_PROTOCOL}; {remedy}",
        )


TRANSPORTS = {
    "grpc": "snakepit_bridge.bridge.grpc_transport.server",
    "framed": "snakepit_bridge.bridge.framed_transport.server",
}
UNPUBLISHED = "0.0.0"
DEPENDENCIES = {
    "grpc": (
        "grpc.aio",
        "msgpack",
        "snakepit_bridge.bridge.grpc_transport._gen.bridge_pb2",
    ),
    "framed": ("msgpack",),
}
WITHOUT_GRPC = (
    'In a pythonEnvironment(), list "snakepit-bridge[grpc]". '
    "python() of @snakepit/adapter-python needs no gRPC."
)


def import_bridge(transport: str) -> None:
    """Imports what a worker needs before it imports its tools.

    Imports leave almost no garbage, and searching for it again and again takes a tenth
    of a worker's start. The imported modules stay, so they are never searched later.

    Raises:
        StartFailed: see `check_dependencies`.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        check_dependencies(transport)
        for name in ("snakepit_bridge.bridge.serving", TRANSPORTS[transport]):
            importlib.import_module(name)
        # What is imported from here on comes with the code of the tools.
        isolate()
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


def _clone_note(extra: str) -> str:
    """Says where the bridge is if it was never published; empty for a release."""
    return (
        "(This build of Snakepit was not published: install "
        f'"CLONE/python{extra}" instead, where CLONE is the clone of its repository.)\n'
        if __version__ == UNPUBLISHED
        else ""
    )


def check_dependencies(transport: str) -> None:
    """Imports what a transport needs; raises `StartFailed` if it is not installed."""
    # gRPC's fork handlers give up while a thread is inside gRPC, as the bridge's thread
    # always is: they print a line to stderr, and sometimes the child dies of SIGSEGV.
    # The variable is read at import; programs that tools start inherit its old value.
    before = os.environ.get(GRPC_FORK_SUPPORT)
    os.environ[GRPC_FORK_SUPPORT] = "0"
    try:
        for name in DEPENDENCIES[transport]:
            module = importlib.import_module(name)
            _check_readable(name, module.__spec__)
    except Exception as error:  # noqa: BLE001 - protobuf has its own about versions
        install = f"{sys.executable} -m pip install --upgrade"
        raise StartFailed(
            "BRIDGE_MISSING",
            f"the bridge cannot be imported: {type(error).__name__}: {error}",
            f'{install} "snakepit-bridge[grpc]"\n{_clone_note("[grpc]")}{WITHOUT_GRPC}'
            if transport == "grpc"
            else f"{install} snakepit-bridge\n{_clone_note('')}".rstrip(),
        ) from None
    finally:
        del os.environ[GRPC_FORK_SUPPORT]
        if before is not None:
            os.environ[GRPC_FORK_SUPPORT] = before


def _check_readable(name: str, spec: ModuleSpec | None) -> None:
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}")
    # Python turns a directory that it may not read into an empty package.
    if not spec.has_location:
        paths = ", ".join(spec.submodule_search_locations or ())
        raise ImportError(f"{name} has no code that can be read ({paths})")


def _report(channel: ControlChannel, failure: StartFailed) -> None:
    """Reports to the host why the worker cannot start."""
    try:
        channel.failed(failure)
    except OSError:
        # The tools closed the channel, or the host has ended: only stderr is left.
        sys.stderr.write(f"{failure.code}: {failure.message}\n{failure.detail}\n")
