"""The event loop of asynchronous tools, which gets a turn only when it wants one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVarTuple, Unpack

    _Ts = TypeVarTuple("_Ts")

__all__ = ["ToolLoop"]


class ToolLoop(asyncio.SelectorEventLoop):
    """Says when it wants a turn.

    Attributes:
        wants_turn: whether a turn may have something to do.
        on_thread_call: called, in the same thread, after something was added by
            `call_soon_threadsafe`.
        hears_signals: whether it handles signals itself, of which only its
            selector tells.
    """

    wants_turn = True
    hears_signals = False

    def __init__(self, selector: Any = None) -> None:
        self.on_thread_call: Callable[[], None] = lambda: None
        super().__init__(selector)

    def call_soon(
        self,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> asyncio.Handle:
        self.wants_turn = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self.wants_turn = True
        return super().call_at(when, callback, *args, context=context)

    def call_soon_threadsafe(
        self,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        # In this order: whoever sees that it wants a turn finds something to do.
        self.wants_turn = True
        self.on_thread_call()
        return handle

    def add_signal_handler(
        self,
        sig: int,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
    ) -> None:
        self.hears_signals = self.wants_turn = True
        super().add_signal_handler(sig, callback, *args)
