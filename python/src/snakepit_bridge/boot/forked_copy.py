"""A copy of the worker: the child of a fork that a tool made.

It has the worker's connection and its queues. If it came back from the tool it
would answer the tool's call, and take what the host sends to the worker.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Set in the child, by the handler of forks.
this_is_one = False


def end() -> NoReturn:
    """Ends the copy as a program is ended that comes to its end at this place.

    The status is that of `sys.exit()` where this is what it came back with; else
    it is 1, and stderr has why.
    """
    status = 1
    try:
        status = _told(sys.exc_info()[1])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _told(error: BaseException | None) -> int:
    if isinstance(error, SystemExit):
        if error.code is None:
            return 0
        if isinstance(error.code, int):
            return error.code & 0xFF
        sys.stderr.write(f"{error.code}\n")
        return 1
    if error is not None:
        # Not above: this module is imported before the worker's life is tied.
        import traceback

        traceback.print_exception(type(error), error, error.__traceback__)
    sys.stderr.write(
        f"Process {os.getpid()} was forked by a tool and came back from it, which "
        "ends it: the call is the worker's to answer. End it in the tool, with "
        "os._exit() or sys.exit().\n"
    )
    return 1
