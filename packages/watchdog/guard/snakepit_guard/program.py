"""The program: arms the outer guard, forks the inner one, and runs both."""

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
    return _pair(setting)


def inspect() -> int:
    """Says on standard output whether a guard can work here, as one line of JSON."""
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


def _pair(setting: Setting) -> int:
    # Closes when this process ends; nobody else has the end that is written to.
    twin, mine = os.pipe2(os.O_CLOEXEC)
    wakeup = Wakeup()
    gc.freeze()  # What both have stays shared.
    inner = os.fork()
    if inner == 0:
        status = FAILED
        try:
            os.close(mine)
            wakeup.close()
            status = InnerGuard(setting, twin).run()
        except Exception as error:  # noqa: BLE001
            _tell(setting, error)
        finally:
            os._exit(status)
    os.close(twin)
    os.close(setting.protocol)
    status = OuterGuard(setting, inner, wakeup).run()
    os.close(mine)
    return status


def _tell(setting: Setting, error: Exception) -> None:
    """Nobody reads what a guard prints: the host is told why it ends, if it listens."""
    reason = f"{type(error).__name__}: {error}"[:1000]
    with contextlib.suppress(OSError):
        os.write(setting.protocol, encode_frame({"type": "crashed", "reason": reason}))
