"""The signal that raises `CallCancelled` in the main thread.

The bridge's thread sends it repeatedly until the call is over, because what it raises
can be lost: in a C callback, in a bare `except`.

An exception between two lines of code that takes a lock, counts, or finalizes leaves
that half done: the lock stays held, and every later call waits for it. So none is
raised there, however deep on the stack it is: the handler has Python call it again at
once, until the code has come to a place where it may be.
"""

from __future__ import annotations

import _thread
import functools
import gc
import sys
import threading
from _thread import LockType, RLock
from _weakref import ReferenceType
from collections.abc import Callable
from types import CodeType, FrameType

from snakepit_bridge.boot.process_setup import CANCEL_SIGNAL
from snakepit_bridge.calls.cancel.cancellation import CallCancelled, Cancellation
from snakepit_bridge.calls.cancel.trampoline import TRAMPOLINES
from snakepit_bridge.calls.context.call import CURRENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import signal
    from typing import Any, Final, Literal

    from snakepit_bridge.threads.main_thread import MainThread

    Verdict = Literal["now", "later", "never"]
else:
    # Without the enumerations of `signal`, which take longer to create than everything
    # else here.
    import _signal as signal

# While they run, whatever they call, nothing is raised. The code of a `with` statement
# itself needs no care: Python enters it without a look at signals in between.
_PAIRED = frozenset(
    ("__enter__", "__exit__", "__aenter__", "__aexit__", "release", "__del__")
)
_SYNCHRONIZES = frozenset(
    ("threading", "queue", "_weakrefset", "weakref", "contextlib")
)
# An extension module whose import was interrupted cannot be imported again.
_PREFIXES = (
    "concurrent.",
    "importlib._bootstrap",
    "_frozen_importlib",
    "snakepit_bridge.",
)
# Only while they are on top: what they call, they call in a `try`. Code that is
# interrupted there would leave a future half resolved or a span without an end.
_UNSAFE_ON_TOP = (
    "logging",
    "asyncio.",
    "opentelemetry.context",
    "opentelemetry.trace",
    "opentelemetry.sdk.trace",
)
# A function with a context manager as its decorator, below all that the function does.
_DECORATED = ("contextlib", "inner")
# Functions that may be interrupted while they wait in `Condition.wait` or for the end of
# a thread: whatever they changed, they restore in that case.
_WAIT = frozenset(
    (
        *(("threading", name) for name in ("wait", "wait_for", "acquire", "join")),
        *(("threading", name) for name in ("_wait", "_enter")),
        ("threading", "_wait_for_tstate_lock"),
        *(("queue", name) for name in ("get", "put", "join")),
        *(("concurrent.futures._base", name) for name in ("result", "exception")),
        *(("concurrent.futures._base", name) for name in ("wait", "as_completed")),
        *(
            ("concurrent.futures._base", name)
            for name in ("result_iterator", "_result_or_cancel")
        ),
    )
)


def is_call(instruction: str) -> bool:
    """Returns whether an instruction of this name calls; Python looks at signals then.
    Those of `sys.monitoring` are never in `co_code`.
    """
    others = ("INTRINSIC", "INSTRUMENTED")
    return "CALL" in instruction and not any(each in instruction for each in others)


# Of the versions that exist, since importing them takes longer than this module.
CALLS: Final = {
    (3, 10): frozenset((131, 141, 142, 161)),
    (3, 11): frozenset((142, 166, 171)),
    (3, 12): frozenset((142, 171)),
    (3, 13): frozenset((53, 54, 57)),
}
if sys.version_info[:2] in CALLS:
    _CALLS = CALLS[sys.version_info[:2]]
else:
    from opcode import opmap

    _CALLS = frozenset(opmap[name] for name in opmap if is_call(name))
# Begins a `try` in Python 3.10. Later versions have a table of them.
SETUP_FINALLY = 122
_HAS_NO_TABLE = sys.version_info[:2] == (3, 10)
# How many bytes of code there may be between a call and the `try` for its result.
_BEFORE_TRY = 32
# How often one signal has the handler called: a long clean-up would take several times
# as long otherwise. The code that must not be interrupted is over sooner, usually.
_MOST_LOOKS = 2000
# How many signals were sent.
_sent = 0


def negated(function: Callable[..., object], *arguments: object) -> Any:
    """Returns an object whose negative calls a function in C.

    Python looks at signals, and changes threads, after each function that is called, but
    not after an operator.
    """
    call = functools.partial(function, *arguments)
    return type("Negated", (), {"__neg__": staticmethod(call)})()


# Its negative has the handler called at Python's next look at signals.
_AGAIN = negated(_thread.interrupt_main, CANCEL_SIGNAL)


def listen_for_cancel_signal() -> None:
    """Installs the handler; in the main thread."""
    signal.signal(CANCEL_SIGNAL, _on_signal)


def send_cancel_signal() -> None:
    """Interrupts the main thread."""
    global _sent
    _sent += 1
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, CANCEL_SIGNAL)


