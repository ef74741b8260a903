"""Raises `CallCancelled` in a thread of a tool."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.cancel.cancel_signal import is_cleaning_up, judge, negated
from snakepit_bridge.calls.cancel.cancellation import CallCancelled, Cancellation

# How often the bridge's thread looks at a thread in a row, and how long that runs
# meanwhile.
_LOOKS = 200
_SWITCH_S = 1e-5


class InterruptibleThread:
    """Raises `CallCancelled` in the thread that created it, while it is armed.

    Best effort: Python raises it between two bytecodes of that thread, so code that
    blocks in C does not notice. It is raised a moment after the request, so once, and
    only once, it may be raised after the user's code.

    In free-threaded builds, nothing is raised: another thread's activity cannot be seen
    there, and it might hold a lock of `logging` or of the bridge. A tool must call
    `raise_if_cancelled()` there.
    """

    def __init__(self, cancellation: Cancellation) -> None:
        self._cancellation = cancellation
        self._ident = threading.get_ident()
        self._lock = threading.Lock()
        self._armed = True

    def interrupt(self) -> None:
        """Raises it if user code runs; from any other thread."""
        if not gil_is_enabled():
            return
        # Each look is at another moment: the thread runs between two of them. Few
        # moments may be good ones.
        before = sys.getswitchinterval()
        sys.setswitchinterval(min(before, _SWITCH_S))
        try:
            for _ in range(_LOOKS):
                if self._raise_if_safe():
                    return
                time.sleep(0)
        finally:
            sys.setswitchinterval(before)

    def _raise_if_safe(self) -> bool:
        """Returns whether there is no reason to try again soon."""
        with self._lock:
            frame = sys._current_frames().get(self._ident)
            if not self._armed or frame is None:
                return True
            position = frame.f_lasti
            verdict = judge(frame, interrupts=False)
            if verdict != "now" or _starts_a_thread(frame):
                return verdict == "never"
            if self._cleans_up():
                return True
            self._cancellation.leave_alone()
            raising = negated(
                ctypes.pythonapi.PyThreadState_SetAsyncExc,
                ctypes.c_ulong(self._ident),
                ctypes.py_object(_RAISED[self._cancellation.reason]),
            )
            # The thread may have run meanwhile. It cannot between these two: Python
            # changes threads after a call and at the end of a loop.
            if frame.f_lasti == position:
                -raising  # noqa: B018 - that is an operation
                return True
            return False

    def disarm(self) -> None:
        """Prevents it from being raised, even if that was already requested."""
        while True:
            try:
                with self._lock:
                    self._armed = False
                    _raise_in(self._ident, None)
                return
            except CallCancelled:
                continue

    def _cleans_up(self) -> bool:
        if not self._cancellation.may_clean_up():
            return False
        handled: Any = sys._current_exceptions().get(self._ident)
        if isinstance(handled, tuple):  # before Python 3.12
            handled = handled[1]
        return is_cleaning_up(handled)


def _starts_a_thread(frame: FrameType | None) -> bool:
    """Returns whether the code waits until a thread that it starts runs. Until then,
    Python before 3.12 knows that thread by the number of the starting thread: an
    exception for this thread would end the new one, and this one would wait for
    ever.
    """
    while frame is not None:
        if frame.f_code is _START:
            started = frame.f_locals["self"]
            return not started._started.is_set()
        frame = frame.f_back
    return False


_START = threading.Thread.start.__code__


def gil_is_enabled() -> bool:
    """Returns whether the GIL is on at this moment: importing a module that does not
    support free threading turns it on."""
    enabled: Callable[[], bool] | None = getattr(sys, "_is_gil_enabled", None)
    return enabled is None or enabled()


def _with_reason(reason: CancelReason | None) -> type[CallCancelled]:
    """Returns a class that needs no arguments: Python takes a class here, no instance."""

    class WithReason(CallCancelled):
        def __init__(self) -> None:
            super().__init__(reason or CancelReason.CALLER)

    WithReason.__module__ = CallCancelled.__module__
    WithReason.__qualname__ = WithReason.__name__ = CallCancelled.__name__
    return WithReason


_RAISED = {reason: _with_reason(reason) for reason in (None, *CancelReason)}


def _raise_in(ident: int, error: type[BaseException] | None) -> None:
    target = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), target)
