"""An editor attaches to this worker, through debugpy."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from snakepit_bridge.boot.control_channel import StartFailed

__all__ = ["listen_for_editor"]

_LOOPBACK = "127.0.0.1"


def listen_for_editor() -> tuple[Callable[..., None], Callable[[], None]]:
    """Listens on a random port of the loopback.

    Returns what stops its caller, and what ends the debugger.

    debugpy is part of this process then, and not a daemon that survives it.

    Raises:
        StartFailed: debugpy is not installed, or does not say where it listens.
    """
    try:
        import debugpy
    except ImportError as error:
        raise _unusable(f"debugpy cannot be imported: {error}") from None
    address = debugpy.listen((_LOOPBACK, 0), in_process_debug_adapter=True)
    if address is None:
        raise _unusable(f"debugpy {debugpy.__version__} does not say where it listens")
    # debugpy brings it along.
    import pydevd

    _say(
        f"debugpy listens on {_LOOPBACK}:{address[1]}, for process {os.getpid()}. Any "
        "user of this machine can connect and run code. For VS Code, in launch.json: "
        + json.dumps(
            {
                "name": "Worker",
                "type": "debugpy",
                "request": "attach",
                "connect": {"host": _LOOPBACK, "port": address[1]},
            }
        )
    )

    def stop(*_args: object, **_named: object) -> None:
        if not debugpy.is_client_connected():
            _say(f"breakpoint(): process {os.getpid()} waits for an editor")
            debugpy.wait_for_client()
        pydevd.settrace(
            suspend=True,
            trace_only_current_thread=True,
            patch_multiprocessing=False,
            stop_at_frame=sys._getframe(1),
        )

    def end() -> None:
        # Once an editor has left, one of its threads would keep this process for ever.
        debugger = pydevd.get_global_debugger()
        if debugger is not None:
            debugger.dispose_and_kill_all_pydevd_threads()

    return stop, end


def _unusable(problem: str) -> StartFailed:
    install = f"{sys.executable} -m pip install --upgrade debugpy"
    return StartFailed("DEBUGGER_UNUSABLE", problem, install)


def _say(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)
