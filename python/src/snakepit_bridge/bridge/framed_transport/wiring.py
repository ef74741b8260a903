"""The parts of a worker that speaks frames on the socket itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.answers import Answers
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.framed_transport.outbox import FramedOutbox
from snakepit_bridge.bridge.framed_transport.reading_main_thread import (
    ReadingMainThread,
)
from snakepit_bridge.bridge.framed_transport.relief import Relief
from snakepit_bridge.bridge.framed_transport.server import FramedTransport, ReadWith
from snakepit_bridge.bridge.framed_transport.shared_selector import (
    CAN_SHARE,
    SharedSelector,
)
from snakepit_bridge.bridge.outbox_guard import OutboxGuard
from snakepit_bridge.calls.waiting_main_thread import WaitingMainThread

__all__ = ["FramedWiring"]


class FramedWiring:
    """A `Wiring`: the main thread reads while it waits, and the bridge's else.

    Where the kernel cannot choose between the two, the bridge's thread always does.
    """

    def __init__(self) -> None:
        self.outbox = FramedOutbox()
        self.main: ReadingMainThread | WaitingMainThread
        self._selector: SharedSelector | None = None
        if CAN_SHARE:
            self.main = ReadingMainThread(self.outbox)
            self._selector = SharedSelector()
        else:
            self.main = WaitingMainThread()

    def bridge_loop(self) -> asyncio.AbstractEventLoop:
        """Returns a loop for the bridge's thread."""
        if self._selector is None:
            return asyncio.new_event_loop()
        return asyncio.SelectorEventLoop(self._selector)

    def transport(
        self,
        launch: Launch,
        loop: asyncio.AbstractEventLoop,
        conversation: Conversation,
        calls: CallTable,
        answers: Answers,
        on_host_left: Callable[[bool], None],
    ) -> FramedTransport:
        """Returns what listens on the socket."""
        guard = OutboxGuard(loop, self.main.gathering)
        self.main.gathering.begin(self.outbox, lambda: len(calls) > 1, guard.watch)
        return FramedTransport(
            launch,
            loop,
            conversation,
            calls,
            answers,
            self.outbox,
            on_host_left,
            self._read_with(loop),
        )

    def _read_with(self, loop: asyncio.AbstractEventLoop) -> ReadWith:
        main = self.main
        if self._selector is None or not isinstance(main, ReadingMainThread):
            return _read_by_loop(loop)
        relief = Relief(loop, self._selector, main)

        def read_with(descriptor: int, read: Callable[[], None]) -> Callable[[], None]:
            # In this order: the kernel wakes whoever came first.
            main.read_with(descriptor, read)
            relief.begin(descriptor, read)

            def read_no_more() -> None:
                relief.end()
                main.read_no_more()

            return read_no_more

        return read_with


def _read_by_loop(loop: asyncio.AbstractEventLoop) -> ReadWith:
    def read_with(descriptor: int, read: Callable[[], None]) -> Callable[[], None]:
        loop.add_reader(descriptor, read)

        def read_no_more() -> None:
            loop.remove_reader(descriptor)

        return read_no_more

    return read_with
