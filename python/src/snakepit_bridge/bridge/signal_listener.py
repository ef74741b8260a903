"""Signals, received in the bridge's thread while the main thread waits or is stuck."""

from __future__ import annotations

import _socket as socket
import faulthandler
import os
from collections.abc import Callable, Iterable
from types import AsyncGeneratorType, CoroutineType, GeneratorType

from snakepit_bridge.boot.process_setup import (
    CANCEL_SIGNAL,
    DUMP_SIGNAL,
    is_dump_signal_ours,
)
from snakepit_bridge.own_imports import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType

    from snakepit_bridge.calls.run.running_call import RunningCall
    from snakepit_bridge.threads.bridge_loop import Loop
else:
    # Without the enumerations of `signal`, which take longer to create than everything
    # else here.
    import _signal as signal


class SignalListener:
    """Calls back on SIGTERM and on signals that the tools handle; writes all stacks on
    the dump signal.

    A handler in Python runs in the main thread, once that runs Python again: a signal
    that comes just before a long `time.sleep`, or that the kernel delivers to another
    thread, would wait for the end of the sleep. So the bridge's thread reads the byte
    that Python's own handler in C writes. The handler in Python is for the time in
    which a tool has replaced the bridge's wakeup descriptor.
    """

    def __init__(
        self,
        on_sigterm: Callable[[], None],
        on_other: Callable[[], None],
        calls: Callable[[], Iterable[RunningCall]],
    ) -> None:
        """Begins to listen; in the main thread.

        Args:
            on_sigterm: called once or more, in the main thread or the loop's.
            on_other: called in the loop's thread on a signal that the tools handle, for
                which the main thread has to run Python.
            calls: returns those under way, for the stacks of coroutines; called in the
                loop's thread.
        """
        self._calls = calls
        self._on_sigterm = on_sigterm
        self._on_other = on_other
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        signal.signal(signal.SIGTERM, lambda _signal, _frame: on_sigterm())
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def attach(self, loop: Loop) -> None:
        """Reads the bytes on this loop; in its thread."""
        loop.add_reader(self._reader, self._read)

    def _read(self) -> None:
        try:
            signals = set(self._reader.recv(4096))
        except BlockingIOError:
            return
        if signal.SIGTERM in signals:
            self._on_sigterm()
        # The cancel signal is repeated until the call is over.
        of_the_tools = signals - {signal.SIGTERM, CANCEL_SIGNAL}
        if is_dump_signal_ours() and DUMP_SIGNAL in of_the_tools:
            of_the_tools.remove(DUMP_SIGNAL)
            write_stacks(self._calls())
        if of_the_tools:
            self._on_other()


# As `faulthandler` has it.
_MOST_FRAMES = 100
_MOST_COROUTINES = 100


def write_stacks(calls: Iterable[RunningCall]) -> None:
    """Writes the stacks of all threads, and of calls that wait in the event loop, to
    standard error, between two lines by which the host knows them; the first has the
    threads' names."""
    # Without the lock of `threading`, whose holder may be what hangs.
    threads = getattr(loaded("threading"), "_active", {})
    names = [
        f"{ident:#018x}={thread.name!r}" for ident, thread in list(threads.items())
    ]
    _say(f"snakepit stacks begin {' '.join(names)}")
    # With the GIL, so that no stack changes while it is read.
    faulthandler.dump_traceback(2, all_threads=True)
    for call in list(calls)[:_MOST_COROUTINES]:
        frames = _frames_of(call)
        if frames:
            _say(
                "\n".join(
                    [
                        f"\nCoroutine of {call.tool.name} (most recent call first):",
                        *map(_described, reversed(frames)),
                    ]
                )
            )
    _say("snakepit stacks end")


def _frames_of(call: RunningCall) -> list[FrameType]:
    """Returns the frames of a call that has suspended, the outermost first."""
    awaited: object = call.suspended_in()
    frames: list[FrameType] = []
    while len(frames) < _MOST_FRAMES:
        # Of nothing else, whose attributes may be code of the tools.
        if isinstance(awaited, CoroutineType):
            frame, awaited = awaited.cr_frame, awaited.cr_await
        elif isinstance(awaited, GeneratorType):
            frame, awaited = awaited.gi_frame, awaited.gi_yieldfrom
        elif isinstance(awaited, AsyncGeneratorType):
            frame, awaited = awaited.ag_frame, awaited.ag_await
        else:
            break
        if frame is None:
            break
        frames.append(frame)
    return frames


def _described(frame: FrameType) -> str:
    code = frame.f_code
    return f'  File "{code.co_filename}", line {frame.f_lineno} in {code.co_name}'


def _say(line: str) -> None:
    try:
        os.write(2, f"{line}\n".encode(errors="backslashreplace"))
    except OSError:
        pass  # A tool has closed standard error.