def task_interrupt(
    main: MainThread, cancellation: Cancellation, task: asyncio.Task[Any]
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
    position = (id(frame), frame.f_lasti)
    last = cancellation.last_look
    is_sent = last is None or last[0] != _sent
    # Otherwise, the handler would have been called elsewhere meanwhile.
    is_blocked = is_sent and last is not None and last[1] == position
    verdict = judge(frame, interrupts=True, is_blocked=is_blocked)
    if verdict == "now":
        cancellation.leave_alone()
        cancellation.raise_if_requested()
    cancellation.looks = 1 if is_sent else cancellation.looks + 1
    if verdict == "never" or cancellation.looks > _MOST_LOOKS:
        cancellation.last_look = None
        return
    cancellation.last_look = (_sent, position)
    # At the very end: otherwise, the handler would be called inside of the handler.
    -_AGAIN  # noqa: B018 - that is an operation


def judge(frame: FrameType, *, interrupts: bool, is_blocked: bool = False) -> Verdict:
    """Returns whether an exception may be raised in a thread that runs this frame: now,
    later, or never, since it runs no code of a tool.

    If user code has called the bridge, the bridge's code runs to its end, and code that
    waits there is woken in another way.

    Args:
        interrupts: whether the exception interrupts a function in C that waits, and is
            not raised when that has returned.
        is_blocked: whether such a function is known to wait.
    """
    module = _module(frame)
    safe = not module.startswith(_UNSAFE_ON_TOP)
    safe = safe and (is_blocked or not _is_before_try(frame))
    waits = safe and _waits(frame, module, interrupts)
    callbacks = [getattr(each, "__code__", None) for each in gc.callbacks]
    beneath: FrameType | None = frame
    while beneath is not None:
        code = beneath.f_code
        if code in TRAMPOLINES:
            return "now" if safe else "later"
        if safe:
            where = (_module(beneath), code.co_name)
            safe = not (
                code.co_name in _PAIRED
                or (_is_critical(where) and not (waits and where in _WAIT))
                or code in callbacks
                or _is_called_back(beneath)
            )
        beneath = beneath.f_back
    return "never"


def _is_critical(where: tuple[str, str]) -> bool:
    module, _ = where
    return (
        module in _SYNCHRONIZES or module.startswith(_PREFIXES)
    ) and where != _DECORATED


def _waits(frame: FrameType, module: str, interrupts: bool) -> bool:
    """Returns whether the library waits here, and holds nothing meanwhile."""
    name = frame.f_code.co_name
    if module != "threading":
        return False
    if name in ("join", "_wait_for_tstate_lock"):
        return True
    if name != "wait":
        return False
    variables: Any = frame.f_locals
    # In a thread, it is raised when the wait is over. One without a limit may only be
    # over when it is notified, and nothing else would hear of that.
    if not interrupts and variables.get("timeout") is None:
        return False
    # That of a condition. Until it is notified, it is in the list of those that wait.
    # Whoever notifies holds the condition's lock, as this function does before and
    # after it waits.
    if variables.get("gotit", True) or sys.exc_info()[1] is not None:
        return False
    condition = variables["self"]
    lock = condition._lock
    if type(lock) not in (LockType, RLock) or condition._is_owned():
        return False
    if variables["waiter"] not in condition._waiters or not lock.acquire(False):
        return False
    lock.release()
    return True


def _is_called_back(frame: FrameType) -> bool:
    """Returns whether a weak reference called this function when its object was gone:
    Python prints an exception there, and drops it.
    """
    code = frame.f_code
    named = min(code.co_argcount, 2)
    rest = code.co_argcount + code.co_kwonlyargcount
    if not named and not code.co_flags & _HAS_REST:
        return False
    local = frame.f_locals
    arguments = [local.get(name) for name in code.co_varnames[:named]]
    if code.co_flags & _HAS_REST:
        others = local.get(code.co_varnames[rest])
        arguments += others[:1] if type(others) is tuple else ()
    return any(isinstance(one, ReferenceType) and one() is None for one in arguments)


# A function with `*rest`.
_HAS_REST = 4


def _is_before_try(frame: FrameType) -> bool:
    """Returns whether a call has just returned, and a `try` follows that shall undo what
    it did, as in `lock.acquire()`. That also holds while the call is under way.
    """
    code, at = frame.f_code, frame.f_lasti
    if at < 0 or code.co_code[at] not in _CALLS:
        return False
    if _HAS_NO_TABLE:
        following = code.co_code[at + 2 : at + _BEFORE_TRY : 2]
        return SETUP_FINALLY in following
    parts = _tries(code)
    # An `except` has a part of its own, which no code before it runs into.
    handlers = {target for _, target in parts}
    # One that goes on behind an inner one, or behind an `except`, is not entered again.
    entered = {target for begin, target in parts if begin <= at}
    return any(
        at < begin <= at + _BEFORE_TRY
        and begin not in handlers
        and target not in entered
        for begin, target in parts
    )


@functools.lru_cache(64)
def _tries(code: CodeType) -> list[tuple[int, int]]:
    """Returns where each part of each `try` of a function begins, and where it is handled.

    Source: Objects/exception_handling_notes.txt of CPython.
    """
    numbers: list[int] = []
    value = 0
    for byte in code.co_exceptiontable:  # type: ignore[attr-defined]
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value * 2)
            value = 0
    four = zip(*[iter(numbers)] * 4, strict=True)
    return [(begin, target) for begin, _, target, _ in four]


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
