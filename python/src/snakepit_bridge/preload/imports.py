"""The imports of a preloaded parent."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.boot.worker import import_bridge
from snakepit_bridge.own_imports import import_late, isolated, make_way
from snakepit_bridge.telemetry.find_tracing import is_requested
from snakepit_bridge.tools.loading import keep_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.preload.program import PreloadLaunch


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
    for _ in import_late():
        pass
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
                _import(source.place, keep_file)
            imported(source.module or source.place)


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
