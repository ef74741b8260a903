"""Who reads what the host sends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from snakepit_bridge.bridge.shared_reading.reading_main_thread import (
    ReadingMainThread,
)
from snakepit_bridge.bridge.shared_reading.relief import Relief
from snakepit_bridge.bridge.shared_reading.shared_selector import (
    CAN_SHARE,
    SharedSelector,
)
from snakepit_bridge.calls.gathering import HoldingOutbox
from snakepit_bridge.calls.waiting_main_thread import WaitingMainThread

__all__ = ["SharedReading"]


class SharedReading:
    """The main thread reads while it waits, and the bridge's else.

    Where the kernel cannot choose between the two, the bridge's thread always does.

    Attributes:
        main: the main thread for it.
        is_shared: whether the two threads share it.
    """

    def __init__(self, outbox: HoldingOutbox) -> None:
        """To be made in the main thread."""
        self.main: ReadingMainThread | WaitingMainThread
        self.is_shared = CAN_SHARE
        self._selector: SharedSelector | None = None
        if CAN_SHARE:
            self.main = ReadingMainThread(outbox)
            self._selector = SharedSelector()
        else:
            self.main = WaitingMainThread()

    def bridge_loop(self) -> asyncio.AbstractEventLoop:
        """Returns a loop for the bridge's thread."""
        if self._selector is None:
            return asyncio.new_event_loop()
        return asyncio.SelectorEventLoop(self._selector)

    # ------------------------------------------------ in the bridge's thread

    def begin(
        self,
        bridge: asyncio.AbstractEventLoop,
        descriptors: Collection[int],
        read: Callable[[], None],
    ) -> Callable[[], None]:
        """Has what is readable read from now on; returns what ends that.

        Args:
            bridge: the loop of this thread.
            descriptors: what becomes readable.
            read: reads all there is, in either thread.
        """
        main = self.main
        if self._selector is None or not isinstance(main, ReadingMainThread):
            return _read_by_loop(bridge, descriptors, read)
        relief = Relief(bridge, self._selector, main)
        # In this order: the kernel wakes whoever came first.
        main.read_with(descriptors, read)
        relief.begin(descriptors, read)

        def end() -> None:
            relief.end()
            main.read_no_more()

        return end


def _read_by_loop(
    bridge: asyncio.AbstractEventLoop,
    descriptors: Collection[int],
    read: Callable[[], None],
) -> Callable[[], None]:
    for descriptor in descriptors:
        bridge.add_reader(descriptor, read)

    def end() -> None:
        for descriptor in descriptors:
            bridge.remove_reader(descriptor)

    return end
