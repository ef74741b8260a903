"""What a preloaded parent imports."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import traceback

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.boot.worker import check_dependencies
from snakepit_bridge.preload.launch import PreloadLaunch
from snakepit_bridge.tools.loading import keep_file

_BRIDGE = ("snakepit_bridge.bridge.worker",)
_WIRINGS = {
    "grpc": "snakepit_bridge.bridge.grpc_transport.wiring",
    "framed": "snakepit_bridge.bridge.framed_transport.wiring",
}


def preload(launch: PreloadLaunch) -> None:
    """Imports the bridge, the named modules, and the tools where that is asked for.

    Raises:
        StartFailed: `BRIDGE_MISSING`, or `PRELOAD_FAILED` where one raises.
    """
    check_dependencies(launch.transport)
    for name in (*_BRIDGE, _WIRINGS[launch.transport]):
        importlib.import_module(name)
    with contextlib.suppress(Exception):  # A worker says what is wrong with it.
        if importlib.util.find_spec("opentelemetry.trace") is not None:
            importlib.import_module("snakepit_bridge.telemetry.otel_tracing")
    from snakepit_bridge.bridge.log_forwarding import set_up_logging

    set_up_logging(launch.log_level)
    sys.path[:0] = launch.tool_path
    for name in launch.modules:
        _import(name)
    if launch.imports_tools:
        if launch.tools_module is not None:
            _import(launch.tools_module)
        else:
            _keep(launch.tools_file or "")


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except BaseException as error:
        raise _failed(name, error) from error


def _keep(path: str) -> None:
    try:
        keep_file(path)
    except BaseException as error:
        raise _failed(path, error) from error


def _failed(what: str, error: BaseException) -> StartFailed:
    return StartFailed(
        "PRELOAD_FAILED",
        f"{what} cannot be imported: {type(error).__name__}: {error}",
        traceback.format_exc(),
    )
