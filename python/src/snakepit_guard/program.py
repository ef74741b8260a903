"""The program: arms the outermost guard, forks the others, and runs them."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys

from snakepit_guard import arming
from snakepit_guard.exit_status import FAILED, UNAVAILABLE
from snakepit_guard.frames import encode_frame
from snakepit_guard.inner import InnerGuard
from snakepit_guard.outer import OuterGuard
from snakepit_guard.process_table import look
from snakepit_guard.setting import Setting, parse_arguments
from snakepit_guard.wakeup import Wakeup

# If two guards are killed at the same instant, one is left.
OUTER_GUARDS = 2

USAGE = "usage: snakepit_guard --inspect | --socket PATH --incidents PATH --run-id ID\n"


def main(arguments: list[str]) -> int:
    """Runs the guard; returns the exit status."""
    if arguments == ["--inspect"]:
        return inspect()
    setting = parse_arguments(arguments, os.getppid())
    if setting is None:
        sys.stderr.write(USAGE)
        return UNAVAILABLE
    os.chdir("/")
    arming.be_deaf()
    arming.become_subreaper()
    return _guards(setting, OUTER_GUARDS, [])


def inspect() -> int:
    """Prints whether a guard can work here, as one line of JSON."""
    found: dict[str, object] = {
        "executable": sys.executable,
        "version": ".".join(map(str, sys.version_info[:3])),
    }
    try:
        if look(os.getpid()) is None:
            raise OSError("/proc does not show this process: it is not mounted")
        arming.become_subreaper()
        if not arming.is_subreaper():
            raise OSError("this process was not made a subreaper")
    except OSError as error:
        found["unavailable"] = str(error)
    sys.stdout.write(json.dumps(found) + "\n")
    return UNAVAILABLE if "unavailable" in found else 0


def _guards(setting: Setting, outer: int, above: list[int]) -> int:
    """Runs a guard and, in a child, those further in; returns the exit status.

    Args:
        setting: What the host started the guards with.
        outer: How many outer guards there are from here on.
        above: Pipes that close when the guards further out are gone.
    """
    if outer == 0:
        return InnerGuard(setting, above).run()
    # Closes when this process ends: no other process has the write end.
    alive, mine = os.pipe2(os.O_CLOEXEC)
    wakeup = Wakeup()
    gc.freeze()  # Pages that all have stay shared.
    child = os.fork()
    if child == 0:
        status = FAILED
        try:
            os.close(mine)
            wakeup.close()
            arming.become_subreaper()
            status = _guards(setting, outer - 1, [*above, alive])
        except Exception as error:  # noqa: BLE001
            _report(setting, error)
        finally:
            os._exit(status)
    os.close(alive)
    if outer == OUTER_GUARDS:
        os.close(setting.protocol)
    status = OuterGuard(setting, child, wakeup, above, outer).run()
    os.close(mine)
    return status


def _report(setting: Setting, error: Exception) -> None:
    """Reports to the host why a guard ends: what a guard prints is not read."""
    reason = f"{type(error).__name__}: {error}"[:1000]
    with contextlib.suppress(OSError):
        os.write(setting.protocol, encode_frame({"type": "crashed", "reason": reason}))
