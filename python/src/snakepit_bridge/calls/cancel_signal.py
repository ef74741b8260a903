"""The signal that raises `CallCancelled` in the main thread.

The bridge's thread sends it repeatedly until the call is over, because it can be lost:
in `__del__`, in a C callback, in a bare `except`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType

from snakepit_bridge.boot.process_setup import CANCEL_SIGNAL
from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.cancelled import CallCancelled
from snakepit_bridge.calls.context import CURRENT
from snakepit_bridge.calls.trampoline import TRAMPOLINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import signal

    from snakepit_bridge.threads.main_thread import MainThread
else:
    # Without the enumerations of `signal`, which take longer to create than everything
    # else here.
    import _signal as signal

__all__ = [
    "is_cleaning_up",
    "listen_for_cancel_signal",
    "may_raise",
    "send_cancel_signal",
    "task_interrupt",
]

# If code of these modules were interrupted between two lines, it would keep a lock for
# ever, or leave a future half resolved or a span without an end.
_UNSAFE = (
    "logging",
    "importlib._bootstrap",
    "asyncio.",
    "opentelemetry.context",
    "opentelemetry.trace",
    "opentelemetry.sdk.trace",
)
_PACKAGE = "snakepit_bridge."


def listen_for_cancel_signal() -> None:
    """Installs the handler; in the main thread."""
    signal.signal(CANCEL_SIGNAL, _on_signal)


def send_cancel_signal() -> None:
    """Interrupts the main thread."""
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, CANCEL_SIGNAL)


def task_interrupt(
    main: MainThread, cancellation: Cancellation, task: asyncio.Task[None]
) -> Callable[[], None]:
    """Cancels the task, once; if that has no effect, the loop is blocked."""
    asked = False

    def cancel() -> None:
        cancellation.by_signal = False
        task.cancel()

    def interrupt() -> None:
        nonlocal asked
        if not asked:
            asked = True
            cancellation.by_signal = True
            main.submit_to_loop(cancel)
        elif cancellation.by_signal:
            send_cancel_signal()

    return interrupt


def _on_signal(_signal: int, frame: FrameType | None) -> None:
    # The handler runs in the context of the call that it interrupts.
    current = CURRENT.get(None)
    if current is None or frame is None:
        return
    cancellation = current.cancellation
    if cancellation.reason is None or not cancellation.by_signal:
        return
    if cancellation.may_clean_up() and is_cleaning_up(sys.exc_info()[1]):
        return
    if may_raise(frame):
        cancellation.leave_alone()
        cancellation.raise_if_requested()


def may_raise(frame: FrameType) -> bool:
    """Returns whether the frame is user code, called by one of the trampolines.

    If user code has called the bridge, the bridge's code runs to its end, and code that
    waits there is woken in another way.
    """
    if _module(frame).startswith(_UNSAFE):
        return False
    beneath: FrameType | None = frame
    while beneath is not None:
        if beneath.f_code in TRAMPOLINES:
            return True
        if _module(beneath).startswith(_PACKAGE):
            return False
        beneath = beneath.f_back
    return False


def _module(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name if isinstance(name, str) else ""


def is_cleaning_up(handled: BaseException | None) -> bool:
    """Returns whether the exception being handled is due to a cancellation."""
    # Nothing is imported here: this runs in a signal handler.
    of_asyncio = getattr(
        sys.modules.get("asyncio.exceptions"), "CancelledError", CallCancelled
    )
    for _ in range(16):
        if handled is None:
            return False
        if isinstance(handled, (CallCancelled, of_asyncio, GeneratorExit)):
            return True
        handled = handled.__context__
    return False
