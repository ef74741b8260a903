"""A copy of the worker: the child of a fork that a tool made.

It has the worker's connection and its queues. If it returned from the tool, it would
answer the tool's call and read the frames that the host sends to the worker.
"""

from __future__ import annotations

import os
import sys

from snakepit_bridge.own_imports import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Set in the child, by the fork handler.
this_is_one = False


def end() -> NoReturn:
    """Ends the copy as if the program ended at this point.

    The status is that of `sys.exit()` if the tool raised that; otherwise it is 1, and
    stderr has the reason.
    """
    status = 1
    try:
        status = _report(sys.exc_info()[1])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _report(error: BaseException | None) -> int:
    if isinstance(error, SystemExit):
        if error.code is None:
            return 0
        if isinstance(error.code, int):
            return error.code & 0xFF
        sys.stderr.write(f"{error.code}\n")
        return 1
    if error is not None:
        traceback.print_exception(type(error), error, error.__traceback__)
    sys.stderr.write(
        f"Process {os.getpid()} was forked by a tool and returned from it. Snakepit "
        "ended it, because only the worker may answer the call. End such a process in "
        "the tool, with os._exit() or sys.exit().\n"
    )
    return 1
