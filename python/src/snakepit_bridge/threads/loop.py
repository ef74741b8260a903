"""The part of an event loop that the bridge needs: asyncio's loop and `BridgeLoop` have
it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol

__all__ = ["Loop", "Timer", "Waited"]


class Timer(Protocol):
    """A callback that is due later."""

    def cancel(self) -> None:
        """Prevents it."""


class Waited(Protocol):
    """An object that one coroutine awaits, once."""

    def done(self) -> bool:
        """Returns whether it has its result."""

    def set_result(self, result: None, /) -> None:
        """Resumes the coroutine; in the loop's thread."""

    def __await__(self) -> Generator[Any, None, None]: ...


class Loop(Protocol):
    """An event loop. Only `call_soon_threadsafe` may be called in other threads."""

    def time(self) -> float:
        """Returns the time that `call_at` counts in, in seconds."""

    def call_soon_threadsafe(
        self, callback: Callable[..., object], /, *args: Any
    ) -> object:
        """Schedules a callback.

        Raises:
            RuntimeError: the loop is closed.
        """

    def call_later(
        self, delay: float, callback: Callable[..., object], /, *args: Any
    ) -> Timer:
        """Schedules a callback in so many seconds."""

    def call_at(
        self, when: float, callback: Callable[..., object], /, *args: Any
    ) -> Timer:
        """Schedules a callback at a time."""

    def add_reader(
        self, file: Any, callback: Callable[..., Any], /, *args: Any
    ) -> None:
        """Calls back whenever the descriptor, or what has one, is readable."""

    def remove_reader(self, file: Any, /) -> bool:
        """Ends that; returns whether there was anything to end."""

    def add_writer(
        self, file: Any, callback: Callable[..., Any], /, *args: Any
    ) -> None:
        """Calls back whenever it can be written to."""

    def remove_writer(self, file: Any, /) -> bool:
        """Ends that; returns whether there was anything to end."""

    def create_future(self) -> Waited:
        """Returns what a coroutine of this loop can await."""

    def create_task(self, coroutine: Coroutine[Any, Any, None], /) -> object:
        """Runs a coroutine beside others. Keep the result while it runs."""

    def run_until_complete(self, coroutine: Coroutine[Any, Any, None], /) -> Any:
        """Runs the loop until a coroutine has ended."""

    def close(self) -> None:
        """Closes the loop, which must not run."""
