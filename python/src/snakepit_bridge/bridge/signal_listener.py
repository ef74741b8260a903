"""Signals, received in the bridge's thread while the main thread waits or is stuck."""

from __future__ import annotations

import _socket as socket
import faulthandler
from collections.abc import Callable

from snakepit_bridge.boot.process_setup import (
    CANCEL_SIGNAL,
    DUMP_SIGNAL,
    is_dump_signal_ours,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from snakepit_bridge.threads.bridge_loop import Loop
else:
    # Without the enumerations of `signal`, which take longer to create than everything
    # else here.
    import _signal as signal

__all__ = ["SignalListener"]


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
        self, on_sigterm: Callable[[], None], on_other: Callable[[], None]
    ) -> None:
        """Begins to listen; in the main thread.

        Args:
            on_sigterm: called once or more, in the main thread or the loop's.
            on_other: called in the loop's thread on a signal that the tools handle, for
                which the main thread has to run Python.
        """
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
            # With the GIL, so that no stack changes while it is read.
            faulthandler.dump_traceback(2, all_threads=True)
        if of_the_tools:
            self._on_other()
