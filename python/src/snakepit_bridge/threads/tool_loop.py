"""The event loop of asynchronous tools. It is imported with the first of them: asyncio
is the largest import that a worker can avoid.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectors import BaseSelector

    from typing_extensions import TypeVarTuple, Unpack

    _Ts = TypeVarTuple("_Ts")


def _current_loop() -> asyncio.AbstractEventLoop:
    # Not `asyncio.get_event_loop`, which warns in some releases before 3.12.
    if sys.version_info >= (3, 14):
        return asyncio.get_event_loop()
    return asyncio.get_event_loop_policy().get_event_loop()


class ToolLoop(asyncio.SelectorEventLoop):
    """Reports when a turn may have something to do. What other threads and signals add
    makes the selector readable instead."""

    def __init__(self, selector: BaseSelector, wants_turn: Callable[[], None]) -> None:
        """Becomes the current loop of this thread; it reports to `wants_turn`."""
        super().__init__(selector)
        self._wants_turn = wants_turn
        asyncio.set_event_loop(self)

    def stay_current(self) -> None:
        """Becomes the current loop again, unless the tools have set another one that is
        open.
        """
        try:
            is_gone = _current_loop().is_closed()
        except RuntimeError:
            is_gone = True
        if is_gone:
            asyncio.set_event_loop(self)

    def call_soon(
        self,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> asyncio.Handle:
        self._wants_turn()
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self._wants_turn()
        return super().call_at(when, callback, *args, context=context)

    async def end_tasks(self) -> None:
        """Cancels the remaining tasks, and waits for them."""
        tasks = asyncio.all_tasks(self) - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.shutdown_asyncgens()
